//! Tiny bundles that would expand to more than fits into memory.

use forklore_history::exchange::bundle::{self, BundleError};
use forklore_history::exchange::join::Unsound;
use forklore_history::git::object::{Id, Kind, Object, TreeMode, add_to_tree, id_of};
use forklore_history::git::pack::Packer;
use forklore_history::upkeep::fsck::verify;

use crate::stage::{Stage, everything, save_each_message};

#[derive(Default)]
struct Objects(Vec<Object>);

impl Objects {
    fn add(&mut self, kind: Kind, data: Vec<u8>) -> Id {
        let id = id_of(kind, &data).unwrap();
        if !self.0.iter().any(|object| object.id == id) {
            self.0.push(Object { id, kind, data, before: None });
        }
        id
    }

    fn tree(&mut self, mode: TreeMode, lines: impl IntoIterator<Item = (String, Id)>) -> Id {
        let mut tree = Vec::new();
        for (name, id) in lines {
            add_to_tree(&mut tree, mode, &name, &id);
        }
        self.add(Kind::Tree, tree)
    }

    /// A chat of `names.len()` cubed messages, all the same.
    fn chat(&mut self, piece: &[u8], names: &[String]) -> Id {
        let header = self.add(Kind::Blob, b"{\"chat_metadata\":{}}".to_vec());
        let piece = self.add(Kind::Blob, piece.to_vec());
        let all = |id: Id| names.iter().cloned().map(move |name| (name, id)).collect::<Vec<_>>();
        let leaf = self.tree(TreeMode::Blob, all(piece));
        let branch = self.tree(TreeMode::Tree, all(leaf));
        let body = self.tree(TreeMode::Tree, all(branch));
        let mut root = Vec::new();
        add_to_tree(&mut root, TreeMode::Blob, "a", &header);
        add_to_tree(&mut root, TreeMode::Tree, "m", &body);
        self.add(Kind::Tree, root)
    }

    fn bundle(mut self, root: Id, bytes: u64) -> Vec<u8> {
        let commit = format!(
            "tree {root}\nauthor x <x@x> 1794783484 +0000\ncommitter x <x@x> 1794783484 +0000\n\n\
             words\n\nFile: chats/Ada/Evil.jsonl\nLineage: evil-1/chats/x\nVersion: 1\nOrder: 1\n\
             Why: saved\nWritten: 1794783484056\nRecorded: 1794783484061\nBytes: {bytes}\nCount: 1\n"
        );
        let tip = self.add(Kind::Commit, commit.into_bytes());
        let mut packer = Packer::new(6);
        packer.add_all(&self.0);
        let mut bundle =
            format!("# v2 git bundle\n{tip} refs/heads/evil-1/chats/x\n\n").into_bytes();
        bundle.extend(packer.finish_pack().unwrap().pack);
        bundle
    }
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{number:02}")).collect()
}

/// Imports a bundle. Returns why it was refused, if it was.
#[track_caller]
fn taken_in(bundle: &[u8]) -> Option<Unsound> {
    let stage = Stage::new();
    let mut pc = stage.machine("PC");
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 2);
    let refused = match bundle::import(&mut pc, bundle) {
        Ok(_) => None,
        Err(BundleError::Unsound(refused)) => Some(refused.why),
        Err(other) => panic!("{other}"),
    };
    let verified = verify(&mut pc, &|_| None, &|_, _| {}).unwrap();
    assert!(verified.is_sound(), "{verified:?}");
    assert_eq!(everything(&pc).len(), 2 + usize::from(refused.is_none()));
    refused
}

const HEADER: u64 = 20;

#[test]
fn a_file_that_is_as_long_as_it_says_is_taken_in() {
    let mut objects = Objects::default();
    let root = objects.chat(b"\n{}", &numbers(3));
    assert_eq!(taken_in(&objects.bundle(root, HEADER + 27 * 3)), None);
}

#[test]
fn a_file_that_is_not_as_long_as_it_says_is_refused() {
    for bytes in [0, 1, HEADER + 27 * 3 - 1, HEADER + 27 * 3 + 1] {
        let mut objects = Objects::default();
        let root = objects.chat(b"\n{}", &numbers(3));
        assert_eq!(taken_in(&objects.bundle(root, bytes)), Some(Unsound::Size), "{bytes}");
    }
}

#[test]
fn a_file_longer_than_any_is_refused_whatever_it_says() {
    let piece = [b"\n".as_slice(), &vec![b' '; 1 << 20]].concat();
    let mut objects = Objects::default();
    let root = objects.chat(&piece, &numbers(100));
    let bytes = HEADER + piece.len() as u64 * 1_000_000;
    assert_eq!(taken_in(&objects.bundle(root, bytes)), Some(Unsound::Size));
}

#[test]
fn trees_of_another_shape_are_refused() {
    let names: [&[&str]; 6] =
        [&["00", "00"], &["01", "00"], &["0"], &["000"], &["aa"], &["00", "01", "01"]];
    for names in names {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut objects = Objects::default();
        let root = objects.chat(b"\n{}", &names);
        let bytes = HEADER + 3 * (names.len() as u64).pow(3);
        assert_eq!(taken_in(&objects.bundle(root, bytes)), Some(Unsound::Shape), "{names:?}");
    }
    // More and fewer than three levels of trees.
    for depth in [0, 1, 3] {
        let mut objects = Objects::default();
        let header = objects.add(Kind::Blob, b"{\"chat_metadata\":{}}".to_vec());
        let mut below = objects.add(Kind::Blob, b"\n{}".to_vec());
        let mut mode = TreeMode::Blob;
        for _ in 0..=depth {
            below = objects.tree(mode, [("00".to_owned(), below)]);
            mode = TreeMode::Tree;
        }
        let mut root = Vec::new();
        add_to_tree(&mut root, TreeMode::Blob, "a", &header);
        add_to_tree(&mut root, TreeMode::Tree, "m", &below);
        let root = objects.add(Kind::Tree, root);
        assert_eq!(taken_in(&objects.bundle(root, HEADER + 3)), Some(Unsound::Shape), "{depth}");
    }
}
