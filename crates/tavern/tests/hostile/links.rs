//! Symbolic links inside Forklore's own folder that lead out of the data root.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::names::ForkKind;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::data_root::EscapesDataRoot;
use forklore_tavern::transaction::CommitError;
use forklore_tavern::work::fork::ForkOptions;
use forklore_testkit::scene::{Scene, Stopped};
use tempfile::TempDir;

/// A folder elsewhere, containing files named like Forklore's.
fn elsewhere() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".forklore-00000001-0.tmp"), "precious").unwrap();
    fs::write(folder.path().join("0"), "precious").unwrap();
    folder
}

fn is_untouched(folder: &Path) -> bool {
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.len() == 2 && names.iter().all(|path| fs::read(path).unwrap() == b"precious")
}

#[track_caller]
fn assert_leads_outside<T>(result: Result<T, CommitError>) {
    let error = result.err().expect("it is refused");
    assert!(matches!(error, CommitError::Outside(EscapesDataRoot::LeadsOutside { .. })), "{error}");
}

#[test]
fn operations_and_trash_outside_the_data_folder_are_refused() {
    for name in ["operations", "trash"] {
        let (scene, elsewhere) = (Scene::new(), elsewhere());
        let ours = scene.folders().ours;
        fs::create_dir_all(&ours).unwrap();
        symlink(elsewhere.path(), ours.join(name)).unwrap();
        let before = scene.visible();
        let tavern = scene.tavern(&RealDisk, &Stopped);
        assert_leads_outside(tavern.transaction());
        let library = tavern.library();
        let chat = library.chats.iter().find(|chat| chat.name == "Story").unwrap();
        let options = ForkOptions {
            kind: ForkKind::Checkpoint,
            at: None,
            name: None,
            policy: Policy::default(),
            parent_is_closed: true,
            dry_run: false,
        };
        tavern.fork(chat, &options).expect_err("it is refused");
        assert!(is_untouched(elsewhere.path()), "{name}");
        assert_eq!(scene.visible(), before);
    }
}

#[test]
fn one_operations_trash_outside_the_data_folder_is_neither_emptied_nor_taken_from() {
    let (scene, elsewhere) = (Scene::new(), elsewhere());
    let trash = scene.folders().ours.join("trash");
    fs::create_dir_all(&trash).unwrap();
    symlink(elsewhere.path(), trash.join("00000001")).unwrap();
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let transaction = tavern.transaction().unwrap();
    assert_leads_outside(transaction.trash());
    assert_leads_outside(transaction.empty_trash());
    assert!(is_untouched(elsewhere.path()));
}
