//! What the core has to say, as a code with values: the page has the sentences, in every language.

use forklore_core::json::Json;
use forklore_core::saying::Saying;
use forklore_core::verify::Finding;

pub(crate) fn list<T>(things: &[T], word: impl Fn(&T) -> Json) -> Json {
    Json::Array(things.iter().map(word).collect())
}

pub(crate) fn word(saying: &impl Saying) -> Json {
    saying.said().to_json()
}

pub(crate) fn finding(finding: &Finding) -> Json {
    let mut json = word(finding);
    if let Some(object) = json.as_object_mut() {
        object.insert("problem", finding.is_problem());
    }
    json
}
