//! The numbered pieces of a file as git trees: at most a hundred entries each, always three levels
//! deep, so that one more message writes the same few small objects however long the chat is.

use std::ops::Range;

use crate::error::{HistoryError, Result};
use crate::git::object::{Id, Kind, TreeMode, add_to_tree, tree_lines};
use crate::store::Store;

/// Entries in one tree.
const WIDTH: u32 = 100;

/// The pieces and the trees above them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    pieces: Vec<(u32, Id)>,
    leaves: Vec<(u32, Id)>,
    branches: Vec<(u32, Id)>,
    root: Option<Id>,
}

/// Stores a tree and returns its id. The second argument is the tree that it replaces.
pub type PutTree<'a> = dyn FnMut(Vec<u8>, Option<Id>) -> Result<Id> + 'a;

impl Body {
    pub fn root(&self) -> Option<Id> {
        self.root
    }

    /// In ascending order of their numbers.
    pub fn pieces(&self) -> &[(u32, Id)] {
        &self.pieces
    }

    /// The body with other pieces. Only trees that changed are written.
    pub fn with(&self, pieces: Vec<(u32, Id)>, put: &mut PutTree<'_>) -> Result<Self> {
        let leaves = trees(&self.pieces, &self.leaves, &pieces, TreeMode::Blob, put)?;
        let branches = trees(&self.leaves, &self.branches, &leaves, TreeMode::Tree, put)?;
        let before: Vec<(u32, Id)> = self.root.map(|id| (0, id)).into_iter().collect();
        let root = trees(&self.branches, &before, &branches, TreeMode::Tree, put)?;
        Ok(Self { root: root.first().map(|(_, id)| *id), pieces, leaves, branches })
    }

    /// Reads the trees below `root`, but not the pieces.
    pub fn read(store: &Store<'_>, root: Id) -> Result<Self> {
        let branches = read_tree(store, 0, root, TreeMode::Tree)?;
        let below = |trees: &[(u32, Id)], mode| {
            let mut all = Vec::new();
            for (number, id) in trees {
                all.extend(read_tree(store, *number, *id, mode)?);
            }
            Ok::<_, HistoryError>(all)
        };
        let leaves = below(&branches, TreeMode::Tree)?;
        let pieces = below(&leaves, TreeMode::Blob)?;
        Ok(Self { pieces, leaves, branches, root: Some(root) })
    }

    /// The last piece below `root`, without reading the others.
    pub fn last(store: &Store<'_>, root: Id) -> Result<Option<(u32, Id)>> {
        let mut found = Some((0, root));
        for mode in [TreeMode::Tree, TreeMode::Tree, TreeMode::Blob] {
            let Some((number, id)) = found else { return Ok(None) };
            found = read_tree(store, number, id, mode)?.pop();
        }
        Ok(found)
    }

    /// The piece with this number below `root`, without reading the others.
    pub fn piece(store: &Store<'_>, root: Id, number: u32) -> Result<Option<Id>> {
        let (mut above, mut id) = (0, root);
        let steps = [(WIDTH * WIDTH, TreeMode::Tree), (WIDTH, TreeMode::Tree), (1, TreeMode::Blob)];
        for (below, mode) in steps {
            let wanted = number / below;
            let tree = read_tree(store, above, id, mode)?;
            let found = tree.into_iter().find(|(number, _)| *number == wanted);
            let Some((number, next)) = found else { return Ok(None) };
            (above, id) = (number, next);
        }
        Ok(Some(id))
    }
}

/// Builds the trees above `now`, and reuses those whose entries did not change.
fn trees(
    before: &[(u32, Id)],
    trees_before: &[(u32, Id)],
    now: &[(u32, Id)],
    mode: TreeMode,
    put: &mut PutTree<'_>,
) -> Result<Vec<(u32, Id)>> {
    let mut trees = Vec::with_capacity(trees_before.len() + 1);
    let mut at = 0;
    while let Some((first, _)) = now.get(at) {
        let number = first / WIDTH;
        let range = in_tree(now, number);
        let known = trees_before.binary_search_by_key(&number, |(number, _)| *number);
        let known = known.ok().map(|found| trees_before[found].1);
        at = range.end;
        let id = match known {
            Some(id) if before[in_tree(before, number)] == now[range.clone()] => id,
            _ => put(tree(&now[range], mode), known)?,
        };
        trees.push((number, id));
    }
    Ok(trees)
}

/// The entries that belong to the tree with this number.
fn in_tree(all: &[(u32, Id)], tree: u32) -> Range<usize> {
    let start = all.partition_point(|(number, _)| number / WIDTH < tree);
    let end = start + all[start..].partition_point(|(number, _)| number / WIDTH == tree);
    start..end
}

fn tree(lines: &[(u32, Id)], mode: TreeMode) -> Vec<u8> {
    let mut tree = Vec::with_capacity(lines.len() * 33);
    for (number, id) in lines {
        let place = number % WIDTH;
        let digits = [b'0' + (place / 10) as u8, b'0' + (place % 10) as u8];
        // Two digits are always valid UTF-8.
        let name = std::str::from_utf8(&digits).unwrap_or_default();
        add_to_tree(&mut tree, mode, name, id);
    }
    tree
}

fn read_tree(store: &Store<'_>, number: u32, id: Id, mode: TreeMode) -> Result<Vec<(u32, Id)>> {
    let tree = store.read(&id, Kind::Tree)?;
    let mut lines = numbered(&tree, mode)
        .ok_or(HistoryError::Misshapen { id, expected: "a tree of numbered pieces" })?;
    lines.iter_mut().for_each(|(place, _)| *place += number * WIDTH);
    Ok(lines)
}

/// The entries of a tree whose names are two digits in ascending order, which limits it to a
/// hundred; `None` for any other tree.
pub(crate) fn numbered(tree: &[u8], mode: TreeMode) -> Option<Vec<(u32, Id)>> {
    let mut lines: Vec<(u32, Id)> = Vec::new();
    for line in tree_lines(tree) {
        let line = line.filter(|line| line.mode == mode)?;
        let digits = <[u8; 2]>::try_from(line.name).ok()?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let place = u32::from(digits[0] - b'0') * 10 + u32::from(digits[1] - b'0');
        if lines.last().is_some_and(|(last, _)| *last >= place) {
            return None;
        }
        lines.push((place, line.id));
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::id_of;

    fn piece(text: &str) -> Id {
        id_of(Kind::Blob, text.as_bytes()).unwrap()
    }

    fn with(body: &Body, pieces: Vec<(u32, Id)>) -> (Body, usize) {
        let mut made = 0;
        let body = body.with(pieces, &mut |tree, _| {
            made += 1;
            Ok(id_of(Kind::Tree, &tree)?)
        });
        (body.unwrap(), made)
    }

    fn numbered(count: u32) -> Vec<(u32, Id)> {
        (0..count).map(|number| (number, piece(&number.to_string()))).collect()
    }

    #[test]
    fn one_more_piece_makes_three_trees_however_many_there_are() {
        for count in [1, 99, 100, 5_000, 50_000] {
            let (body, _) = with(&Body::default(), numbered(count));
            let (more, made) = with(&body, numbered(count + 1));
            assert_eq!(made, 3, "{count}");
            assert_eq!(more, with(&Body::default(), numbered(count + 1)).0);
            assert_eq!(with(&more, numbered(count)).0, body);
        }
    }

    #[test]
    fn what_is_made_of_the_body_before_is_what_is_made_of_nothing() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut body = Body::default();
        let mut pieces = numbered(700);
        for round in 0..300 {
            for _ in 0..random.usize(..4) {
                let at = random.usize(..=pieces.len().saturating_sub(1));
                match random.u8(..4) {
                    0 if !pieces.is_empty() => drop(pieces.remove(at)),
                    1 if !pieces.is_empty() => pieces[at].1 = piece(&format!("changed {round}")),
                    2 => pieces.truncate(at),
                    _ => {
                        let number = pieces.last().map_or(0, |(number, _)| number + 1);
                        pieces.push((number + random.u32(..150), piece(&round.to_string())));
                    }
                }
            }
            body = with(&body, pieces.clone()).0;
            assert_eq!(body, with(&Body::default(), pieces.clone()).0);
        }
        assert_eq!(with(&body, Vec::new()).0, Body::default());
    }
}
