//! Everything that Forklore can say: a code with values, for scripts and for other languages, and
//! an English sentence.

use std::fmt;

use crate::json::{Json, Object};

/// A code, and the names of the values that come with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub name: &'static str,
    pub values: &'static [&'static str],
}

/// What a script, or a page in another language, needs of something that is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Stays the same whatever the words are.
    pub code: &'static str,
    pub values: Object,
}

impl Said {
    pub fn new<const N: usize>(code: &'static str, values: [(&'static str, Json); N]) -> Self {
        Self { code, values: values.into_iter().collect() }
    }

    pub fn to_json(&self) -> Json {
        Json::object([("code", self.code.into()), ("values", self.values.clone().into())])
    }
}

/// Something that can be said. [`sayings!`](crate::sayings) implements it.
pub trait Saying: fmt::Display {
    fn said(&self) -> Said;

    /// Every code that [`said`](Self::said) can give.
    fn codes() -> Vec<Code>
    where
        Self: Sized;

    /// The code, the values and the sentence.
    fn to_json(&self) -> Json {
        let mut json = self.said().to_json();
        if let Some(object) = json.as_object_mut() {
            object.insert("text", self.to_string());
        }
        json
    }
}

/// Gives every variant of a type its code and values, `("code", key: value, …)`, or those of what it
/// holds, `[inner: Type]`.
#[macro_export]
macro_rules! sayings {
    ($type:ty { $($pattern:pat $(if $guard:expr)? => $said:tt),+ $(,)? }) => {
        impl $crate::saying::Saying for $type {
            fn said(&self) -> $crate::saying::Said {
                match self {
                    $($pattern $(if $guard)? => $crate::sayings!(@said $said)),+
                }
            }

            fn codes() -> Vec<$crate::saying::Code> {
                [$($crate::sayings!(@codes $said)),+].concat()
            }
        }
    };
    (@said ($code:literal $(, $key:ident: $value:expr)* $(,)?)) => {
        $crate::saying::Said::new(
            $code,
            [$((stringify!($key), $crate::json::Json::from($value))),*],
        )
    };
    (@said [$inner:ident: $type:ty]) => {
        $crate::saying::Saying::said($inner)
    };
    (@codes ($code:literal $(, $key:ident: $value:expr)* $(,)?)) => {
        vec![$crate::saying::Code { name: $code, values: &[$(stringify!($key)),*] }]
    };
    (@codes [$inner:ident: $type:ty]) => {
        <$type as $crate::saying::Saying>::codes()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Inner {
        #[error("line {0} is torn")]
        Torn(usize),
    }

    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("{name:?} is {}", if *.big { "big" } else { "small" })]
        Sized { name: String, big: bool },
        #[error(transparent)]
        Inner(Inner),
    }

    sayings!(Inner {
        Self::Torn(line) => ("torn", line: *line),
    });

    sayings!(Outer {
        Self::Sized { name, big } if *big => ("big", name: name.as_str()),
        Self::Sized { .. } => ("small"),
        Self::Inner(inner) => [inner: Inner],
    });

    #[test]
    fn a_saying_has_a_code_values_and_a_sentence() {
        let json = |saying: Outer| String::from_utf8(saying.to_json().stringify()).unwrap();
        assert_eq!(
            json(Outer::Sized { name: "A".into(), big: true }),
            r#"{"code":"big","values":{"name":"A"},"text":"\"A\" is big"}"#
        );
        assert_eq!(
            json(Outer::Sized { name: "A".into(), big: false }),
            r#"{"code":"small","values":{},"text":"\"A\" is small"}"#
        );
        assert_eq!(
            json(Outer::Inner(Inner::Torn(3))),
            r#"{"code":"torn","values":{"line":3},"text":"line 3 is torn"}"#
        );
        let code = |name, values| Code { name, values };
        assert_eq!(
            Outer::codes(),
            [code("big", &["name"]), code("small", &[]), code("torn", &["line"])]
        );
    }
}
