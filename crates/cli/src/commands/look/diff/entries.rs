//! What happened to an entry, as a sign and a few words.

use std::collections::HashMap;

use forklore_core::compare::diff::{Action, ChangedBy, EntryDifference, LoreDiff};
use forklore_json::Json;
use forklore_tavern::work::compare::{BaseKnown, Comparison};

use crate::lore::side_names;
use crate::text::{Line, Style, count};

/// The names used to describe a comparison.
pub(super) struct SideLabels {
    pub(super) names: [String; 2],
    /// Whether one side descends from the other, so that all changes are the descendant's.
    is_linear: bool,
    titles: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Added,
    Removed,
    Changed,
}

impl Sign {
    pub(super) fn style(self) -> Style {
        match self {
            Self::Added => Style::Good,
            Self::Removed => Style::Bad,
            Self::Changed => Style::Note,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Changed => "~",
        }
    }
}

/// An entry's heading.
pub(super) struct Heading {
    pub(super) sign: Sign,
    pub(super) title: String,
    /// Which side did what.
    pub(super) who: String,
    /// The side that made all the changes, if only one did.
    pub(super) by: Option<ChangedBy>,
}

impl Heading {
    pub(super) fn line(&self) -> Line {
        let style = self.sign.style();
        let line = Line::new().add(style, format!("{} ", self.sign.text())).bold(&self.title);
        if self.who.is_empty() { line } else { line.dim(format!("  {}", self.who)) }
    }
}

impl SideLabels {
    pub(super) fn of(comparison: &Comparison, compared: &LoreDiff) -> Self {
        let known = &comparison.base.known;
        let names = side_names(&comparison.left, &comparison.right);
        let is_linear = matches!(known, BaseKnown::Left | BaseKnown::Right);
        Self { is_linear, ..Self::of_versions(names, compared) }
    }

    /// For two versions of one lorebook.
    pub(super) fn of_versions(names: [String; 2], compared: &LoreDiff) -> Self {
        let mut titles = HashMap::new();
        for entry in &compared.entries {
            *titles.entry(entry.title()).or_default() += 1;
        }
        Self { names, is_linear: true, titles }
    }

    /// The side that changed something, unless it is obvious.
    pub(super) fn by(&self, by: ChangedBy) -> Option<&str> {
        match by {
            ChangedBy::Left if !self.is_linear => Some(&self.names[0]),
            ChangedBy::Right if !self.is_linear => Some(&self.names[1]),
            _ => None,
        }
    }

    pub(super) fn heading(&self, entry: &EntryDifference) -> Heading {
        let [left, right] = &self.names;
        let (sign, who, by) = match (entry.left.did, entry.right.did) {
            (Action::Unknown, _) | (_, Action::Unknown) => {
                match (&entry.left.entry, &entry.right.entry) {
                    (Some(_), None) => (Sign::Removed, format!("only in {left}"), None),
                    (None, Some(_)) => (Sign::Added, format!("only in {right}"), None),
                    _ => (Sign::Changed, String::new(), Some(ChangedBy::Unknown)),
                }
            }
            (Action::Removed, Action::Changed) => {
                (Sign::Changed, format!("removed in {left}, changed in {right}"), None)
            }
            (Action::Changed, Action::Removed) => {
                (Sign::Changed, format!("changed in {left}, removed in {right}"), None)
            }
            (Action::Changed, Action::Changed) => {
                let is_disputed = entry.fields.iter().any(|field| field.by == ChangedBy::Both);
                let who = match is_disputed {
                    true => "changed in both".to_owned(),
                    // Each side changed different fields.
                    false => format!("changed in {left} and in {right}"),
                };
                (Sign::Changed, who, None)
            }
            (did, Action::Nothing) => self.one_side(did, ChangedBy::Left),
            (_, did) => self.one_side(did, ChangedBy::Right),
        };
        Heading { sign, title: self.title(entry), who, by }
    }

    fn one_side(&self, did: Action, by: ChangedBy) -> (Sign, String, Option<ChangedBy>) {
        let sign = match did {
            Action::Added => Sign::Added,
            Action::Removed => Sign::Removed,
            Action::Changed | Action::Nothing | Action::Unknown => Sign::Changed,
        };
        let who = self.by(by).map(|name| format!("{} in {name}", did.word()));
        (sign, who.unwrap_or_default(), Some(by))
    }

    /// The title, with the uid if the title is empty or not unique.
    fn title(&self, entry: &EntryDifference) -> String {
        let title = entry.title();
        let uid = entry.entry().and_then(|entry| entry.get("uid")).map(|uid| match uid {
            Json::Text(text) => text.to_string_lossy().into_owned(),
            other => String::from_utf8_lossy(&other.stringify()).into_owned(),
        });
        let uid = uid.unwrap_or_else(|| entry.key.to_string_lossy().into_owned());
        match self.titles.get(&title) {
            _ if title.trim().is_empty() => format!("(untitled, uid {uid})"),
            Some(1) => title,
            _ => format!("{title} (uid {uid})"),
        }
    }

    /// A one-line summary of the differences.
    pub(super) fn totals(&self, compared: &LoreDiff) -> String {
        let signs: Vec<Sign> =
            compared.entries.iter().map(|entry| self.heading(entry).sign).collect();
        let number = |wanted: Sign| signs.iter().filter(|sign| **sign == wanted).count();
        let is_unknown = compared.entries.iter().any(|entry| entry.left.did == Action::Unknown);
        let [left, right] = &self.names;
        let words = match is_unknown {
            true => [format!("only in {right}"), format!("only in {left}"), "different".into()],
            false => ["added", "removed", "changed"].map(str::to_owned),
        };
        let counted = [Sign::Added, Sign::Removed, Sign::Changed].map(number);
        let entries: Vec<String> = counted
            .iter()
            .zip(words)
            .filter(|(number, _)| **number > 0)
            .map(|(number, word)| format!("{number} {word}"))
            .collect();
        let mut parts = Vec::new();
        if !signs.is_empty() {
            let all = count(signs.len(), "entry", "entries");
            parts.push(format!("{all}: {}", entries.join(", ")));
        }
        let lists = [
            (&compared.book, "field of the lorebook", "fields of the lorebook"),
            (&compared.recap, "recap", "recaps"),
            (&compared.variables, "variable", "variables"),
            (&compared.other, "other difference", "other differences"),
        ];
        for (list, one, many) in lists.iter().filter(|(list, _, _)| !list.is_empty()) {
            parts.push(count(list.len(), one, many));
        }
        parts.join("; ")
    }
}
