//! The payload of a record as stored in the message: plain, or deflated if that is smaller.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use forklore_json::{Json, Object};

/// Payloads smaller than this, in bytes, are not worth deflating.
const WORTH_DEFLATING: usize = 256;

/// The compression level. Higher levels take up to 50% longer and make a lorebook only half a
/// percent smaller.
const LEVEL: u8 = 4;

/// The limit on the inflated size of one payload. Real ones are smaller; a hostile one might not
/// be.
const LARGEST_INFLATED: usize = 24 << 20;

/// The limit on the inflated size of all payloads of one chat.
const MOST_INFLATED: usize = 4 * LARGEST_INFLATED;

/// How many more bytes may be inflated for one chat.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicUsize>);

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(MOST_INFLATED)))
    }
}

#[derive(Clone, Debug)]
pub(super) enum Payload {
    Plain(Json),
    /// Raw deflate in base64.
    Deflated(String, Budget),
}

impl Payload {
    pub(super) fn of(value: Json) -> Self {
        let text = value.stringify();
        let packed = (text.len() >= WORTH_DEFLATING)
            .then(|| BASE64.encode(miniz_oxide::deflate::compress_to_vec(&text, LEVEL)))
            .filter(|packed| packed.len() < text.len());
        packed.map_or(Self::Plain(value), |packed| Self::Deflated(packed, Budget::default()))
    }

    pub(super) fn write(&self, name: &str, into: &mut Object) {
        match self {
            Self::Plain(value) => into.insert(name, value.clone()),
            Self::Deflated(packed, _) => into.insert(deflated(name), packed.as_str()),
        }
    }

    pub(super) fn read(name: &str, from: &Json, budget: &Budget) -> Option<Self> {
        if let Some(plain) = from.get(name) {
            return Some(Self::Plain(plain.clone()));
        }
        let packed = from.get(&deflated(name))?;
        Some(Self::Deflated(packed.as_str().unwrap_or_default().into_owned(), budget.clone()))
    }

    /// The JSON text; `None` if it cannot be unpacked.
    pub(super) fn text(&self) -> Option<Vec<u8>> {
        match self {
            Self::Plain(value) => Some(value.stringify()),
            Self::Deflated(packed, Budget(left)) => {
                let packed = BASE64.decode(packed).ok()?;
                let most = left.load(Ordering::Relaxed).min(LARGEST_INFLATED);
                let text = miniz_oxide::inflate::decompress_to_vec_with_limit(&packed, most);
                let spent = text.as_ref().map_or(most, Vec::len);
                left.store(left.load(Ordering::Relaxed).saturating_sub(spent), Ordering::Relaxed);
                text.ok()
            }
        }
    }
}

fn deflated(name: &str) -> String {
    format!("{name}.deflated")
}
