use forklore_history::exchange::bundle::BundleHeader;

use super::shared::{take_in, with_checksum};

/// A bundle, as it is and with a pack whose checksum agrees.
pub(crate) fn bundle(bytes: &[u8]) {
    take_in(bytes);
    let Ok((header, pack)) = BundleHeader::read(bytes) else { return };
    let again = BundleHeader::read(bytes).expect("it was read before");
    assert_eq!((&header, pack), (&again.0, again.1));
    let body = pack.len().saturating_sub(20);
    for body in [pack, &pack[..body]] {
        let start = &bytes[..bytes.len() - pack.len()];
        take_in(&[start, &with_checksum(body)].concat());
    }
}
