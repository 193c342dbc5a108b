//! Changes within a text. People and extensions mostly append to a text, or change one spot in it.

use forklore_json::{JsText, Json};

/// The least number of unchanged bytes for which a splice is worth it.
const WORTH_SPLICING: usize = 24;

/// Splices that are applied in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Splices(Vec<Splice>);

/// Replaces everything between the first `start` bytes and the last `end` bytes with `text`.
#[derive(Clone, Debug, PartialEq)]
struct Splice {
    start: usize,
    text: JsText,
    end: usize,
}

impl Splices {
    /// `None` if the texts have too little in common.
    pub(super) fn between(before: &JsText, after: &JsText) -> Option<Self> {
        let (from, to) = (before.as_bytes(), after.as_bytes());
        let same = from.iter().zip(to).take_while(|(one, other)| one == other).count();
        let start = (0..=same).rev().find(|&at| is_boundary(from, at) && is_boundary(to, at))?;
        let rest = from[start..].iter().rev().zip(to[start..].iter().rev());
        let same = rest.take_while(|(one, other)| one == other).count();
        let end = (0..=same).rev().find(|&end| is_boundary(to, to.len() - end))?;
        let text = after.part(start..to.len() - end);
        (start + end >= WORTH_SPLICING).then(|| Self(vec![Splice { start, text, end }]))
    }

    /// `None` if the splices do not fit `text`.
    pub(super) fn apply(&self, text: &JsText) -> Option<JsText> {
        self.0.iter().try_fold(text.clone(), |text, splice| splice.apply(&text))
    }

    pub(super) fn then(&self, later: &Self) -> Self {
        Self(self.0.iter().chain(&later.0).cloned().collect())
    }

    pub(super) fn to_json(&self) -> Json {
        let numbers = |splice: &Splice| {
            [splice.start.into(), Json::Text(splice.text.clone()), splice.end.into()]
        };
        Json::Array(self.0.iter().flat_map(numbers).collect())
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        let splices = json.as_array()?.chunks(3).map(|splice| match splice {
            [start, Json::Text(text), end] => {
                Some(Splice { start: start.as_usize()?, text: text.clone(), end: end.as_usize()? })
            }
            _ => None,
        });
        splices.collect::<Option<_>>().map(Self)
    }
}

impl Splice {
    fn apply(&self, text: &JsText) -> Option<JsText> {
        let bytes = text.as_bytes();
        let end = bytes.len().checked_sub(self.end)?;
        if self.start > end || !is_boundary(bytes, self.start) || !is_boundary(bytes, end) {
            return None;
        }
        let start = text.part(0..self.start).followed_by(&self.text);
        Some(start.followed_by(&text.part(end..bytes.len())))
    }
}

/// Whether this byte starts a character, or is past the end.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> JsText {
        match Json::parse(json.as_bytes()).unwrap() {
            Json::Text(text) => text,
            _ => panic!("{json}"),
        }
    }

    #[test]
    fn a_text_that_changed_in_one_place_is_spliced_there() {
        let before = JsText::from("The captain of the Gull drinks rum.");
        let after = JsText::from("The captain of the Gull never drinks rum.");
        let splices = Splices::between(&before, &after).unwrap();
        assert_eq!(splices.to_json().stringify(), br#"[24,"never ",11]"#);
        assert_eq!(splices.apply(&before), Some(after));
        assert_eq!(Splices::between(&before, &JsText::from("The captive drinks rum.")), None);
    }

    #[test]
    fn characters_are_not_cut_in_two() {
        let long = "x".repeat(30);
        let ends = [
            "é", "è", "😀", "😁", r"\ud83d", r"\ude00", r"\ude01", "", "a", "aa", "é😀", r"\ude00a",
        ];
        let texts: Vec<JsText> = ends
            .iter()
            .flat_map(|end| [format!(r#""{long}{end}""#), format!(r#""{end}{long}""#)])
            .map(|json| text(&json))
            .collect();
        for before in &texts {
            for after in &texts {
                let Some(splices) = Splices::between(before, after) else { continue };
                assert_eq!(splices.apply(before).as_ref(), Some(after), "{before:?} {after:?}");
                let written = Json::parse(&splices.to_json().stringify()).unwrap();
                assert_eq!(Splices::from_json(&written), Some(splices));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_applied() {
        let splices = |json: &str| Splices::from_json(&Json::parse(json.as_bytes()).unwrap());
        assert_eq!(splices(r#"[3,"x",0]"#).unwrap().apply(&JsText::from("ab")), None);
        assert_eq!(splices(r#"[2,"x",2]"#).unwrap().apply(&JsText::from("abc")), None);
        assert_eq!(splices(r#"[1,"x",0]"#).unwrap().apply(&JsText::from("é")), None);
        for json in [r#"[1,"x"]"#, r#"[1,2,3]"#, r#"["x",1,1]"#, r#"[-1,"x",0]"#, r#"{}"#] {
            assert_eq!(splices(json), None, "{json}");
        }
    }
}
