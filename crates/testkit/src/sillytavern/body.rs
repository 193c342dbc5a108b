use serde_json::Value;

/// The text of a JSON object, built without parsing the caller's values.
pub(super) struct Body(String);

impl Body {
    pub(super) fn new() -> Self {
        Self(String::from("{"))
    }

    /// Adds a field whose value is already JSON text; it is sent unchanged.
    pub(super) fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(name));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.raw(name, &quoted(value))
    }

    pub(super) fn flag(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    pub(super) fn texts(self, name: &str, values: &[&str]) -> Self {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        self.list(name, &values)
    }

    /// Adds an array whose elements are already JSON text.
    pub(super) fn list(self, name: &str, elements: &[impl AsRef<str>]) -> Self {
        let elements: Vec<&str> = elements.iter().map(AsRef::as_ref).collect();
        self.raw(name, &format!("[{}]", elements.join(",")))
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_json_goes_out_as_it_came_in() {
        let body =
            Body::new().text("na\"me", "é\n").list("chat", &[r#"{"a": 1.0}"#, r#""\ud800""#]);
        assert_eq!(body.finish(), r#"{"na\"me":"é\n","chat":[{"a": 1.0},"\ud800"]}"#);
    }

    #[test]
    fn an_empty_body_is_an_empty_object() {
        assert_eq!(Body::new().finish(), "{}");
    }
}
