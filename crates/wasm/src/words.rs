//! What the core has to say, as a code with values: the page has the sentences, in every language.

use forklore_core::diagnostic::Diagnostic;
use forklore_core::finding::Finding;
use forklore_json::Json;

pub(crate) fn list<T>(things: &[T], word: impl Fn(&T) -> Json) -> Json {
    Json::Array(things.iter().map(word).collect())
}

pub(crate) fn word(saying: &impl Diagnostic) -> Json {
    saying.coded().to_json()
}

pub(crate) fn finding(finding: &Finding) -> Json {
    let mut json = word(finding);
    if let Some(object) = json.as_object_mut() {
        object.insert("problem", finding.is_problem());
    }
    json
}
