//! Apparent losses, reported as soon as they are recorded.

use std::collections::BTreeSet;

use forklore_history::HistoryError;
use forklore_history::query::lookup::Finder;
use forklore_history::record::recorder::Recorded;
use forklore_history::record::scan::home;
use forklore_history::version::commit::Origin;
use forklore_history::version::history::History;
use forklore_tavern::work::tavern::Tavern;

use super::gone::{self, GoneUser};
use super::ways_back;
use crate::json::Json;
use crate::text::{Line, Style};
use crate::ui::Ui;

/// An apparent loss that should be reported at once.
pub(crate) struct Alarm {
    /// The file, or empty if several files are affected.
    name: String,
    words: String,
    kept_note: &'static str,
    hint: String,
    pub(crate) json: Option<Json>,
}

/// The apparent losses among the versions just recorded.
pub(crate) fn alarms(
    tavern: &Tavern<'_>,
    history: &History<'_>,
    recorded: &[Recorded],
) -> Result<Vec<Alarm>, HistoryError> {
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let mut alarms = Vec::new();
    for loss in recorded.iter().filter(|recorded| recorded.stored.version.collapse.is_some()) {
        let version = &loss.stored.version;
        let lineage = history.lineages().get(&loss.reference);
        let name = lineage.map_or_else(|| version.file.label(), |lineage| finder.name_of(lineage));
        let hint = loss.pinned.map(|good| {
            format!(
                "{} brings it back.",
                ways_back::restore_command(tavern, &name, &version.file, good)
            )
        });
        alarms.push(Alarm {
            name: version.file.label(),
            words: version.words.clone(),
            kept_note: "the version before it is kept",
            hint: hint.unwrap_or_default(),
            json: None,
        });
    }
    let deleted = recorded.iter().filter(|recorded| recorded.stored.version.why == Origin::Deleted);
    let deleted: BTreeSet<&str> = deleted.map(|recorded| &*recorded.reference).collect();
    if deleted.is_empty() {
        return Ok(alarms);
    }
    for vanished in history.vanished(&[], &|name| gone::is_there(tavern, name))? {
        if vanished.files.iter().any(|file| deleted.contains(&*file.reference)) {
            let is_one = vanished.files.len() == 1;
            alarms.push(Alarm {
                name: String::new(),
                words: vanished.words(),
                kept_note: if is_one { "its versions are kept" } else { "their versions are kept" },
                hint: gone::hint(&finder, &vanished),
                json: Some(gone::to_json(&finder, &vanished)),
            });
        }
    }
    Ok(alarms)
}

impl Alarm {
    /// The folder of a user is gone.
    pub(crate) fn of_user(gone: &GoneUser) -> Self {
        Self {
            name: String::new(),
            words: gone.text.clone(),
            kept_note: "what was recorded of them is kept",
            hint: gone.hint(),
            json: Some(gone.to_json()),
        }
    }

    /// `whose` names the user, where there are several.
    pub(crate) fn say(&self, ui: &mut Ui<'_>, whose: &str) {
        let mut line = Line::new().add(Style::Bad, "  ! ").plain(whose);
        if !self.name.is_empty() {
            line = line.bold(&self.name).plain(": ");
        }
        let kept = self.kept_note;
        ui.note(line.plain(&self.words).plain(format!(". This looks like a loss; {kept}.")));
        if !self.hint.is_empty() {
            ui.note(Line::new().add(Style::Good, "    Hint: ").plain(&self.hint));
        }
    }

    /// The alarm as JSON members.
    pub(crate) fn members(&self, ui: &Ui<'_>) -> [(&'static str, Json); 4] {
        [
            ("name", Json::from(Some(self.name.as_str()).filter(|name| !name.is_empty()))),
            ("text", Json::from(self.words.as_str())),
            ("hint", Json::from(ui.pasteable(&self.hint))),
            ("gone", Json::from(self.json.clone())),
        ]
    }

    /// A title and a text for a notification.
    pub(crate) fn notice(&self, whose: &str) -> (String, String) {
        let (words, kept) = (format!("{whose}{}", self.words), self.kept_note);
        match self.name.is_empty() {
            true => ("This looks like a loss".to_owned(), format!("{words}; {kept}.")),
            false => {
                (format!("This looks like a loss: {}", self.name), format!("{words}; {kept}."))
            }
        }
    }
}
