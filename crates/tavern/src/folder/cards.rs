//! Character cards: a JSON document inside a PNG.
//!
//! Reads only the references to chats and books. Cards come from untrusted sources, so every length
//! is checked and no input causes a panic.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use forklore_json::Json;

/// A card's references to chats and books.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    pub name: String,
    /// The chat that opens with the character. A raw name, not a file name.
    pub chat: Option<String>,
    /// The book that SillyTavern uses with the character.
    pub world: Option<String>,
    /// The book embedded in the card. Not a link: nothing follows it.
    pub embedded_book: Option<String>,
    /// Every book named by any of the card's documents, including `world`. A card can hold two
    /// documents, written by different programs, and either may come into effect again.
    pub worlds: Vec<String>,
    /// Documents that could not be read and may name a book.
    pub damaged: Vec<CardDamage>,
}

/// Nothing could be read from a card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    #[error("it is not a PNG")]
    NotPng,
    /// A plain picture.
    #[error("there is no character in it")]
    NoCharacter,
    #[error("the character in it cannot be read: {0}")]
    Damaged(CardDamage),
}

/// Damage to part of a card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardDamage {
    #[error("the file ends early")]
    CutOff,
    #[error("`{keyword}` is not base64")]
    NotBase64 { keyword: String },
    #[error("`{keyword}` is not a JSON object")]
    NotJson { keyword: String },
}

/// Reads a card. If both formats are present, the later one (`ccv3`) takes precedence, as in
/// SillyTavern.
pub fn read_card(png: &[u8]) -> Result<Card, CardError> {
    let mut chunks = png.strip_prefix(SIGNATURE).ok_or(CardError::NotPng)?;
    let mut documents: Vec<(Format, Json)> = Vec::new();
    let mut damaged = Vec::new();

    loop {
        let Some((kind, data, rest)) = next_chunk(chunks) else {
            damaged.push(CardDamage::CutOff);
            break;
        };
        if kind == b"tEXt"
            && let Some((format, text)) = document_in(data)
        {
            match decode(format, text) {
                Ok(document) => documents.push((format, document)),
                Err(damage) => damaged.push(damage),
            }
        }
        if kind == b"IEND" {
            break;
        }
        chunks = rest;
    }

    // A stable sort: of two documents in the same format, the first stays first.
    documents.sort_by_key(|(format, _)| *format);
    if documents.is_empty() {
        return Err(damaged.into_iter().next().map_or(CardError::NoCharacter, CardError::Damaged));
    }
    let first = |path: &[&str]| documents.iter().find_map(|(_, document)| text_at(document, path));
    let mut worlds = Vec::new();
    for (_, document) in &documents {
        let world = text_at(document, &["data", "extensions", "world"]);
        worlds.extend(world.filter(|world| !worlds.contains(world)));
    }
    Ok(Card {
        name: first(&["data", "name"]).or_else(|| first(&["name"])).unwrap_or_default(),
        chat: first(&["chat"]),
        world: worlds.first().cloned(),
        embedded_book: first(&["data", "character_book", "name"]),
        worlds,
        damaged,
    })
}

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// In order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Format {
    Ccv3,
    Chara,
}

impl Format {
    fn keyword(self) -> &'static str {
        match self {
            Format::Ccv3 => "ccv3",
            Format::Chara => "chara",
        }
    }
}

/// Returns the type and data of the first chunk, and the remaining bytes. The checksum is not
/// verified: rejecting a chunk would only hide references.
fn next_chunk(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, bytes) = bytes.split_first_chunk::<4>()?;
    let (kind, bytes) = bytes.split_at_checked(4)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (data, bytes) = bytes.split_at_checked(length)?;
    let (_check_sum, rest) = bytes.split_at_checked(4)?;
    Some((kind, data, rest))
}

fn document_in(data: &[u8]) -> Option<(Format, &[u8])> {
    let end = data.iter().position(|&byte| byte == 0)?;
    let (keyword, text) = (&data[..end], &data[end + 1..]);
    let format = [Format::Ccv3, Format::Chara]
        .into_iter()
        .find(|format| keyword.eq_ignore_ascii_case(format.keyword().as_bytes()))?;
    Some((format, text))
}

fn decode(format: Format, text: &[u8]) -> Result<Json, CardDamage> {
    let keyword = || format.keyword().to_owned();
    // As lenient as SillyTavern's decoder, which stops at the padding and skips characters outside
    // the alphabet.
    let text: Vec<u8> = text
        .iter()
        .copied()
        .take_while(|&byte| byte != b'=')
        .filter_map(|byte| match byte {
            b'-' => Some(b'+'),
            b'_' => Some(b'/'),
            b'+' | b'/' => Some(byte),
            _ => byte.is_ascii_alphanumeric().then_some(byte),
        })
        .collect();
    let json = LENIENT.decode(&text).map_err(|_| CardDamage::NotBase64 { keyword: keyword() })?;
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&json);
    match Json::parse(json) {
        Ok(document @ Json::Object(_)) => Ok(document),
        _ => Err(CardDamage::NotJson { keyword: keyword() }),
    }
}

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

fn text_at(document: &Json, path: &[&str]) -> Option<String> {
    let text = document.at(path)?.as_str()?;
    (!text.is_empty()).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::BASE64_STANDARD;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length, &kind[..], data, b"crc!"].concat()
    }

    fn document(keyword: &str, json: &str) -> Vec<u8> {
        let text = format!("{keyword}\0{}", BASE64_STANDARD.encode(json));
        chunk(b"tEXt", text.as_bytes())
    }

    fn png(chunks: &[Vec<u8>]) -> Vec<u8> {
        let mut png = SIGNATURE.to_vec();
        png.extend(chunk(b"IHDR", &[0; 13]));
        png.extend(chunks.concat());
        png.extend(chunk(b"IEND", b""));
        png
    }

    fn v2(world: &str) -> String {
        format!(
            r#"{{"name":"Alice","chat":"Alice - 1","data":{{"name":"Alice","extensions":{{"world":"{world}"}}}}}}"#
        )
    }

    #[track_caller]
    fn check(chunks: &[Vec<u8>], expected: Result<Card, CardError>) {
        assert_eq!(read_card(&png(chunks)), expected);
    }

    fn alice(worlds: &[&str]) -> Card {
        let worlds: Vec<_> = worlds.iter().map(ToString::to_string).collect();
        Card {
            name: "Alice".into(),
            chat: Some("Alice - 1".into()),
            world: worlds.first().cloned(),
            worlds,
            ..Card::default()
        }
    }

    #[test]
    fn an_old_card_has_a_name_and_a_chat() {
        let v1 = r#"{"name":"Alice","chat":"Alice - 1"}"#;
        check(&[document("chara", v1)], Ok(alice(&[])));
    }

    #[test]
    fn a_card_names_its_book_and_the_copy_in_it() {
        let json = r#"{"name":"Alice","chat":"Alice - 1","data":{"extensions":{"world":"Lore"},
            "character_book":{"name":"Lore of Alice","entries":[]}}}"#;
        let expected = Card { embedded_book: Some("Lore of Alice".into()), ..alice(&["Lore"]) };
        check(&[document("chara", json)], Ok(expected));
        check(&[document("Chara", &v2(""))], Ok(alice(&[])));
    }

    #[test]
    fn the_later_format_has_the_say_but_either_counts() {
        let (old, new) = (document("chara", &v2("Old")), document("ccv3", &v2("New")));
        check(&[old.clone(), new.clone()], Ok(alice(&["New", "Old"])));
        check(&[new.clone(), old.clone()], Ok(alice(&["New", "Old"])));
        check(&[old, document("ccv3", &v2("Old"))], Ok(alice(&["Old"])));
        check(&[new, document("ccv3", &v2("Hidden"))], Ok(alice(&["New", "Hidden"])));
    }

    #[test]
    fn a_damaged_document_beside_a_good_one_is_reported() {
        let damage = CardDamage::NotJson { keyword: "ccv3".into() };
        let expected = Card { damaged: vec![damage.clone()], ..alice(&["Lore"]) };
        let (good, bad) = (document("chara", &v2("Lore")), document("ccv3", "[1]"));
        check(&[bad.clone(), good], Ok(expected));
        check(&[bad], Err(CardError::Damaged(damage)));
        let one_letter = chunk(b"tEXt", b"chara\0A");
        let damage = CardDamage::NotBase64 { keyword: "chara".into() };
        check(&[one_letter], Err(CardError::Damaged(damage)));
    }

    #[test]
    fn pictures_and_other_files_are_told_apart() {
        check(
            &[chunk(b"tEXt", b"Comment\0hello"), chunk(b"tEXt", b"chara")],
            Err(CardError::NoCharacter),
        );
        assert_eq!(read_card(b""), Err(CardError::NotPng));
        assert_eq!(read_card(b"GIF89a"), Err(CardError::NotPng));
    }

    #[test]
    fn base64_is_read_as_leniently_as_sillytavern_does() {
        let json = r#"{"name":"Alice","chat":"Alice - 1","x":"???>>>"}"#;
        let strict = BASE64_STANDARD.encode(json);
        let wrapped: String = strict.chars().flat_map(|c| [c, '\n']).collect();
        let url_safe = strict.replace('+', "-").replace('/', "_");
        assert_ne!(url_safe, strict);
        for text in [wrapped, url_safe, strict.trim_end_matches('=').to_owned()] {
            let text = format!("chara\0{text}");
            check(&[chunk(b"tEXt", text.as_bytes())], Ok(alice(&[])));
        }
    }

    #[test]
    fn bits_after_the_last_byte_are_passed_over() {
        // `fQ` decodes to a closing brace; so does `fR`, which has one extra bit set.
        let text = format!("chara\0{}fR==", BASE64_STANDARD.encode(r#"{"name":"Ada!" "#));
        let expected = Card { name: "Ada!".into(), ..Card::default() };
        check(&[chunk(b"tEXt", text.as_bytes())], Ok(expected));
    }

    /// Whatever the length fields say, and wherever the file ends.
    #[test]
    fn every_cut_is_noticed_and_no_changed_byte_makes_it_panic() {
        let whole = png(&[document("chara", &v2("Lore")), document("ccv3", &v2("New"))]);
        for end in 0..whole.len() {
            let damaged = match read_card(&whole[..end]) {
                Ok(card) => card.damaged,
                Err(CardError::NotPng) => continue,
                Err(CardError::Damaged(damage)) => vec![damage],
                Err(CardError::NoCharacter) => panic!("a cut at {end} was not noticed"),
            };
            assert_eq!(damaged, [CardDamage::CutOff], "cut at {end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = read_card(&changed);
            }
        }
    }
}
