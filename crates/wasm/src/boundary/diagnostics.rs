//! Diagnostics as JSON: a code with values. The page has the sentences in every language.

use forklore_core::diagnostic::Diagnostic;
use forklore_core::finding::Finding;
use forklore_json::Json;

pub(crate) fn list<T>(diagnostics: &[T], to_json: impl Fn(&T) -> Json) -> Json {
    Json::Array(diagnostics.iter().map(to_json).collect())
}

pub(crate) fn to_json(diagnostic: &impl Diagnostic) -> Json {
    diagnostic.coded().to_json()
}

pub(crate) fn finding(finding: &Finding) -> Json {
    let mut json = to_json(finding);
    if let Some(object) = json.as_object_mut() {
        object.insert("problem", finding.is_problem());
    }
    json
}
