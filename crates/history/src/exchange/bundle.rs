//! A history in a single file, in git's bundle format: `git clone` and `git bundle verify` accept
//! it.
//!
//! Neither making nor importing one needs git. It is not encrypted; other programs do that.

use crate::error::{HistoryError, Result};
use crate::exchange::join::{self, ExtraObjects, Joined, RefName, RefusedRef};
use crate::git::object::{Id, Kind};
use crate::git::pack::Packed;
use crate::git::refs::Refs;
use crate::git::unpack::{UnpackError, Unpacked};
use crate::version::Gathering;
use crate::version::history::History;

const TITLE: &[u8] = b"# v2 git bundle\n";
/// The same with a list of capabilities that a reader must have.
const TITLE_3: &[u8] = b"# v3 git bundle\n";

/// Reading it takes a while anyway, so it is compressed as far as possible.
const LEVEL: u32 = 9;

/// The header of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleHeader {
    /// Commits that the importing side must already have.
    pub needs: Vec<Id>,
    pub refs: Refs,
}

/// A bundle, ready to be written.
#[derive(Debug)]
pub struct Bundle {
    pub bytes: Vec<u8>,
    pub files: usize,
    pub objects: usize,
}

/// A bundle could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("it is not a bundle")]
    NotABundle,
    #[error("its beginning is cut off or damaged")]
    Header,
    #[error("the pack in it cannot be used")]
    Pack(#[from] UnpackError),
    #[error("it continues a bundle that was not added here")]
    Needs(Id),
    #[error("something in it is not a history: {}: {}", .0.reference, .0.why)]
    Unsound(RefusedRef),
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// Makes a bundle of everything, or of what was recorded since another bundle was made. `None` if
/// there is nothing to bundle.
pub fn make(history: &mut History<'_>, since: Option<&BundleHeader>) -> Result<Option<Bundle>> {
    history.refresh()?;
    let store = history.store();
    let before = since.map(|since| &since.refs);
    let is_new = |name: &str, id: &Id| before.is_none_or(|before| before.get(name) != Some(id));
    let refs: Refs = store
        .refs()
        .iter()
        .filter(|(name, id)| RefName::parse(name).is_some() && is_new(name, id))
        .map(|(name, id)| (name.clone(), *id))
        .collect();
    if refs.is_empty() {
        return Ok(None);
    }
    // Commits that were rewritten since no longer exist, and are sent again.
    let mut needs: Vec<Id> = before.into_iter().flat_map(Refs::values).copied().collect();
    needs.sort_unstable();
    needs.dedup();
    needs.retain(|id| store.has(id));
    let mut gathering = Gathering::new(store, LEVEL);
    gathering.exclude(&needs)?;
    let tips: Vec<Id> = refs.values().copied().collect();
    gathering.add(&tips)?;
    let packed = gathering.packer.finish_pack()?;
    let files = refs.keys().filter(|name| name.starts_with("refs/heads/")).count();
    let mut bytes = BundleHeader { needs, refs }.write();
    bytes.extend_from_slice(&packed.pack);
    Ok(Some(Bundle { bytes, files, objects: packed.objects }))
}

/// Imports what a bundle contains of other machines: all of it or nothing.
pub fn import(history: &mut History<'_>, bytes: &[u8]) -> Result<Joined, BundleError> {
    let (mut header, pack) = BundleHeader::read(bytes)?;
    // Bundles made by git itself contain these. Replaced refs of other machines stay there.
    header.refs.retain(|name, _| !name.starts_with("refs/old/"));
    let own = history.machine().to_owned();
    let store = history.store_mut();
    store.refresh()?;
    let mut writing = store.write()?;
    let (plan, unpacked) = {
        let store = writing.store();
        if let Some(missing) = header.needs.iter().find(|id| !store.has(id)) {
            return Err(BundleError::Needs(*missing));
        }
        let outside = |id: &Id| {
            let mut data = Vec::new();
            store.read_into(id, &mut data).ok().map(|kind| (kind, data.into()))
        };
        let unpacked = Unpacked::read(pack, &outside)?;
        let mut plan = join::plan(store, &unpacked, &own, &header.refs)?;
        if !plan.joined.refused.is_empty() {
            return Err(BundleError::Unsound(plan.joined.refused.swap_remove(0)));
        }
        (plan, unpacked)
    };
    join::apply(&mut writing, &unpacked, &plan)?;
    drop(writing);
    history.refresh()?;
    Ok(plan.joined)
}

impl ExtraObjects for Unpacked<'_> {
    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>> {
        Ok(self.object(id).map(|(kind, data)| (kind, data.to_vec())))
    }

    fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>> {
        Ok(self.header(id))
    }

    fn ids(&self) -> Vec<Id> {
        self.ids().copied().collect()
    }

    fn packs(&self) -> Result<Vec<Packed>> {
        Ok(vec![self.packed()?])
    }
}

impl BundleHeader {
    /// Reads the header of a bundle; the rest is the pack.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8]), BundleError> {
        let (mut rest, is_third) = match (bytes.strip_prefix(TITLE), bytes.strip_prefix(TITLE_3)) {
            (Some(rest), _) => (rest, false),
            (None, Some(rest)) => (rest, true),
            (None, None) => return Err(BundleError::NotABundle),
        };
        let mut header = Self::default();
        let mut is_supported = !is_third;
        loop {
            let end = memchr::memchr(b'\n', rest).ok_or(BundleError::Header)?;
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if line.is_empty() {
                return if is_supported { Ok((header, rest)) } else { Err(BundleError::Header) };
            }
            let line = std::str::from_utf8(line).map_err(|_| BundleError::Header)?;
            let id = |text: &str| Id::from_hex(text.as_bytes()).map_err(|_| BundleError::Header);
            if is_third && line.starts_with('@') {
                is_supported = line == "@object-format=sha1";
                if !is_supported {
                    return Err(BundleError::Header);
                }
            } else if let Some(need) = line.strip_prefix('-') {
                header.needs.push(id(need.split(' ').next().unwrap_or_default())?);
            } else {
                let (commit, name) = line.split_once(' ').ok_or(BundleError::Header)?;
                // What a clone checks out does not matter here.
                if name != "HEAD" && header.refs.insert(name.to_owned(), id(commit)?).is_some() {
                    return Err(BundleError::Header);
                }
            }
        }
    }

    fn write(&self) -> Vec<u8> {
        let mut text = TITLE.to_vec();
        for id in &self.needs {
            text.extend_from_slice(format!("-{id} \n").as_bytes());
        }
        for (name, id) in &self.refs {
            text.extend_from_slice(format!("{id} {name}\n").as_bytes());
        }
        text.push(b'\n');
        text
    }
}

forklore_core::diagnostics!(BundleError {
    Self::NotABundle => ("not-a-bundle"),
    Self::Header => ("bundle-damaged"),
    Self::Pack(_) => ("bundle-pack-damaged"),
    Self::Needs(id) => ("bundle-continues-another", object: id.to_string()),
    Self::Unsound(refused) => ("bundle-unsound", reference: refused.reference.as_str()),
    Self::History(error) => [error: HistoryError],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back() {
        let id = Id::from_hex(b"0123456789012345678901234567890123456789").unwrap();
        let refs = Refs::from([("refs/heads/pc/chats/a".to_owned(), id)]);
        let header = BundleHeader { needs: vec![id], refs };
        let mut bytes = header.write();
        bytes.extend_from_slice(b"PACK");
        assert_eq!(BundleHeader::read(&bytes).unwrap(), (header, &b"PACK"[..]));
        for length in 0..bytes.len() - 4 {
            assert!(BundleHeader::read(&bytes[..length]).is_err());
        }
    }
}
