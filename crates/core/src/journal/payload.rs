//! What a record carries, as it stands in the message: plain, or deflated where that pays.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::json::{Json, Object};

/// Below this many bytes deflating costs more than it saves.
const WORTH_DEFLATING: usize = 256;

/// Higher ones take up to half as long again, and make a lorebook half a percent smaller.
const LEVEL: u8 = 4;

/// No record of a story is larger when inflated; a hostile one might be.
const LARGEST_INFLATED: usize = 512 << 20;

#[derive(Clone, Debug)]
pub(super) enum Payload {
    Plain(Json),
    /// Raw deflate in base64.
    Deflated(String),
}

impl Payload {
    pub(super) fn of(value: Json) -> Self {
        let text = value.stringify();
        let packed = (text.len() >= WORTH_DEFLATING)
            .then(|| BASE64.encode(miniz_oxide::deflate::compress_to_vec(&text, LEVEL)))
            .filter(|packed| packed.len() < text.len());
        packed.map_or(Self::Plain(value), Self::Deflated)
    }

    pub(super) fn write(&self, name: &str, into: &mut Object) {
        match self {
            Self::Plain(value) => into.insert(name, value.clone()),
            Self::Deflated(packed) => into.insert(deflated(name), packed.as_str()),
        }
    }

    pub(super) fn read(name: &str, from: &Json) -> Option<Self> {
        if let Some(plain) = from.get(name) {
            return Some(Self::Plain(plain.clone()));
        }
        let packed = from.get(&deflated(name))?;
        Some(Self::Deflated(packed.as_str().unwrap_or_default().into_owned()))
    }

    /// The JSON text; `None` where it cannot be unpacked.
    pub(super) fn text(&self) -> Option<Vec<u8>> {
        match self {
            Self::Plain(value) => Some(value.stringify()),
            Self::Deflated(packed) => {
                let packed = BASE64.decode(packed).ok()?;
                miniz_oxide::inflate::decompress_to_vec_with_limit(&packed, LARGEST_INFLATED).ok()
            }
        }
    }
}

fn deflated(name: &str) -> String {
    format!("{name}.deflated")
}
