//! Diagnostics: a stable code with values, for scripts and translations, plus an English sentence.

use std::fmt;

use forklore_json::{Json, Object};

/// A diagnostic code, and the names of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub name: &'static str,
    pub values: &'static [&'static str],
}

/// The language-independent part of a diagnostic.
#[derive(Clone, Debug, PartialEq)]
pub struct Coded {
    /// Stable: does not change when the sentence is reworded.
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

/// A message with a code, values and an English sentence (its `Display`). Implemented by
/// [`diagnostics!`](crate::diagnostics).
pub trait Diagnostic: fmt::Display {
    fn coded(&self) -> Coded;

    /// Every code that [`coded`](Self::coded) can return.
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

/// Assigns each variant of a type its code and values, `("code", key: value, …)`, or delegates to
/// the diagnostic that it contains, `[inner: Type]`.
#[macro_export]
macro_rules! diagnostics {
    ($type:ty { $($pattern:pat $(if $guard:expr)? => $coded:tt),+ $(,)? }) => {
        impl $crate::diagnostic::Diagnostic for $type {
            fn coded(&self) -> $crate::diagnostic::Coded {
                match self {
                    $($pattern $(if $guard)? => $crate::diagnostics!(@coded $coded)),+
                }
            }

            fn codes() -> Vec<$crate::diagnostic::Code> {
                [$($crate::diagnostics!(@codes $coded)),+].concat()
            }
        }
    };
    (@coded ($code:literal $(, $key:ident: $value:expr)* $(,)?)) => {
        $crate::diagnostic::Coded::new(
            $code,
            [$((stringify!($key), forklore_json::Json::from($value))),*],
        )
    };
    (@coded [$inner:ident: $type:ty]) => {
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
        let json = |outer: Outer| String::from_utf8(outer.to_json().stringify()).unwrap();
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
