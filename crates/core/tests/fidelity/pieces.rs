//! Objects assembled from pieces with known bytes.

use fastrand::Rng;
use forklore_json::{Edit, Indent, Json};
use forklore_testkit::json_text::{self, Oddities};

/// The layout of a document: one step of indentation, or empty for a single line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) unit: &'static [u8],
}

impl Layout {
    pub(crate) const ONE_LINE: Self = Self { unit: b"" };

    pub(crate) fn any(rng: &mut Rng) -> Self {
        Self { unit: [&b"    "[..], b"    ", b"", b"\t", b"  "][rng.usize(..5)] }
    }

    fn new_line(self, depth: usize) -> Vec<u8> {
        if self.unit.is_empty() {
            Vec::new()
        } else {
            [b"\n", &self.unit.repeat(depth)[..]].concat()
        }
    }

    fn colon(self) -> &'static [u8] {
        if self.unit.is_empty() { b":" } else { b": " }
    }

    fn written(self, value: &Json, depth: usize) -> Vec<u8> {
        if self.unit.is_empty() {
            value.stringify()
        } else {
            value.stringify_with(Indent::By { unit: self.unit, depth })
        }
    }
}

/// One member: whitespace, key, colon with whitespace, value, whitespace.
#[derive(Clone, Debug)]
struct Piece {
    lead: Vec<u8>,
    key: Vec<u8>,
    colon: Vec<u8>,
    value: Vec<u8>,
    trail: Vec<u8>,
    /// The key as edits name it, if they do.
    named: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(crate) struct PiecedObject {
    pieces: Vec<Piece>,
    /// The whitespace between the braces if there are no members.
    blank: Vec<u8>,
}

impl PiecedObject {
    /// An object with unusual formatting. Some of its members have `named` keys, possibly repeated.
    pub(crate) fn any(rng: &mut Rng, odd: Oddities, named: &[&'static str]) -> Self {
        let gap = |rng: &mut Rng| json_text::whitespace(rng, odd).as_bytes().to_vec();
        let blank = gap(rng);
        let pieces = (0..rng.usize(..6))
            .map(|_| {
                let (key, name) = any_key(rng, odd, named);
                Piece {
                    lead: gap(rng),
                    key,
                    colon: [gap(rng), b":".to_vec(), gap(rng)].concat(),
                    value: json_text::value(rng, odd),
                    trail: gap(rng),
                    named: name,
                }
            })
            .collect();
        Self { pieces, blank }
    }

    /// An object laid out like the output of `JSON.stringify`, but with unusually written members.
    pub(crate) fn laid_out(
        rng: &mut Rng,
        layout: Layout,
        named: &[&'static str],
        depth: usize,
    ) -> Self {
        let mut object = Self { pieces: Vec::new(), blank: Vec::new() };
        for _ in 0..rng.usize(..6) {
            let (key, name) = any_key(rng, Oddities::LINE, named);
            let value = json_text::value(rng, Oddities::LINE);
            object.pieces.push(Piece {
                lead: layout.new_line(depth + 1),
                key,
                colon: layout.colon().to_vec(),
                value,
                trail: Vec::new(),
                named: name,
            });
        }
        object.close(layout, depth);
        object
    }

    fn close(&mut self, layout: Layout, depth: usize) {
        let count = self.pieces.len();
        for (place, piece) in self.pieces.iter_mut().enumerate() {
            piece.trail = if place + 1 == count { layout.new_line(depth) } else { Vec::new() };
        }
    }

    pub(crate) fn push(&mut self, rng: &mut Rng, odd: Oddities, key: &str, value: Vec<u8>) {
        let mut gap = || json_text::whitespace(rng, odd).as_bytes().to_vec();
        self.pieces.push(Piece {
            lead: gap(),
            key: format!("\"{key}\"").into_bytes(),
            colon: [gap(), b":".to_vec(), gap()].concat(),
            value,
            trail: gap(),
            named: None,
        });
    }

    pub(crate) fn push_laid_out(
        &mut self,
        layout: Layout,
        key: &str,
        value: Vec<u8>,
        depth: usize,
    ) {
        self.pieces.push(Piece {
            lead: layout.new_line(depth + 1),
            key: format!("\"{key}\"").into_bytes(),
            colon: layout.colon().to_vec(),
            value,
            trail: Vec::new(),
            named: None,
        });
        self.close(layout, depth);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn text(&self) -> Vec<u8> {
        let inner = match self.pieces.is_empty() {
            true => self.blank.clone(),
            false => self.pieces.iter().map(Piece::text).collect::<Vec<_>>().join(&b','),
        };
        [b"{", &inner[..], b"}"].concat()
    }

    /// The object's text before and after the value of its last member.
    pub(crate) fn around_value_of_last(&self) -> (Vec<u8>, Vec<u8>) {
        let (last, earlier) = self.pieces.split_last().expect("a member was pushed");
        let mut head = b"{".to_vec();
        for piece in earlier {
            head.extend(piece.text());
            head.push(b',');
        }
        head.extend([&last.lead[..], &last.key, &last.colon].concat());
        (head, [&last.trail[..], b"}"].concat())
    }

    /// Checks that `changed` consists of `before`, this object with `changes` applied, and `after`.
    #[track_caller]
    pub(crate) fn check(
        &self,
        before: &[u8],
        after: &[u8],
        changes: &[(&str, Edit)],
        layout: Layout,
        depth: usize,
        changed: &[u8],
    ) {
        let inner = changed
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .unwrap_or_else(|| panic!("bytes outside the object changed: {}", escaped(changed)));
        let removes = changes.iter().any(|(_, change)| *change == Edit::Remove);
        let touches_removed = removes && self.pieces.iter().any(|p| is_removed(p, changes));
        let expected = self.changed(changes, layout, depth);
        if touches_removed {
            // Which whitespace disappears with a removed member is unspecified, but the other
            // members must keep their bytes.
            expected.check_members(inner);
        } else {
            assert_eq!(escaped(inner), escaped(&expected.text()), "from {}", escaped(&self.text()));
        }
    }

    /// The object after the changes, assembled from the pieces.
    fn changed(&self, changes: &[(&str, Edit)], layout: Layout, depth: usize) -> Self {
        let mut pieces = self.pieces.clone();
        pieces.retain(|piece| !is_removed(piece, changes));
        for (key, change) in changes {
            let Edit::Set(value) = change else { continue };
            let text = layout.written(value, depth + 1);
            if let Some(piece) = pieces.iter_mut().rfind(|piece| piece.named == Some(*key)) {
                piece.value = text;
                continue;
            }
            // The whitespace after the last member moves behind the new one.
            let trail = match pieces.last_mut() {
                Some(last) => std::mem::take(&mut last.trail),
                None => layout.new_line(depth),
            };
            let lead = match pieces.is_empty() {
                true => [&self.blank[..], &layout.new_line(depth + 1)].concat(),
                false => layout.new_line(depth + 1),
            };
            pieces.push(Piece {
                lead,
                key: format!("\"{key}\"").into_bytes(),
                colon: layout.colon().to_vec(),
                value: text,
                trail,
                named: None,
            });
        }
        Self { pieces, blank: self.blank.clone() }
    }

    /// Checks that `text` has every member's bytes in order, with only whitespace and commas in
    /// between.
    #[track_caller]
    fn check_members(&self, text: &[u8]) {
        let mut rest = text.strip_prefix(b"{").expect("it is an object");
        for (place, piece) in self.pieces.iter().enumerate() {
            if place > 0 {
                rest = skip(rest).strip_prefix(b",").expect("a comma between members");
            }
            let own = [&piece.key[..], &piece.colon, &piece.value].concat();
            rest = skip(rest).strip_prefix(&own[..]).unwrap_or_else(|| {
                panic!("{} is not in its place in {}", escaped(&own), escaped(text))
            });
        }
        assert_eq!(escaped(skip(rest)), "}", "in {}", escaped(text));
    }
}

impl Piece {
    fn text(&self) -> Vec<u8> {
        [&self.lead[..], &self.key, &self.colon, &self.value, &self.trail].concat()
    }
}

fn any_key(
    rng: &mut Rng,
    odd: Oddities,
    named: &[&'static str],
) -> (Vec<u8>, Option<&'static str>) {
    if !named.is_empty() && rng.u8(..3) == 0 {
        let name = named[rng.usize(..named.len())];
        // Some keys are written with an escape.
        let spelled = match rng.u8(..3) {
            0 => format!("\"\\u{:04x}{}\"", u32::from(name.as_bytes()[0]), &name[1..]),
            _ => format!("\"{name}\""),
        };
        return (spelled.into_bytes(), Some(name));
    }
    (json_text::key(rng, odd), None)
}

fn is_removed(piece: &Piece, changes: &[(&str, Edit)]) -> bool {
    changes.iter().any(|(key, change)| piece.named == Some(*key) && *change == Edit::Remove)
}

fn skip(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !b" \t\r\n".contains(byte)).unwrap_or(text.len());
    &text[start..]
}

/// Bytes as text for an error message.
fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
