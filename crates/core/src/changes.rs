//! What happened to a book's entries between two moments.

use crate::json::{JsText, Json, Object};

/// An entry that is not the same any more.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryChange {
    pub key: JsText,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Added,
    Removed,
    /// With the names of the fields that differ.
    Changed(Vec<String>),
}

/// The entries that differ, in the later book's order; removed ones last.
pub fn changes(then: &Object, now: &Object) -> Vec<EntryChange> {
    let mut found = Vec::new();
    for (key, entry) in now.iter() {
        let what = match then.get_text(key) {
            None => What::Added,
            Some(before) if before == entry => continue,
            Some(before) => What::Changed(fields(before, entry)),
        };
        found.push(EntryChange { key: key.clone(), what });
    }
    let removed = then.keys().filter(|key| now.get_text(key).is_none());
    found.extend(removed.map(|key| EntryChange { key: key.clone(), what: What::Removed }));
    found
}

fn fields(before: &Json, after: &Json) -> Vec<String> {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else {
        return Vec::new();
    };
    let differs = |key: &&JsText| before.get_text(key) != after.get_text(key);
    let gone = before.keys().filter(|key| after.get_text(key).is_none());
    let names = after.keys().filter(differs).chain(gone);
    names.map(|key| key.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Object {
        Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn each_entry_says_what_became_of_it() {
        let then = entries(r#"{"0":{"content":"a","key":[]},"1":{},"7":{"x":1}}"#);
        let now = entries(r#"{"0":{"content":"b","key":[]},"2":{},"7":{"x":1}}"#);
        let found = changes(&then, &now);
        let change = |key: &str, what| EntryChange { key: key.into(), what };
        assert_eq!(
            found,
            [
                change("0", What::Changed(vec!["content".into()])),
                change("2", What::Added),
                change("1", What::Removed),
            ]
        );
        assert!(changes(&now, &now).is_empty());
    }
}
