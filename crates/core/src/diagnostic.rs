//! Everything that Forklore can say: a code with values, for scripts and for other languages, and
//! an English sentence.

use std::fmt;

use forklore_json::{Json, Object};

/// A code, and the names of the values that come with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub name: &'static str,
    pub values: &'static [&'static str],
}

/// What a script, or a page in another language, needs of something that is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Coded {
    /// Stays the same whatever the words are.
    pub code: &'static str,
    pub values: Object,
}

impl Coded {
    pub fn new<const N: usize>(code: &'static str, values: [(&'static str, Json); N]) -> Self {
        Self { code, values: values.into_iter().collect() }
    }

    pub fn to_json(&self) -> Json {
        Json::object([("code", self.code.into()), ("values", self.values.clone().into())])
    }
}

/// Something that can be said. [`diagnostics!`](crate::diagnostics) implements it.
pub trait Diagnostic: fmt::Display {
    fn coded(&self) -> Coded;

    /// Every code that [`said`](Self::coded) can give.
    fn codes() -> Vec<Code>
    where
        Self: Sized;

    /// The code, the values and the sentence.
    fn to_json(&self) -> Json {
        let mut json = self.coded().to_json();
        if let Some(object) = json.as_object_mut() {
            object.insert("text", self.to_string());
        }
        json
    }
}

/// Gives every variant of a type its code and values, `("code", key: value, …)`, or those of what it
/// holds, `[inner: Type]`.
#[macro_export]
macro_rules! diagnostics {
    ($type:ty { $($pattern:pat $(if $guard:expr)? => $said:tt),+ $(,)? }) => {
        impl $crate::diagnostic::Diagnostic for $type {
            fn coded(&self) -> $crate::diagnostic::Coded {
                match self {
                    $($pattern $(if $guard)? => $crate::diagnostics!(@said $said)),+
                }
            }

            fn codes() -> Vec<$crate::diagnostic::Code> {
                [$($crate::diagnostics!(@codes $said)),+].concat()
            }
        }
    };
    (@said ($code:literal $(, $key:ident: $value:expr)* $(,)?)) => {
        $crate::diagnostic::Coded::new(
            $code,
            [$((stringify!($key), forklore_json::Json::from($value))),*],
        )
    };
    (@said [$inner:ident: $type:ty]) => {
        $crate::diagnostic::Diagnostic::coded($inner)
    };
    (@codes ($code:literal $(, $key:ident: $value:expr)* $(,)?)) => {
        vec![$crate::diagnostic::Code { name: $code, values: &[$(stringify!($key)),*] }]
    };
    (@codes [$inner:ident: $type:ty]) => {
        <$type as $crate::diagnostic::Diagnostic>::codes()
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

    diagnostics!(Inner {
        Self::Torn(line) => ("torn", line: *line),
    });

    diagnostics!(Outer {
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
