//! The running recap: a list of versions, each covering the story up to the end of a scene.

use crate::digest::Digest;
use forklore_json::{JsText, Json};

pub const KEY: &str = "auto_recap_running_scene_recaps";

/// The running recap cut off at a message.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningCut {
    pub recap: Json,
    /// The current version afterwards, if any is left. Version 0 is a valid version.
    pub version: Option<i64>,
    pub kept: usize,
    /// The number of scenes that the remaining versions are about.
    pub scenes: usize,
    pub dropped: usize,
}

/// The summary of a recap that a journal record stores: which versions existed, and which one was
/// current. Versions never change, and but for edits they are numbered in sequence, so with their
/// times this is enough to find them again. The digest shows whether the recap was started over.
pub fn outline(recap: &Json) -> Option<Json> {
    let newest = versions_of(recap).iter().filter_map(number_of).max()?;
    let current = recap.get("current_version").and_then(Json::as_i64);
    let digest = version_digest(recap, newest)?.short(16);
    Some(Json::object([
        ("current", current.into()),
        ("newest", newest.into()),
        ("digest", Json::from(digest)),
    ]))
}

/// The versions that existed at some moment.
struct KnownVersions {
    current: Option<i64>,
    newest: i64,
    /// When the last of them was made, as far as that is known.
    until: Option<f64>,
}

impl KnownVersions {
    /// `then` is an outline or a whole recap. `None` if `recap` does not continue it.
    fn of(then: &Json, recap: &Json) -> Option<Self> {
        let outline = if is_whole(then) { &outline(then)? } else { then };
        let newest = outline.get("newest").and_then(Json::as_i64)?;
        let digest = version_digest(recap, newest)?.short(16);
        let current = outline.get("current").and_then(Json::as_i64);
        let last = [Some(newest), current].into_iter().flatten();
        let until = last.filter_map(|number| time_of(version(recap, number)?)).reduce(f64::max);
        let is_continued = outline.get("digest") == Some(&Json::from(digest));
        is_continued.then_some(Self { current, newest, until })
    }

    fn contains(&self, version: &Json) -> bool {
        number_of(version) <= Some(self.newest) && !is_after(version, self.until)
    }
}

/// Whether a version is older than another one: by time, or by number if that does not tell.
fn is_before(version: &Json, other: &Json) -> bool {
    match time_of(version).zip(time_of(other)) {
        Some((made, then)) if made != then => made < then,
        _ => number_of(version) < number_of(other),
    }
}

/// Whether a version was made after this time; if either is unknown, it is not known to be.
fn is_after(version: &Json, time: Option<f64>) -> bool {
    time_of(version).zip(time).is_some_and(|(made, time)| made > time)
}

fn is_whole(then: &Json) -> bool {
    then.get("versions").is_some()
}

/// The recap as it was at message `m`: the versions that end at or before `m`, at a scene that
/// still has its recap. `today` is the chat's current recap, `then` is what was recorded at that
/// moment: an [`outline`] or the whole recap.
///
/// An edit creates another version for the same scene, whose number can be lower than those of later
/// scenes. It is included if it is known to have existed then, or, if that is unknown, if it is older
/// than the first version of any later scene.
/// The first version of a scene contains nothing from after the scene, so it is included even if it
/// was created a little later.
pub fn cut(
    today: Option<&Json>,
    then: Option<&Json>,
    m: usize,
    child: &str,
    scene_has_recap: impl Fn(usize) -> bool,
) -> Option<RunningCut> {
    let today = today.filter(|recap| recap.as_object().is_some());
    let mut recap = then.filter(|then| is_whole(then)).or(today)?.clone();
    let known = then.and_then(|then| KnownVersions::of(then, &recap));
    let versions = versions_of(&recap).to_vec();
    let later = || versions.iter().filter(|version| end_of(version).is_some_and(|end| end > m));
    let first_later = later().filter_map(number_of).min();
    let first_later_time = later().filter_map(time_of).reduce(f64::min);
    let is_first = |version: &Json| {
        let mut others = versions.iter().filter(|other| end_of(other) == end_of(version));
        !others.any(|other| is_before(other, version))
    };
    let is_of_then = |version: &&Json| {
        let number = number_of(version);
        let is_of_then = match &known {
            Some(known) => known.contains(version),
            None => !is_after(version, first_later_time),
        };
        (is_of_then || is_first(version))
            && first_later.is_none_or(|later| number < Some(later))
            && end_of(version).is_some_and(|end| end <= m)
            && scene_of(version).is_none_or(&scene_has_recap)
    };
    let kept: Vec<Json> = versions.iter().filter(is_of_then).cloned().collect();
    let newest = kept.iter().filter_map(number_of).max();
    let current = match &known {
        Some(known) => known.current.filter(|_| newest <= Some(known.newest)),
        None => recap.get("current_version").and_then(Json::as_i64),
    };
    let is_kept = |current: &i64| kept.iter().any(|one| number_of(one) == Some(*current));
    let version = current.filter(is_kept).or(newest);
    let count = kept.len();
    let is_new = |at: &usize| !kept[..*at].iter().any(|one| end_of(one) == end_of(&kept[*at]));
    let scenes = (0..count).filter(is_new).count();
    if let Some(object) = recap.as_object_mut() {
        object.insert("chat_id", child);
        object.insert("current_version", version.unwrap_or(0));
        object.insert("versions", Json::Array(kept));
    }
    Some(RunningCut { recap, version, kept: count, scenes, dropped: versions.len() - count })
}

fn versions_of(recap: &Json) -> &[Json] {
    recap.get("versions").and_then(Json::as_array).unwrap_or_default()
}

fn number_of(version: &Json) -> Option<i64> {
    version.get("version").and_then(Json::as_i64)
}

/// When a version was made, in milliseconds.
fn time_of(version: &Json) -> Option<f64> {
    version.get("timestamp").and_then(Json::as_f64)
}

/// The message at which a version's scene ends; missing in old versions.
fn scene_of(version: &Json) -> Option<usize> {
    version.get("new_scene_index").and_then(Json::as_usize)
}

/// The same as the extension reads it: without one, it is the first message.
pub(crate) fn end_of(version: &Json) -> Option<usize> {
    match version.get("new_scene_index") {
        None | Some(Json::Null) => Some(0),
        Some(end) => end.as_usize(),
    }
}

/// The facts that verification needs about a running recap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningState {
    /// `None` for an empty recap, whose current version 0 means "nothing".
    pub version: Option<i64>,
    pub count: usize,
    /// Whether the current version is in the list.
    pub exists: bool,
}

pub fn state(recap: &Json) -> RunningState {
    let versions = versions_of(recap);
    let current = recap.get("current_version").and_then(Json::as_i64);
    let numbers: Vec<i64> = versions.iter().filter_map(number_of).collect();
    RunningState {
        version: current.filter(|_| !versions.is_empty()),
        count: versions.len(),
        exists: versions.is_empty() || current.is_some_and(|current| numbers.contains(&current)),
    }
}

/// The text of the current version.
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

/// Versions that end at or past `length`, the number of messages, each with the message it ends at.
pub fn past_the_end(recap: &Json, length: usize) -> Vec<(i64, usize)> {
    let versions = versions_of(recap);
    let ended = versions.iter().filter_map(|version| Some((number_of(version)?, end_of(version)?)));
    ended.filter(|(_, end)| *end >= length).collect()
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
        let cut = cut(Some(&recap(2, &[4, 9, 14])), None, 8, "child", |_| true).unwrap();
        assert_eq!((cut.version, cut.kept, cut.dropped), (Some(0), 1, 2));
        assert_eq!(cut.recap.get("chat_id"), Some(&Json::from("child")));
        assert!(state(&cut.recap).exists);
    }

    #[test]
    fn an_older_version_chosen_by_the_user_stays_chosen() {
        assert_eq!(
            cut(Some(&recap(0, &[4, 9])), None, 10, "c", |_| true).unwrap().version,
            Some(0)
        );
    }

    #[test]
    fn an_edit_that_was_made_after_a_later_scene_is_cut_with_it() {
        // Scene 4, scene 9, then an edit of scene 4.
        let cut = cut(Some(&recap(2, &[4, 9, 4])), None, 8, "c", |_| true).unwrap();
        assert_eq!((cut.version, cut.kept, cut.dropped), (Some(0), 1, 2));
    }

    #[test]
    fn an_edit_is_of_then_where_it_was_there_then() {
        // Scene 4, an edit of it, scene 9. The edit was made before or after message 6.
        let today = recap(2, &[4, 4, 9]);
        let at_6 = |then: &Json| cut(Some(&today), Some(then), 6, "c", |_| true).unwrap();
        let before = outline(&recap(0, &[4])).unwrap();
        assert_eq!((at_6(&before).version, at_6(&before).kept), (Some(0), 1));
        let after = outline(&recap(0, &[4, 4])).unwrap();
        assert_eq!((at_6(&after).version, at_6(&after).kept), (Some(0), 2), "the one chosen then");
        // Recorded before scene 4 had a version: it is included, as it is part of the child's past.
        assert_eq!(cut(Some(&today), None, 6, "c", |_| true).unwrap().kept, 2);
        let none =
            cut(Some(&recap(1, &[2, 4])), Some(&outline(&recap(0, &[2])).unwrap()), 6, "c", |_| {
                true
            });
        assert_eq!(none.unwrap().version, Some(1));
    }

    /// A recap of versions as (number, scene, time).
    fn timed(current: i64, versions: &[(i64, i64, i64)]) -> Json {
        let version = |(number, end, time): &(i64, i64, i64)| {
            Json::object([
                ("version", Json::from(*number)),
                ("new_scene_index", Json::from(*end)),
                ("timestamp", Json::from(*time)),
            ])
        };
        let versions = versions.iter().map(version).collect();
        Json::object([
            ("current_version", Json::from(current)),
            ("versions", Json::Array(versions)),
        ])
    }

    #[test]
    fn an_edit_with_a_number_out_of_sequence_is_of_its_own_time() {
        // Of 2, 7 and 8, the scene of 8 ends last. The edit of 7 is the third version, so its number
        // is 4, although it is the youngest.
        let before = [(2, 4, 10), (7, 6, 20), (8, 14, 30)];
        let today = timed(4, &[before[0], before[1], before[2], (4, 6, 40)]);
        let kept = |then: Option<&Json>, m| {
            let cut = cut(Some(&today), then, m, "c", |_| true).unwrap();
            (cut.version, cut.kept)
        };
        assert_eq!(kept(None, 9), (Some(7), 2), "made after a later scene");
        let then = outline(&timed(7, &before[..2])).unwrap();
        assert_eq!(kept(Some(&then), 9), (Some(7), 2), "not there then");
        let then = outline(&timed(8, &before)).unwrap();
        assert_eq!(kept(Some(&then), 20), (Some(8), 3));
        let then = outline(&today).unwrap();
        assert_eq!(kept(Some(&then), 20), (Some(4), 4), "there then");
        assert_eq!(kept(None, 20), (Some(4), 4));
    }

    #[test]
    fn a_version_without_a_scene_is_of_the_first_message() {
        let versions = |odd: &str| {
            let text = format!(
                r#"{{"current_version":0,"versions":[{{"version":0{odd}}},{{"version":1,"new_scene_index":9}}]}}"#
            );
            Json::parse(text.as_bytes()).unwrap()
        };
        for odd in ["", r#","new_scene_index":null"#] {
            let cut = cut(Some(&versions(odd)), None, 3, "c", |_| false).unwrap();
            assert_eq!((cut.version, cut.kept, cut.dropped), (Some(0), 1, 1));
        }
        let odd = versions(r#","new_scene_index":"x""#);
        assert_eq!(cut(Some(&odd), None, 3, "c", |_| true).unwrap().kept, 0);
    }

    #[test]
    fn versions_at_or_past_the_end_are_named() {
        let recap = recap(0, &[4, 9, 14]);
        assert_eq!(past_the_end(&recap, 15), []);
        assert_eq!(past_the_end(&recap, 14), [(2, 14)]);
        assert_eq!(past_the_end(&recap, 9), [(1, 9), (2, 14)]);
    }

    #[test]
    fn two_versions_of_a_scene_are_one_scene() {
        let scenes =
            |ends: &[i64]| cut(Some(&recap(0, ends)), None, 20, "c", |_| true).unwrap().scenes;
        assert_eq!([scenes(&[]), scenes(&[4]), scenes(&[4, 4]), scenes(&[4, 9, 4])], [0, 1, 1, 2]);
    }

    #[test]
    fn the_text_is_that_of_the_version_in_force() {
        let recap = |current: i64| {
            let version = |number: i64, content: Json| {
                Json::object([("version", Json::from(number)), ("content", content)])
            };
            let versions =
                vec![version(1, "one".into()), version(2, "two".into()), version(3, Json::Null)];
            Json::object([("current_version", Json::from(current)), ("versions", versions.into())])
        };
        assert_eq!(text(&recap(1)), Some("one".into()));
        assert_eq!(text(&recap(2)), Some("two".into()));
        assert_eq!([text(&recap(3)), text(&recap(4))], [None, None]);
    }

    #[test]
    fn an_outline_of_a_recap_that_was_begun_anew_says_nothing() {
        let mut then = outline(&recap(0, &[4])).unwrap();
        then.as_object_mut().unwrap().insert("digest", "another");
        let today = recap(1, &[4, 4]);
        assert_eq!(cut(Some(&today), Some(&then), 6, "c", |_| true).unwrap().version, Some(1));
    }

    #[test]
    fn a_whole_recap_of_then_is_taken_whatever_today_has() {
        let then = recap(0, &[4]);
        for today in [None, Some(&recap(5, &[1, 2, 3]))] {
            let cut = cut(today, Some(&then), 6, "c", |_| true).unwrap();
            assert_eq!((cut.version, cut.kept, cut.dropped), (Some(0), 1, 0));
        }
        assert_eq!(cut(None, Some(&outline(&then).unwrap()), 6, "c", |_| true), None);
    }

    #[test]
    fn with_no_version_left_the_recap_is_empty() {
        let cut = cut(Some(&recap(1, &[4, 9])), None, 3, "c", |_| true).unwrap();
        assert_eq!((cut.version, cut.kept), (None, 0));
        assert_eq!(cut.recap.get("current_version"), Some(&Json::Number(0.0)));
    }

    #[test]
    fn a_scene_that_lost_its_recap_takes_its_version_along() {
        assert_eq!(
            cut(Some(&recap(1, &[4, 9])), None, 10, "c", |scene| scene == 4).unwrap().version,
            Some(0)
        );
    }
}
