use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use forklore_json::Json;
use forklore_tavern::folder::cards::{Card, CardDamage, CardError, read_card};

/// A character card: a PNG, and the document in one.
pub fn card(bytes: &[u8]) {
    let read = read_card(bytes);
    check(&read);
    let is_whole = match &read {
        Ok(card) => !card.damaged.contains(&CardDamage::CutOff),
        Err(error) => *error == CardError::NoCharacter,
    };
    if is_whole {
        let longer = [bytes, b"more"].concat();
        assert_eq!(read_card(&longer), read, "what comes after the end counts");
    }
    document(bytes);
}

fn check(read: &Result<Card, CardError>) {
    let Ok(card) = read else { return };
    assert_eq!(card.world.as_ref(), card.worlds.first());
    let mut worlds = card.worlds.clone();
    worlds.sort();
    worlds.dedup();
    assert_eq!(worlds.len(), card.worlds.len(), "a book is named twice");
    let texts = card.worlds.iter().chain(&card.chat).chain(&card.embedded_book);
    assert!(texts.into_iter().all(|text| !text.is_empty()));
}

/// The same bytes as the document in a card, so that they need not find base64 by chance.
fn document(bytes: &[u8]) {
    let text = [b"chara\0".as_slice(), BASE64_STANDARD.encode(bytes).as_bytes()].concat();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"tEXt", text.as_slice()), (b"IEND", b"")] {
        png.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
        png.extend(kind);
        png.extend(data);
        png.extend([0; 4]);
    }
    let read = read_card(&png);
    check(&read);
    let json = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_document = Json::parse(json).is_ok_and(|json| json.as_object().is_some());
    assert_eq!(read.is_ok(), is_document);
    for cut in [png.len() - 1, png.len() / 2, 9] {
        let read = read_card(&png[..cut]);
        check(&read);
        let noticed = match read {
            Ok(card) => card.damaged.contains(&CardDamage::CutOff),
            Err(error) => matches!(error, CardError::Damaged(_) | CardError::NotPng),
        };
        assert!(noticed, "a cut at {cut} was not noticed");
    }
}
