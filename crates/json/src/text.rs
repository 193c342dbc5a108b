//! A JavaScript string: any sequence of UTF-16 code units, including lone surrogates.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// Stored as WTF-8: UTF-8, extended by the three-byte encoding of lone surrogates. A surrogate
/// pair is always stored as one four-byte character, so equal strings have equal bytes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsText(Vec<u8>);

impl JsText {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A substring by byte range, which must not split a character.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self(self.0[range].to_vec())
    }

    /// Appends `other`, which must be another part of the same text: surrogates at the seam are not
    /// joined into a pair.
    pub fn followed_by(mut self, other: &Self) -> Self {
        self.0.extend_from_slice(&other.0);
        self
    }

    /// The text with U+FFFD in place of lone surrogates.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match core::str::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(String::from_utf16_lossy(&self.utf16())),
        }
    }

    pub fn utf16(&self) -> Vec<u16> {
        let mut units = Vec::with_capacity(self.0.len());
        let mut rest = &self.0[..];
        while !rest.is_empty() {
            match core::str::from_utf8(rest) {
                Ok(text) => {
                    units.extend(text.encode_utf16());
                    break;
                }
                Err(error) => {
                    let (text, surrogate) = rest.split_at(error.valid_up_to());
                    if let Ok(text) = core::str::from_utf8(text) {
                        units.extend(text.encode_utf16());
                    }
                    units.push(
                        0xD000
                            | u16::from(surrogate[1] & 0x3F) << 6
                            | u16::from(surrogate[2] & 0x3F),
                    );
                    rest = &surrogate[3..];
                }
            }
        }
        units
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Appends a surrogate. Joins it with the preceding one if the two form a pair.
    pub(super) fn push_surrogate(&mut self, unit: u16) {
        let length = self.0.len();
        let before = length.checked_sub(3).map(|at| [self.0[at], self.0[at + 1], self.0[at + 2]]);
        if let Some([0xED, second @ 0xA0..=0xAF, third]) = before
            && (0xDC00..=0xDFFF).contains(&unit)
        {
            let high = 0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F);
            if let Some(Ok(joined)) = char::decode_utf16([high, unit]).next() {
                self.0.truncate(length - 3);
                self.push_str(joined.encode_utf8(&mut [0; 4]));
                return;
            }
        }
        let low_bits = |shift: u16| (unit >> shift) as u8 & 0x3F;
        self.0.extend_from_slice(&[0xED, 0x80 | low_bits(6), 0x80 | low_bits(0)]);
    }
}

impl From<&str> for JsText {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for JsText {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl PartialEq<str> for JsText {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Debug for JsText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), formatter)
    }
}
