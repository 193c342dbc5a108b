//! Objects and their names.

use gix_hash::ObjectId;
pub use gix_object::Kind;

/// The name of an object: a digest of what it holds.
pub type Id = ObjectId;

/// The hash of git's repositories that every host accepts. It is computed in the way that notices
/// the known attacks on it.
pub const HASH: gix_hash::Kind = gix_hash::Kind::Sha1;

/// An object to be stored.
#[derive(Clone, Debug)]
pub struct Object {
    pub id: Id,
    pub kind: Kind,
    pub data: Vec<u8>,
    /// What stood in its place before, which it is likely to resemble.
    pub before: Option<Id>,
}

/// An object whose content was made to collide with another one's was refused.
#[derive(Debug, thiserror::Error)]
#[error("the content was made to break git's hash, and is refused")]
pub struct Collision;

pub fn id_of(kind: Kind, data: &[u8]) -> Result<Id, Collision> {
    gix_object::compute_hash(HASH, kind, data).map_err(|_| Collision)
}

/// A line of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeMode {
    Blob,
    Tree,
}

/// Adds a line to a tree's text. Lines must come in git's order.
pub fn add_to_tree(tree: &mut Vec<u8>, mode: TreeMode, name: &str, id: &Id) {
    tree.extend_from_slice(match mode {
        TreeMode::Blob => b"100644 ",
        TreeMode::Tree => b"40000 ",
    });
    tree.extend_from_slice(name.as_bytes());
    tree.push(0);
    tree.extend_from_slice(id.as_slice());
}

/// A line of a tree that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLine<'a> {
    pub mode: TreeMode,
    pub name: &'a [u8],
    pub id: Id,
}

/// Returns the lines of a tree; `None` where it is not one.
pub fn tree_lines(tree: &[u8]) -> impl Iterator<Item = Option<TreeLine<'_>>> {
    gix_object::TreeRefIter::from_bytes(tree, HASH).map(|line| {
        let line = line.ok()?;
        let mode = if line.mode.is_tree() {
            TreeMode::Tree
        } else if line.mode.is_blob() {
            TreeMode::Blob
        } else {
            return None;
        };
        Some(TreeLine { mode, name: line.filename, id: line.oid.to_owned() })
    })
}
