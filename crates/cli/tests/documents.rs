//! Checks that code named in the documents exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_test_and_module_that_the_requirements_name_exists() {
    let named = check_names("reference/requirements.md");
    assert!(named.modules > 50 && named.tests > 50 && named.page_tests > 30, "only {named:?}");
}

#[test]
fn every_requirement_that_has_a_place_has_a_test() {
    for row in rows("reference/requirements.md") {
        let is_met = !row.modules().is_empty();
        let why_not = row.cell("Notes").is_some_and(|notes| !notes.is_empty());
        let is_proved = !row.tests().is_empty();
        assert!(if is_met { is_proved } else { why_not }, "no place or no test: {}", row.text);
    }
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let named = check_names("reference/promises.md");
    assert!(named.modules > 10 && named.tests > 20 && named.page_tests > 10, "only {named:?}");
}

#[test]
fn every_code_is_listed_for_programs() {
    let mut codes: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for (place, found) in forklore::codes() {
        for code in found {
            let (places, values) = codes.entry(code.name).or_default();
            places.insert(place);
            values.extend(code.values);
        }
    }
    let list = |items: &BTreeSet<&str>| {
        items.iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
    };
    let table: Vec<String> = codes
        .iter()
        .map(|(code, (places, values))| {
            format!("| `{code}` | {} | {} |", list(values), list(places)).replace("  ", " ")
        })
        .collect();
    let written = fs::read_to_string(root().join("docs/reference/cli.md")).unwrap();
    let (_, written) = written.split_once("\n## Codes\n").expect("no section about codes");
    let written = written.split("\n## ").next().unwrap();
    let written: Vec<&str> = written.lines().filter(|line| line.starts_with("| `")).collect();
    for (at, (written, wanted)) in written.iter().zip(&table).enumerate() {
        assert_eq!(written, wanted, "row {at} of the table");
    }
    assert_eq!(written.len(), table.len(), "rows of the table");
}

/// The command, the extension and the changelog agree on the version.
#[test]
fn one_version_everywhere() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("manifest.json").contains(&format!("\"version\": \"{version}\"")));
    let changes = read("CHANGELOG.md");
    let newest = changes.lines().find(|line| line.starts_with("## [")).unwrap();
    assert_eq!(newest, format!("## [{version}]"));
    for file in ["compose.yaml", "docs/systems/docker.md"] {
        let image = format!("image: ghcr.io/forklore/forklore:{version}\n");
        assert!(read(file).contains(&image), "{file}");
    }
}

/// How many modules and tests a document names.
#[derive(Debug, Default)]
struct Named {
    modules: usize,
    tests: usize,
    /// Tests that run in Node or in a browser.
    page_tests: usize,
}

/// Checks the "Where" and "Test" columns of a document's tables, and counts the names in them.
fn check_names(document: &str) -> Named {
    let mut named = Named::default();
    for row in rows(document) {
        for module in row.modules() {
            assert!(has_module(module), "there is no module `{module}`: {}", row.text);
            named.modules += 1;
        }
        for test in row.tests() {
            // A script or a configuration file counts as a check too.
            if !test.contains("::") {
                assert!(root().join(test).exists(), "there is no `{test}`: {}", row.text);
            } else if let Some(file) = js_test_file(test) {
                assert!(has_js_test(&file, last(test)), "there is no `{test}`: {}", row.text);
                named.page_tests += 1;
            } else {
                check_test(test, &row);
                named.tests += 1;
            }
        }
    }
    named
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A row of a table that has the columns "Where" and "Test".
struct Row {
    titles: Vec<String>,
    text: String,
}

fn rows(document: &str) -> Vec<Row> {
    let document = fs::read_to_string(root().join("docs").join(document));
    let document = document.expect("the document is there");
    let mut titles: Option<Vec<String>> = None;
    let mut rows = Vec::new();
    for text in document.lines() {
        let cells: Vec<String> = cells(text).map(str::to_owned).collect();
        if cells.len() < 3 {
            titles = None;
        } else if ["Where", "Test"].iter().all(|title| cells.iter().any(|cell| cell == title)) {
            titles = Some(cells);
        } else if let Some(titles) = titles.clone().filter(|_| !text.starts_with("|---")) {
            rows.push(Row { titles, text: text.to_owned() });
        }
    }
    rows
}

impl Row {
    fn cell(&self, title: &str) -> Option<&str> {
        let column = self.titles.iter().position(|found| found == title)?;
        cells(&self.text).nth(column)
    }

    fn modules(&self) -> Vec<&str> {
        self.cell("Where").map(named).unwrap_or_default()
    }

    fn tests(&self) -> Vec<&str> {
        self.cell("Test").map(named).unwrap_or_default()
    }
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.split('|').map(str::trim)
}

/// The names in backticks in a cell.
fn named(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn has_module(name: &str) -> bool {
    let Some((home, module)) = name.split_once("::") else {
        return root().join("crates").join(name).is_dir();
    };
    if home == "extension" {
        let path = root().join(home).join(module.replace("::", "/"));
        return path.with_extension("js").is_file();
    }
    !files_of(&root().join("crates").join(home).join("src"), module).is_empty()
}

/// The file of a test that runs in Node or in a browser.
fn js_test_file(test: &str) -> Option<PathBuf> {
    let (file, _) = test.rsplit_once("::").expect("a file comes before the test");
    let (folder, file) = match file.split_once("::")? {
        ("e2e", file) => ("e2e/scenarios", file),
        ("neighbours", file) => ("e2e/neighbours", file),
        ("extension", file) => ("extension/tests", file.strip_prefix("tests::")?),
        _ => return None,
    };
    Some(root().join(folder).join(format!("{file}.test.mjs")))
}

/// Whether a JavaScript test has this name or one that starts with it. Template placeholders are
/// written as "…".
fn has_js_test(file: &Path, beginning: &str) -> bool {
    let Ok(code) = fs::read_to_string(file) else { return false };
    let mut pieces = code.split("${");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push('…');
        shown.push_str(piece.split_once('}').map_or(piece, |(_, rest)| rest));
    }
    let shown = shown.replace("\\'", "'");
    ['\'', '"', '`'].iter().any(|quote| shown.contains(&format!("{quote}{beginning}")))
}

fn last(test: &str) -> &str {
    test.rsplit_once("::").map_or(test, |(_, name)| name)
}

fn check_test(name: &str, row: &Row) {
    let crates = root().join("crates");
    let (file, test) = name.rsplit_once("::").expect("a file comes before the test");
    let (crate_name, file) = file.split_once("::").expect("a crate comes first");
    let files = ["src", "tests"].map(|part| crates.join(crate_name).join(part));
    let has_it = |path: &Path| {
        let code = fs::read_to_string(path).expect("it can be read");
        code.contains(&format!("fn {test}("))
    };
    let found = files.iter().flat_map(|folder| files_of(folder, file)).any(|f| has_it(&f));
    let elsewhere = || code_in(&crates).into_iter().find(|path| has_it(path));
    assert!(found, "there is no `{name}`, but see {:?}: {}", elsewhere(), row.text);
}

/// The files that hold a module's code, or a test's.
fn files_of(folder: &Path, module: &str) -> Vec<PathBuf> {
    let path = folder.join(module.replace("::", "/"));
    let files = [path.with_extension("rs"), path.join("mod.rs"), path.join("main.rs")];
    files.into_iter().filter(|file| file.is_file()).collect()
}

/// Every source file, to suggest where a test has moved.
fn code_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder can be listed");
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let code = files.into_iter().filter(|file| file.extension().is_some_and(|e| e == "rs"));
    code.chain(folders.iter().flat_map(|folder| code_in(folder))).collect()
}
