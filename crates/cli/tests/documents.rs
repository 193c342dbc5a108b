//! Documents that name code name code that exists.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_test_and_module_that_the_requirements_name_exists() {
    let (modules, tests) = check_names("requirements.md");
    assert!(modules > 50 && tests > 50, "only {modules} modules and {tests} tests were found");
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let (modules, tests) = check_names("architecture.md");
    assert!(modules > 10 && tests > 20, "only {modules} modules and {tests} tests were found");
}

/// Checks the columns "Where" and "Test" of a document's tables, and counts what they name.
fn check_names(document: &str) -> (usize, usize) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let document = crates.join("../docs").join(document);
    let document = fs::read_to_string(document).expect("the document is there");
    let (mut modules, mut tests) = (0, 0);
    let (mut module_column, mut test_column) = (None, None);
    for row in document.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells.len() < 3 {
            (module_column, test_column) = (None, None);
            continue;
        }
        let titled = |title: &str| cells.iter().position(|cell| *cell == title);
        if let (Some(module), Some(test)) = (titled("Where"), titled("Test")) {
            (module_column, test_column) = (Some(module), Some(test));
            continue;
        }
        for name in module_column.into_iter().flat_map(|at| named(cells[at])) {
            let (crate_name, module) = name.split_once("::").expect("a crate comes first");
            let found = files_of(&crates.join(crate_name).join("src"), module);
            assert!(!found.is_empty(), "there is no module `{name}`: {row}");
            modules += 1;
        }
        for name in test_column.into_iter().flat_map(|at| named(cells[at])) {
            // A script or a setting, which is a check too.
            if !name.contains("::") {
                assert!(crates.join("..").join(name).exists(), "there is no `{name}`: {row}");
                continue;
            }
            let (file, test) = name.rsplit_once("::").expect("a file comes before the test");
            let (crate_name, file) = file.split_once("::").expect("a crate comes first");
            let files = ["src", "tests"].map(|part| crates.join(crate_name).join(part));
            let has_it = |path: &Path| {
                let code = fs::read_to_string(path).expect("it can be read");
                code.contains(&format!("fn {test}("))
            };
            let found = files.iter().flat_map(|folder| files_of(folder, file)).any(|f| has_it(&f));
            let elsewhere = || code_in(&crates).into_iter().find(|path| has_it(path));
            assert!(found, "there is no `{name}`, but see {:?}: {row}", elsewhere());
            tests += 1;
        }
    }
    (modules, tests)
}

/// What stands between backticks in a cell.
fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The files that hold a module's code, or the code of a test called like it.
fn files_of(folder: &Path, module: &str) -> Vec<PathBuf> {
    let path = folder.join(module.replace("::", "/"));
    let files = [path.with_extension("rs"), path.join("mod.rs"), path.join("main.rs")];
    files.into_iter().filter(|file| file.is_file()).collect()
}

/// Every file with code, to say where something has gone.
fn code_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder can be listed");
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let code = files.into_iter().filter(|file| file.extension().is_some_and(|e| e == "rs"));
    code.chain(folders.iter().flat_map(|folder| code_in(folder))).collect()
}
