//! File contents, shared between states.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Content {
    bytes: Arc<[u8]>,
    hash: u64,
}

impl Content {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Self { hash: hasher.finish(), bytes: bytes.into() }
    }

    /// Whether both share the same allocation.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.bytes, &other.bytes)
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || (self.hash == other.hash && self.bytes == other.bytes)
    }
}

impl Eq for Content {}

/// Nearly all files are the same across thousands of trees, so their bytes are hashed only once.
impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

/// A change to the content of one file.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Truncate(usize),
}

impl Change {
    pub(super) fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(bytes);
            }
            Self::Truncate(len) => content.resize(*len, 0),
        }
    }
}
