//! Finding an entry by title, uid or key, optionally with one field.

use forklore_json::JsText;
use forklore_tavern::folder::similar_names::like;

use super::values::field_key;
use crate::error::{CommandError, did_you_mean};
use crate::objection::Objection;

/// An entry that a name may refer to.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) key: JsText,
    pub(crate) uid: Option<String>,
    pub(crate) title: String,
}

/// An entry, or a single field of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) key: JsText,
    pub(crate) field: Option<JsText>,
}

/// How many entries to suggest when nothing matches.
const MAX_SUGGESTIONS: usize = 5;

/// Finds the entry that `wanted` refers to. `what` describes the candidates in error messages.
pub(crate) fn find(
    wanted: &str,
    candidates: &[Candidate],
    what: &str,
) -> Result<Named, CommandError> {
    let entry = match match_one(wanted, candidates) {
        Found::One(key) => return Ok(Named { key, field: None }),
        other => other,
    };
    if let Some((name, field)) = wanted.rsplit_once('.')
        && let Found::One(key) = match_one(name, candidates)
    {
        return Ok(Named { key, field: Some(field_key(field)) });
    }
    Err(match entry {
        Found::Several(found) => {
            let error = CommandError::new(Objection::Ambiguous {
                wanted: wanted.to_owned(),
                among: what.to_owned(),
            });
            error.hinted(format!("Use its uid: {}.", found.join(", ")))
        }
        Found::One(_) | Found::None => {
            let error = CommandError::new(Objection::Unknown {
                wanted: wanted.to_owned(),
                among: what.to_owned(),
            });
            let similar = suggest(wanted, candidates);
            match similar.is_empty() {
                true => error,
                false => error.hinted(did_you_mean(&similar)),
            }
        }
    })
}

enum Found {
    None,
    One(JsText),
    Several(Vec<String>),
}

fn match_one(wanted: &str, candidates: &[Candidate]) -> Found {
    let number = |candidate: &Candidate| {
        candidate.uid.clone().unwrap_or_else(|| candidate.key.to_string_lossy().into_owned())
    };
    let lower = wanted.to_lowercase();
    let ways: [&dyn Fn(&Candidate) -> bool; 3] = [
        &|it| it.title == wanted,
        &|it| it.uid.as_deref() == Some(wanted) || it.key.to_string_lossy() == wanted,
        &|it| it.title.to_lowercase() == lower,
    ];
    for way in ways {
        let found: Vec<&Candidate> = candidates.iter().filter(|it| way(it)).collect();
        match found[..] {
            [] => {}
            [only] => return Found::One(only.key.clone()),
            _ => {
                let several = found.iter().map(|it| format!("{} ({:?})", number(it), it.title));
                return Found::Several(several.collect());
            }
        }
    }
    Found::None
}

/// Similar titles, or else the first few.
fn suggest(wanted: &str, candidates: &[Candidate]) -> Vec<String> {
    let titled = || candidates.iter().map(|it| it.title.clone()).filter(|it| !it.is_empty());
    match like(wanted, titled()) {
        similar if similar.is_empty() => titled().take(MAX_SUGGESTIONS).collect(),
        similar => similar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates() -> Vec<Candidate> {
        [("0", "Mara"), ("1", "Mr. Finn"), ("2", "mill"), ("3", "Mill"), ("4", ""), ("5", "Mill")]
            .map(|(key, title)| Candidate {
                key: key.into(),
                uid: Some(key.into()),
                title: title.into(),
            })
            .to_vec()
    }

    #[track_caller]
    fn check(wanted: &str, expected: Option<(&str, Option<&str>)>) {
        let found = find(wanted, &candidates(), "entries").ok();
        let expected =
            expected.map(|(key, field)| Named { key: key.into(), field: field.map(JsText::from) });
        assert_eq!(found, expected, "{wanted}");
    }

    #[test]
    fn entries_are_found_by_title_uid_or_a_title_in_other_letters() {
        check("Mara", Some(("0", None)));
        check("4", Some(("4", None)));
        check("mara", Some(("0", None)));
        check("mill", Some(("2", None)));
        check("Mill", None);
        check("Marla", None);
    }

    #[test]
    fn a_field_comes_after_a_dot_and_a_title_may_have_dots() {
        check("Mr. Finn", Some(("1", None)));
        check("Mr. Finn.content", Some(("1", Some("content"))));
        check("0.keys", Some(("0", Some("key"))));
    }
}
