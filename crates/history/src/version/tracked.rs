//! The pieces of a file's newest version, kept so that finding the changes takes a single pass over
//! the file.

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::error::{HistoryError, Result};
use crate::file;
use crate::git::object::{Id, Kind, Object, TreeMode, add_to_tree, id_of, tree_lines};
use crate::store::{Store, Writing};
use crate::version::body::Body;
use crate::version::split::{Numbering, Split, split_with};

/// The names of the first and the last piece.
const HEAD: &str = "a";
const TAIL: &str = "z";

/// A version in pieces. A piece is recognised by a fast hash if known, otherwise by its id.
#[derive(Clone, Debug, Default)]
pub struct Tracked {
    pub numbering: Numbering,
    pub head: Option<TrackedPiece>,
    pub tail: Option<TrackedPiece>,
    pub body: Body,
    /// Hashes of the body's pieces, in order; empty if unknown.
    hashes: Vec<u128>,
}

#[derive(Clone, Copy, Debug)]
pub struct TrackedPiece {
    pub id: Id,
    hash: Option<u128>,
}

/// A file split into pieces and compared with the previous version.
pub struct ComparedFile<'b> {
    pub bytes: &'b [u8],
    pub split: Split,
    pub now: Tracked,
    pub tree: Id,
}

/// The parts of a version's tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeParts {
    pub head: Option<Id>,
    pub body: Option<(Numbering, Id)>,
    pub tail: Option<Id>,
}

impl Tracked {
    /// Reads the ids of a version's pieces.
    pub fn read(store: &Store<'_>, tree: Id) -> Result<Self> {
        let parts = Self::parts(store, tree)?;
        let piece = |id| TrackedPiece { id, hash: None };
        let mut tracked =
            Self { head: parts.head.map(piece), tail: parts.tail.map(piece), ..Self::default() };
        if let Some((numbering, body)) = parts.body {
            tracked.numbering = numbering;
            tracked.body = Body::read(store, body)?;
        }
        Ok(tracked)
    }

    /// Reads only the top-level tree of a version.
    pub fn parts(store: &Store<'_>, tree: Id) -> Result<TreeParts> {
        TreeParts::of(&store.read(&tree, Kind::Tree)?)
            .ok_or(HistoryError::Misshapen { id: tree, expected: "a file in pieces" })
    }

    /// Roughly how much memory this takes, in pieces.
    pub fn weight(&self) -> usize {
        self.body.pieces().len() + 16
    }

    /// The ids of all pieces in order.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        let body = self.body.pieces().iter().map(|(_, id)| *id);
        self.head.map(|piece| piece.id).into_iter().chain(body).chain(self.tail.map(|p| p.id))
    }

    /// Rebuilds the file, which has `len` bytes. Fails as soon as there are more: a few crafted
    /// objects from elsewhere can expand to more than fits into memory.
    pub fn rebuild(&self, store: &Store<'_>, len: u64) -> Result<Vec<u8>> {
        let mut file = Vec::new();
        let mut piece = Vec::new();
        for id in self.ids() {
            let kind = store.read_into(&id, &mut piece)?;
            if kind != Kind::Blob || (file.len() + piece.len()) as u64 > len {
                return Err(HistoryError::Misshapen { id, expected: "a piece of the file" });
            }
            file.extend_from_slice(&piece);
        }
        Ok(file)
    }
}

impl TreeParts {
    /// Parses a tree; `None` if it is not the tree of a version.
    pub fn of(tree: &[u8]) -> Option<Self> {
        let mut parts = Self::default();
        for line in tree_lines(tree) {
            let line = line?;
            // They must come in this order, each at most once.
            let has_tail = parts.tail.is_some();
            let has_body = has_tail || parts.body.is_some();
            match (line.mode, line.name) {
                (TreeMode::Blob, name) if name == HEAD.as_bytes() => {
                    (parts.head.is_none() && !has_body).then_some(())?;
                    parts.head = Some(line.id);
                }
                (TreeMode::Tree, name) if !has_body => {
                    parts.body = Some((Numbering::of_folder(name)?, line.id));
                }
                (TreeMode::Blob, name) if name == TAIL.as_bytes() && !has_tail => {
                    parts.tail = Some(line.id);
                }
                _ => return None,
            }
        }
        Some(parts)
    }
}

/// Where the pieces of a file are stored.
pub trait PieceStore {
    /// Stores an object and returns its id. The last argument is the object that it replaces.
    fn put(&mut self, kind: Kind, data: &[u8], before: Option<Id>) -> Result<Id>;

    /// Whether an object is there and can be read.
    fn holds(&self, id: &Id) -> bool;
}

impl PieceStore for Writing<'_, '_> {
    fn put(&mut self, kind: Kind, data: &[u8], before: Option<Id>) -> Result<Id> {
        Writing::put(self, kind, data, before)
    }

    fn holds(&self, id: &Id) -> bool {
        Writing::holds(self, id)
    }
}

impl PieceStore for Vec<Object> {
    fn put(&mut self, kind: Kind, data: &[u8], before: Option<Id>) -> Result<Id> {
        let id = id_of(kind, data)?;
        self.push(Object { id, kind, data: data.to_vec(), before });
        Ok(id)
    }

    fn holds(&self, _: &Id) -> bool {
        false
    }
}

/// Splits a file into pieces, and stores those that the previous version does not have.
pub fn compare<'b>(
    store: &mut dyn PieceStore,
    seed: u64,
    kind: file::FileKind,
    before: &Tracked,
    bytes: &'b [u8],
) -> Result<ComparedFile<'b>> {
    let mut hashes = Vec::new();
    let hash = |piece: &[u8]| xxh3_128_with_seed(piece, seed);
    let split = split_with(kind, bytes, &mut |piece| hashes.push(hash(piece)));
    if hashes.len() != split.body.len() {
        hashes = split.body.iter().map(|(_, range)| hash(&bytes[range.clone()])).collect();
    }
    let mut matcher = PieceMatcher { store, seed, before, by_hash: None, misses: 0 };

    let head = matcher.edge(before.head, &bytes[split.head.clone()])?;
    let tail = matcher.edge(before.tail, &bytes[split.tail.clone()])?;
    let mut pieces = Vec::with_capacity(split.body.len());
    let same_numbers = before.numbering == split.numbering;
    let mut at = 0;
    for ((number, range), hash) in split.body.iter().zip(&hashes) {
        let old = before.body.pieces();
        while same_numbers && old.get(at).is_some_and(|(old, _)| old < number) {
            at += 1;
        }
        let place = at;
        let there = same_numbers && old.get(place).is_some_and(|(old, _)| old == number);
        let id = matcher.piece(there.then_some(place), &bytes[range.clone()], *hash)?;
        pieces.push((*number, id));
    }
    let mut put = |tree: Vec<u8>, before| store.put(Kind::Tree, &tree, before);
    let body = before.body.with(pieces, &mut put)?;
    let now = Tracked { numbering: split.numbering, head, tail, body, hashes };
    let tree = store.put(Kind::Tree, &root(&now), None)?;
    Ok(ComparedFile { bytes, split, now, tree })
}

/// All objects of a file, as if it had no previous version.
pub fn objects(kind: file::FileKind, bytes: &[u8]) -> Result<Vec<Object>> {
    let mut objects = Vec::new();
    compare(&mut objects, 0, kind, &Tracked::default(), bytes)?;
    Ok(objects)
}

/// The tree of a version. An empty head or tail is left out.
fn root(tracked: &Tracked) -> Vec<u8> {
    let mut tree = Vec::with_capacity(128);
    if let Some(head) = tracked.head {
        add_to_tree(&mut tree, TreeMode::Blob, HEAD, &head.id);
    }
    if let Some(body) = tracked.body.root() {
        add_to_tree(&mut tree, TreeMode::Tree, tracked.numbering.folder(), &body);
    }
    if let Some(tail) = tracked.tail {
        add_to_tree(&mut tree, TreeMode::Blob, TAIL, &tail.id);
    }
    tree
}

/// Recognises pieces of the previous version.
struct PieceMatcher<'k> {
    store: &'k mut dyn PieceStore,
    /// Random for every process, so that no one can craft two pieces with the same hash.
    seed: u64,
    before: &'k Tracked,
    /// The pieces by hash, to find those that moved; built only when several are not in their old
    /// position.
    by_hash: Option<FxHashMap<u128, Id>>,
    /// How many pieces were not in their old position.
    misses: usize,
}

/// Up to this many, hashing the pieces is faster than building the table.
const FEW_MISSES: usize = 8;

impl PieceMatcher<'_> {
    fn edge(&mut self, before: Option<TrackedPiece>, bytes: &[u8]) -> Result<Option<TrackedPiece>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let hash = xxh3_128_with_seed(bytes, self.seed);
        if let Some(before) = before.filter(|before| before.hash == Some(hash)) {
            return Ok(Some(before));
        }
        let before = before.map(|before| before.id);
        let id = self.store.put(Kind::Blob, bytes, before)?;
        Ok(Some(TrackedPiece { id, hash: Some(hash) }))
    }

    /// `place` is the position of the piece with the same number in the previous body.
    fn piece(&mut self, place: Option<usize>, bytes: &[u8], hash: u128) -> Result<Id> {
        let old = place.map(|place| self.before.body.pieces()[place].1);
        if let (Some(place), Some(id)) = (place, old)
            && self.before.hashes.get(place) == Some(&hash)
        {
            return Ok(id);
        }
        if let Some(id) = self.find_moved(hash) {
            return Ok(id);
        }
        // `put` would find it among all objects, which takes longer.
        if let Some(old) = old.filter(|_| self.before.hashes.is_empty())
            && id_of(Kind::Blob, bytes)? == old
            && self.store.holds(&old)
        {
            return Ok(old);
        }
        self.store.put(Kind::Blob, bytes, old)
    }

    fn find_moved(&mut self, hash: u128) -> Option<Id> {
        self.misses += 1;
        if self.misses <= FEW_MISSES {
            return None;
        }
        let before = self.before;
        let by_hash = self.by_hash.get_or_insert_with(|| {
            let ids = before.body.pieces().iter().map(|(_, id)| *id);
            before.hashes.iter().copied().zip(ids).collect()
        });
        by_hash.get(&hash).copied()
    }
}
