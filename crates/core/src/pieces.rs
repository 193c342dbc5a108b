//! A new file assembled from slices of an existing file and new bytes, without copying the slices.

use crate::digest::Digest;

/// A run of bytes of the new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Borrowed unchanged from the existing file.
    Kept(&'a [u8]),
    New(Vec<u8>),
}

/// The complete new file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces<'a>(Vec<Piece<'a>>);

impl<'a> Pieces<'a> {
    pub fn keep(&mut self, bytes: &'a [u8]) {
        if !bytes.is_empty() {
            self.0.push(Piece::Kept(bytes));
        }
    }

    pub fn add(&mut self, bytes: Vec<u8>) {
        self.0.push(Piece::New(bytes));
    }

    pub fn slices(&self) -> Vec<&[u8]> {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Kept(bytes) => *bytes,
                Piece::New(bytes) => bytes.as_slice(),
            })
            .collect()
    }

    pub fn len(&self) -> usize {
        self.slices().iter().map(|slice| slice.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn to_vec(&self) -> Vec<u8> {
        self.slices().concat()
    }

    pub fn digest(&self) -> Digest {
        Digest::of_parts(self.slices())
    }
}
