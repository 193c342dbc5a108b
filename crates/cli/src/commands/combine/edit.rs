//! Conflicts as a text to edit, and the choices read back from it.

use std::ffi::OsStr;

use forklore_core::plan::merge::{Choice, Conflict, Pick};
use forklore_json::Json;

use super::conflicts::title;
use super::editor::edit_text;
use crate::error::CommandError;
use crate::lore::field_name;
use crate::objection::Objection;
use crate::text::sanitize;

/// Lets the user settle conflicts in an editor. `names` are those of our side and theirs.
pub(super) fn settle(
    conflicts: &[&Conflict],
    names: &[String; 2],
    editor: Option<&OsStr>,
) -> Result<Vec<(Conflict, Choice)>, CommandError> {
    let sheet = Sheet::of(conflicts);
    let text = edit_text(editor, &sheet.render(names))?;
    let choices = sheet.parse(&text)?;
    Ok(conflicts.iter().map(|conflict| (*conflict).clone()).zip(choices).collect())
}

/// The text given to the editor.
struct Sheet<'c> {
    conflicts: Vec<SheetConflict<'c>>,
    /// The length of a marker: longer than any similar run in the texts.
    length: usize,
}

struct SheetConflict<'c> {
    conflict: &'c Conflict,
    sides: [String; 2],
}

const MARKERS: [char; 4] = ['#', '<', '=', '>'];

impl<'c> Sheet<'c> {
    fn of(conflicts: &[&'c Conflict]) -> Self {
        let conflicts: Vec<SheetConflict<'_>> = conflicts
            .iter()
            .map(|conflict| SheetConflict { conflict, sides: sides(conflict) })
            .collect();
        let lines = || conflicts.iter().flat_map(|it| &it.sides).flat_map(|side| side.lines());
        let run = |line: &str, sign: char| line.chars().take_while(|c| *c == sign).count();
        let longest_run = lines().flat_map(|line| MARKERS.map(|sign| run(line, sign))).max();
        let length = longest_run.map_or(7, |longest_run| (longest_run + 1).max(7));
        Self { conflicts, length }
    }

    fn mark(&self, sign: char) -> String {
        sign.to_string().repeat(self.length)
    }

    fn heading(&self, number: usize) -> String {
        format!("{} {number}.", self.mark('#'))
    }

    fn render(&self, names: &[String; 2]) -> String {
        let [ours, theirs] = names.each_ref().map(|name| sanitize(name));
        let [open, middle, close] = ['<', '=', '>'].map(|sign| self.mark(sign));
        let mut text = format!(
            "Resolve each conflict: leave the text you want, and remove the other one and the\n\
             three marker lines ({open}, {middle}, {close}). Leave the headings ({}).\n\
             To give up, leave the markers in. Anything above the first heading is ignored.\n",
            self.mark('#')
        );
        for (at, SheetConflict { conflict, sides: [one, other] }) in
            self.conflicts.iter().enumerate()
        {
            let heading = self.heading(at + 1);
            let what = sanitize(&format!("{}: {}", title(conflict), describe(conflict)));
            text += &format!(
                "\n{heading} {what}\n{open} ours: {ours}\n{one}\n{middle}\n{other}\n{close} theirs: {theirs}\n"
            );
        }
        text
    }

    fn parse(&self, text: &str) -> Result<Vec<Choice>, CommandError> {
        let mut choices = Vec::new();
        let mut bodies: Vec<Option<Vec<&str>>> = vec![None; self.conflicts.len()];
        let mut at = None;
        for line in text.lines() {
            let heading = (0..bodies.len()).find(|at| line.starts_with(&self.heading(at + 1)));
            if heading.is_some() {
                at = heading;
            }
            let Some(body) = at.and_then(|at| bodies.get_mut(at)) else { continue };
            match body {
                _ if heading.is_some() => *body = Some(Vec::new()),
                Some(lines) => lines.push(line),
                None => {}
            }
        }
        for (at, (shown, body)) in self.conflicts.iter().zip(bodies).enumerate() {
            let number = at + 1;
            let Some(body) = body else {
                return Err(unsettled(format!("the heading of conflict {number} is missing")));
            };
            let marks = ['<', '=', '>'].map(|sign| self.mark(sign));
            if body.iter().any(|line| marks.iter().any(|mark| line.starts_with(mark))) {
                return Err(unsettled(format!("conflict {number} still has its markers")));
            }
            // The empty line before the next heading is part of the format, not of the text.
            let is_last = number == self.conflicts.len();
            let body = match body.split_last() {
                Some((last, rest)) if last.is_empty() && !is_last => rest,
                _ => &body[..],
            };
            choices.push(shown.choice(&body.join("\n"), number)?);
        }
        Ok(choices)
    }
}

impl SheetConflict<'_> {
    fn choice(&self, body: &str, number: usize) -> Result<Choice, CommandError> {
        let [ours, theirs] = &self.sides;
        if body == ours {
            return Ok(Choice::Take(Pick::Ours));
        }
        if body == theirs {
            return Ok(Choice::Take(Pick::Theirs));
        }
        if self.conflict.about.field().is_none() {
            let choice = format!("conflict {number} is neither {ours:?} nor {theirs:?}");
            return Err(unsettled(choice));
        }
        if is_text(self.conflict) {
            return Ok(Choice::Value(body.into()));
        }
        let value = Json::parse(body.trim().as_bytes());
        value
            .map(Choice::Value)
            .map_err(|error| unsettled(format!("conflict {number} is not valid JSON now: {error}")))
    }
}

fn unsettled(why: String) -> CommandError {
    CommandError::new(Objection::EditedWrongly(why))
}

fn describe(conflict: &Conflict) -> String {
    match conflict.about.field() {
        Some(field) if is_text(conflict) => field_name(field),
        Some(field) => format!("{} (as JSON)", field_name(field)),
        None => "removed on one side, changed on the other".to_owned(),
    }
}

fn is_text(conflict: &Conflict) -> bool {
    let sides = [&conflict.ours, &conflict.theirs];
    sides.iter().all(|side| matches!(side, Some(Json::Text(_)) | None))
}

/// Both sides as text. A whole entry is either "kept" or "removed".
fn sides(conflict: &Conflict) -> [String; 2] {
    let is_whole = conflict.about.field().is_none();
    let is_text = is_text(conflict);
    [&conflict.ours, &conflict.theirs].map(|side| match side {
        None if is_whole => "removed".to_owned(),
        Some(_) if is_whole => "kept".to_owned(),
        None => "(not set)".to_owned(),
        Some(Json::Text(text)) if is_text => text.to_string_lossy().into_owned(),
        Some(value) => String::from_utf8_lossy(&value.stringify()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use forklore_core::plan::merge::ConflictKind;

    use super::*;

    fn conflict(field: &str, ours: Json, theirs: Json) -> Conflict {
        Conflict {
            key: Some("0".into()),
            title: "Mara".into(),
            about: ConflictKind::Field(field.into()),
            base: None,
            ours: Some(ours),
            theirs: Some(theirs),
            settled: None,
        }
    }

    fn names() -> [String; 2] {
        ["Alice/One".into(), "Alice/Other".into()]
    }

    /// Keeps their side of every conflict, as a person would by deleting lines.
    fn keep_theirs(text: &str) -> String {
        let mut kept = String::new();
        let mut is_ours = false;
        for line in text.lines() {
            match line {
                line if line.starts_with("<<<<<<<") => is_ours = true,
                line if line.starts_with("=======") => is_ours = false,
                line if line.starts_with(">>>>>>>") => {}
                line if !is_ours => kept += &format!("{line}\n"),
                _ => {}
            }
        }
        kept
    }

    #[test]
    fn what_is_left_of_the_two_is_chosen() {
        let one = conflict("content", "a\n\nb\n".into(), "c\n".into());
        let other = conflict("order", 1_i64.into(), 2_i64.into());
        let sheet = Sheet::of(&[&one, &other]);
        let text = sheet.render(&names());
        assert_eq!(
            sheet.parse(&keep_theirs(&text)).unwrap(),
            [Choice::Take(Pick::Theirs), Choice::Take(Pick::Theirs)]
        );
        let own = "####### 1. Mara\nmy own\n\nwords\n\n####### 2. Mara\n[3]\n";
        assert_eq!(
            sheet.parse(own).unwrap(),
            [Choice::Value("my own\n\nwords".into()), Choice::Value(vec![3_i64].into())]
        );
    }

    #[test]
    fn marks_headings_and_nonsense_are_refused() {
        let one = conflict("order", 1_i64.into(), 2_i64.into());
        let sheet = Sheet::of(&[&one]);
        let refused = |text: &str| sheet.parse(text).unwrap_err().to_line().into_bytes();
        let says = |text: &str, words: &str| {
            let refused = String::from_utf8(refused(text)).unwrap();
            assert!(refused.contains(words), "{refused}");
        };
        says(&sheet.render(&names()), "still has its markers");
        says("nothing at all", "the heading of conflict 1 is missing");
        says("####### 1. Mara\nnine\n", "not valid JSON");
    }

    #[test]
    fn lore_that_looks_like_marks_is_lore() {
        let one = conflict("content", "=======\n####### 1. x".into(), ">>>>>>>>>".into());
        let sheet = Sheet::of(&[&one]);
        assert_eq!(sheet.length, 10);
        let text = format!("{} 1. Mara\n=======\n>>>>>>>>>\n", sheet.mark('#'));
        assert_eq!(sheet.parse(&text).unwrap(), [Choice::Value("=======\n>>>>>>>>>".into())]);
    }
}
