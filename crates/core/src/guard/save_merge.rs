//! Merges a save with what the server has.

use super::Moves;
use super::original_data::OriginalData;
use crate::plan::merge::{self, BaseBook, Choices, MergePlan};
use crate::sillytavern::book::{Book, BookError};
use forklore_json::Json;

/// Two versions of one book, merged.
#[derive(Clone, Debug)]
pub struct MergedBook {
    pub plan: MergePlan,
    pub text: Vec<u8>,
}

/// A save, merged with what the server has.
#[derive(Clone, Debug)]
pub struct MergedSave {
    pub merged: MergedBook,
    pub moves: Moves,
}

/// Merges their changes into ours. The card's form of the entries follows them.
pub fn merge_books(
    before: &[u8],
    ours: &[u8],
    theirs: &[u8],
    choices: &Choices,
) -> Result<MergedBook, BookError> {
    let before = Book::read(before)?;
    let ours = Book::read_like(ours, &before)?;
    let theirs = Book::read_like(theirs, &ours)?;
    let mut plan = merge::plan(BaseBook::Known(Some(&before)), &ours, &theirs, choices);
    let originals = OriginalData::of([&before, &ours, &theirs]);
    if let Some(originals) = &originals {
        originals.leave_out_of(&mut plan);
    }
    let text = plan.apply(&ours);
    let text = match originals {
        Some(originals) if !plan.is_empty() => originals.put_into(text),
        _ => text,
    };
    Ok(MergedBook { plan, text })
}

/// Merges a save. `before` and `copy` are texts of the page's copy, in which the entries in `moves`
/// have other numbers than on the server.
pub fn merge_save(
    before: &[u8],
    copy: &[u8],
    theirs: &[u8],
    moves: &Moves,
    choices: &Choices,
) -> Result<MergedSave, BookError> {
    let wanted = moves_of(before, copy, theirs, moves)?;
    let merged = merge_books(&moves.apply(before)?, &wanted.apply(copy)?, theirs, choices)?;
    Ok(MergedSave { merged, moves: wanted })
}

/// The moves that a save needs, so that none of its entries has another entry's number.
pub(super) fn moves_of(
    before: &[u8],
    copy: &[u8],
    theirs: &[u8],
    moves: &Moves,
) -> Result<Moves, BookError> {
    let (before, ours) = (moves.apply(before)?, moves.apply(copy)?);
    let before = Book::read(&before)?;
    let [copy, ours, theirs] = [copy, &ours, theirs].map(|text| Book::read_like(text, &before));
    Ok(moves.with_collisions(&copy?, [&before, &ours?, &theirs?]))
}

/// Whether two texts hold the same book. Most of the time they are identical.
pub fn is_same_book(one: &[u8], other: &[u8]) -> bool {
    one == other
        || matches!((Json::parse(one), Json::parse(other)), (Ok(one), Ok(other)) if one == other)
}
