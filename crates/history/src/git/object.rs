//! Objects and their ids.

use gix_hash::ObjectId;
pub use gix_object::Kind;

/// An object's id: the hash of its content.
pub type Id = ObjectId;

/// SHA-1, the hash that every git host accepts. It is computed with collision detection.
pub const HASH: gix_hash::Kind = gix_hash::Kind::Sha1;

/// An object to be stored.
#[derive(Clone, Debug)]
pub struct Object {
    pub id: Id,
    pub kind: Kind,
    pub data: Vec<u8>,
    /// The object it replaces, which it probably resembles.
    pub before: Option<Id>,
}

/// The content was crafted to collide with another object's, and was refused.
#[derive(Debug, thiserror::Error)]
#[error("the content was crafted to break git's hash and is refused")]
pub struct Collision;

pub fn id_of(kind: Kind, data: &[u8]) -> Result<Id, Collision> {
    gix_object::compute_hash(HASH, kind, data).map_err(|_| Collision)
}

/// The kind of object that a tree entry points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeMode {
    Blob,
    Tree,
}

/// Appends an entry to a tree. Entries must be added in git's order.
pub fn add_to_tree(tree: &mut Vec<u8>, mode: TreeMode, name: &str, id: &Id) {
    tree.extend_from_slice(match mode {
        TreeMode::Blob => b"100644 ",
        TreeMode::Tree => b"40000 ",
    });
    tree.extend_from_slice(name.as_bytes());
    tree.push(0);
    tree.extend_from_slice(id.as_slice());
}

/// An entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLine<'a> {
    pub mode: TreeMode,
    pub name: &'a [u8],
    pub id: Id,
}

/// The entries of a tree; `None` for an entry that is invalid or neither a blob nor a tree.
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
