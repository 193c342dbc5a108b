//! Content digests, and the algorithms that compute them.

use std::fmt::{self, Write};

use sha2::{Digest as _, Sha256};

/// A digest algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Written as `blake3:<64 hex digits>`. Fast on every processor, so all new digests use it.
    #[default]
    Blake3,
    /// Written as `sha256:<64 hex digits>`. Used by earlier versions, and by format 1
    /// of the journal.
    Sha256,
}

/// A 256-bit digest. Digests of different algorithms are never equal, so compare a digest only with
/// one computed by [the same algorithm](Self::algorithm).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest {
    algorithm: Algorithm,
    bytes: [u8; 32],
}

/// Hashes incrementally, for data too large to hold in memory. BLAKE3 by default.
#[derive(Clone)]
pub struct Hasher(HasherState);

#[derive(Clone)]
enum HasherState {
    // Boxed because it is seventeen times the size of the other variant.
    Blake3(Box<blake3::Hasher>),
    Sha256(Sha256Hasher),
}

/// The hasher for the ids of journal records of format 1.
#[derive(Clone, Default)]
pub(crate) struct Sha256Hasher(Sha256);

impl Algorithm {
    const ALL: [Self; 2] = [Self::Blake3, Self::Sha256];

    pub fn hasher(self) -> Hasher {
        Hasher(match self {
            Self::Blake3 => HasherState::Blake3(Box::default()),
            Self::Sha256 => HasherState::Sha256(Sha256Hasher::default()),
        })
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Blake3 => "blake3:",
            Self::Sha256 => "sha256:",
        }
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Algorithm::default().hasher()
    }
}

impl Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            HasherState::Blake3(hasher) => drop(hasher.update(bytes)),
            HasherState::Sha256(hasher) => hasher.update(bytes),
        }
    }

    pub fn finish(self) -> Digest {
        match self.0 {
            HasherState::Blake3(hasher) => Digest::of_blake3(hasher.finalize()),
            HasherState::Sha256(hasher) => hasher.finish(),
        }
    }
}

impl Sha256Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest { algorithm: Algorithm::Sha256, bytes: self.0.finalize().into() }
    }
}

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_blake3(blake3::hash(bytes))
    }

    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Hasher::default();
        for part in parts {
            hasher.update(part);
        }
        hasher.finish()
    }

    /// For values that must never change, such as shortened names, and for comparing with digests of
    /// earlier versions.
    pub(crate) fn sha256_of(bytes: &[u8]) -> Self {
        let mut hasher = Sha256Hasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// The digest of `bytes`, computed with this digest's algorithm.
    fn same_algorithm_of(&self, bytes: &[u8]) -> Self {
        match self.algorithm {
            Algorithm::Blake3 => Self::of(bytes),
            Algorithm::Sha256 => Self::sha256_of(bytes),
        }
    }

    /// Whether this is the digest of `bytes`, whichever its algorithm.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.same_algorithm_of(bytes) == *self
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut algorithms = Algorithm::ALL.into_iter();
        let (algorithm, hex) = algorithms
            .find_map(|algorithm| Some((algorithm, text.strip_prefix(algorithm.prefix())?)))?;
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[place * 2..place * 2 + 2], 16).ok()?;
        }
        Some(Self { algorithm, bytes })
    }

    /// The first `digits` hex digits, enough to distinguish names or journal states.
    pub fn short(&self, digits: usize) -> String {
        let mut text = String::new();
        for byte in &self.bytes[..digits.div_ceil(2)] {
            let _ = write!(text, "{byte:02x}");
        }
        text.truncate(digits);
        text
    }

    fn of_blake3(hash: blake3::Hash) -> Self {
        Self { algorithm: Algorithm::Blake3, bytes: hash.into() }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.algorithm.prefix(), self.short(64))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The output of `b3sum` and `sha256sum` for the text "lore".
    const BLAKE3: &str = "blake3:80606532254659ce0885e4b9ee8b330c87e88f2ac73e46e83fc3bcbd0b05d6a7";
    const SHA256: &str = "sha256:b6598e838f350a97cb734eca208ce0cdc602dd60afbf65a3b8b65195cbd1a7fe";

    #[test]
    fn it_reads_back_what_it_wrote() {
        let digest = Digest::of(b"lore");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        for wrong in ["sha256:00", "sha256:\u{e9}", "blake3:", &SHA256[7..], "md5:00"] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn new_digests_are_blake3_and_older_ones_are_still_compared_by_their_own_algorithm() {
        assert_eq!(Digest::of(b"lore").to_string(), BLAKE3);
        for written in [BLAKE3, SHA256] {
            let digest = Digest::parse(written).unwrap();
            assert_eq!(digest.to_string(), written);
            assert!(digest.is_of(b"lore") && !digest.is_of(b"Lore"));
            let mut hasher = digest.algorithm().hasher();
            hasher.update(b"lo");
            hasher.update(b"re");
            assert_eq!(hasher.finish(), digest);
        }
        assert_ne!(Digest::parse(BLAKE3), Digest::parse(&SHA256.replace("sha256", "blake3")));
    }

    #[test]
    fn parts_are_hashed_as_one() {
        assert_eq!(Digest::of_parts([&b"lo"[..], b"", b"re"]), Digest::of(b"lore"));
    }
}
