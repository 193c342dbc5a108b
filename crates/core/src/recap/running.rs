//! The running recap: a list of versions, each ending at a scene.

use crate::digest::Digest;
use crate::json::{JsText, Json};

pub const KEY: &str = "auto_recap_running_scene_recaps";

/// What a fork did to the running recap.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    pub recap: Json,
    /// The version in force afterwards, if any is left. Version 0 is a version.
    pub version: Option<i64>,
    pub kept: usize,
    pub dropped: usize,
}

/// The recap as it was at message `m`: only versions that end at or before it, at a scene that
/// still has its recap.
pub fn cut(recap: &Json, m: usize, child: &str, scene_has_recap: impl Fn(usize) -> bool) -> Cut {
    let mut recap = recap.clone();
    let versions = recap.get("versions").and_then(Json::as_array).unwrap_or_default().to_vec();
    let before = versions.len();
    let kept: Vec<Json> = versions
        .into_iter()
        .filter(|version| {
            let end = version.get("new_scene_index").and_then(Json::as_usize);
            end.is_some_and(|end| end <= m && scene_has_recap(end))
        })
        .collect();
    let numbers: Vec<i64> = kept.iter().filter_map(number_of).collect();
    let current = recap.get("current_version").and_then(Json::as_i64);
    let version =
        current.filter(|current| numbers.contains(current)).or(numbers.iter().copied().max());
    let count = kept.len();
    if let Some(object) = recap.as_object_mut() {
        object.insert("chat_id", child);
        object.insert("current_version", version.unwrap_or(0));
        object.insert("versions", Json::Array(kept));
    }
    Cut { recap, version, kept: count, dropped: before - count }
}

fn number_of(version: &Json) -> Option<i64> {
    version.get("version").and_then(Json::as_i64)
}

/// What there is to say about a running recap when checking it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// `None` for an empty recap, whose current version 0 means "nothing".
    pub version: Option<i64>,
    pub count: usize,
    /// Whether the current version is in the list.
    pub exists: bool,
}

pub fn state(recap: &Json) -> State {
    let versions = recap.get("versions").and_then(Json::as_array).unwrap_or_default();
    let current = recap.get("current_version").and_then(Json::as_i64);
    let numbers: Vec<i64> = versions.iter().filter_map(number_of).collect();
    State {
        version: current.filter(|_| !versions.is_empty()),
        count: versions.len(),
        exists: versions.is_empty() || current.is_some_and(|current| numbers.contains(&current)),
    }
}

/// The text of the version in force.
pub fn text(recap: &Json) -> Option<JsText> {
    let current = recap.get("current_version").and_then(Json::as_i64)?;
    let versions = recap.get("versions")?.as_array()?;
    let version = versions.iter().find(|version| number_of(version) == Some(current))?;
    match version.get("content")? {
        Json::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// The version with this number.
pub fn version(recap: &Json, number: i64) -> Option<&Json> {
    let versions = recap.get("versions")?.as_array()?;
    versions.iter().find(|version| number_of(version) == Some(number))
}

/// The digest of one version, for the seal.
pub fn version_digest(recap: &Json, number: i64) -> Option<Digest> {
    Some(Digest::of(&version(recap, number)?.stringify()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recap(current: i64, ends: &[i64]) -> Json {
        let versions: Vec<Json> = ends
            .iter()
            .enumerate()
            .map(|(number, end)| {
                Json::object([
                    ("version", Json::from(number)),
                    ("new_scene_index", Json::from(*end)),
                ])
            })
            .collect();
        Json::object([
            ("chat_id", Json::from("parent")),
            ("current_version", Json::from(current)),
            ("versions", Json::Array(versions)),
        ])
    }

    #[test]
    fn versions_of_the_future_are_cut_and_version_zero_is_one() {
        let cut = cut(&recap(2, &[4, 9, 14]), 8, "child", |_| true);
        assert_eq!((cut.version, cut.kept, cut.dropped), (Some(0), 1, 2));
        assert_eq!(cut.recap.get("chat_id"), Some(&Json::from("child")));
        assert!(state(&cut.recap).exists);
    }

    #[test]
    fn an_older_version_chosen_by_the_user_stays_chosen() {
        assert_eq!(cut(&recap(0, &[4, 9]), 10, "c", |_| true).version, Some(0));
    }

    #[test]
    fn with_no_version_left_the_recap_is_empty() {
        let cut = cut(&recap(1, &[4, 9]), 3, "c", |_| true);
        assert_eq!((cut.version, cut.kept), (None, 0));
        assert_eq!(cut.recap.get("current_version"), Some(&Json::Number(0.0)));
    }

    #[test]
    fn a_scene_that_lost_its_recap_takes_its_version_along() {
        assert_eq!(cut(&recap(1, &[4, 9]), 10, "c", |scene| scene == 4).version, Some(0));
    }
}
