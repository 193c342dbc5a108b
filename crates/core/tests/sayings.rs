//! The page has a text in every language for every code that the core can send.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use forklore_core::diagnostic::{Code, Diagnostic};
use forklore_core::finding::Finding;
use forklore_core::finding::Obstacle;
use forklore_core::finding::Remark;
use forklore_core::finding::Unfinished;
use forklore_core::plan::cleanup::KeepReason;
use forklore_core::plan::repair::CannotRepair;
use forklore_core::timeline::references::ReferencePlace;
use forklore_json::Json;

/// The codes that reach the page, with the key prefix of their texts.
fn page_codes() -> Vec<(&'static str, Code)> {
    let words = [
        Obstacle::codes(),
        Unfinished::codes(),
        Remark::codes(),
        Finding::codes(),
        CannotRepair::codes(),
        KeepReason::codes(),
    ];
    let words = words.into_iter().flatten().map(|code| ("word", code));
    words.chain(ReferencePlace::codes().into_iter().map(|code| ("place", code))).collect()
}

/// The texts of each language. A test of the extension checks that they match `english.js` and have
/// the same placeholders.
fn languages() -> Vec<(String, BTreeMap<String, String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extension/i18n");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let texts = |path: &Path| {
        let json = Json::parse(&fs::read(path).unwrap()).unwrap();
        let texts = json.as_object().unwrap().iter().map(|(key, text)| {
            (key.to_string_lossy().into_owned(), text.as_str().unwrap().into_owned())
        });
        texts.collect()
    };
    files.map(|path| (path.display().to_string(), texts(&path))).collect()
}

/// `{name}` and `{count|entry|entries}`
fn placeholders(text: &str) -> BTreeSet<&str> {
    let inner = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    inner.map(|(inner, _)| inner.split('|').next().unwrap()).collect()
}

#[test]
fn every_code_that_reaches_the_page_has_its_words() {
    let languages = languages();
    assert!(!languages.is_empty());
    for (language, texts) in &languages {
        for (prefix, code) in page_codes() {
            let key = format!("forklore.{prefix}.{}", code.name);
            let variants = format!("{key}.");
            let found: Vec<_> =
                texts.iter().filter(|(k, _)| **k == key || k.starts_with(&variants)).collect();
            assert!(!found.is_empty(), "{language} has no {key}");
            for (key, text) in found {
                let unknown: Vec<_> =
                    placeholders(text).into_iter().filter(|p| !code.values.contains(p)).collect();
                assert!(unknown.is_empty(), "{language}, {key}: {unknown:?} are not told");
            }
        }
    }
}

#[test]
fn one_code_has_one_set_of_values() {
    let mut known: BTreeMap<(&str, &str), &[&str]> = BTreeMap::new();
    for (prefix, code) in page_codes() {
        let before = known.insert((prefix, code.name), code.values);
        assert!(before.is_none_or(|before| before == code.values), "{}", code.name);
    }
    assert!(known.len() > 60, "{} codes", known.len());
}
