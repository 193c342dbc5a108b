//! `forklore tree`

use std::collections::{BTreeMap, HashMap};

use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::names::folded;
use forklore_core::timeline::family::{Home, Parentage, TimelineKind, common_prefix};
use forklore_tavern::folder::library::Library;
use forklore_tavern::folder::similar_names::like;
use forklore_tavern::work::tavern::Tavern;
use forklore_tavern::work::verify::{CheckedTimeline, Verified};

use super::timelines::answer;
use crate::args::TreeArgs;
use crate::commands::Outcome;
use crate::error::{CommandError, did_you_mean};
use crate::exit::Exit;
use crate::objection::Objection;
use crate::text::{Line, Style, count, padded, width};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &TreeArgs) -> Outcome {
    let library = tavern.library();
    let title = |home: &Home| title_of(&library, home);
    let wanted = |home: &Home| match &args.character {
        None => true,
        Some(name) => {
            folded(&title(home)) == folded(name)
                || folded(&own_name(&library, home)) == folded(name)
        }
    };
    if let Some(name) = &args.character
        && !library.chats.iter().any(|chat| wanted(&chat.home))
    {
        let mut names: Vec<String> = library.chats.iter().map(|chat| title(&chat.home)).collect();
        names.sort();
        names.dedup();
        let meant = like(name, names.iter().cloned());
        let hint = match meant.is_empty() {
            true => format!("Choose one of: {}", names.join(", ")),
            false => did_you_mean(&meant),
        };
        return Err(CommandError::new(Objection::UnknownOwner(name.clone())).hinted(hint));
    }
    let mut verified = {
        let progress = ui.progress(library.chats.len(), "Reading");
        tavern.verify(&library, |chat| wanted(&chat.home), &|| progress.tick())
    };
    find_fork_points(tavern, &mut verified);

    let mut homes: BTreeMap<String, Vec<&CheckedTimeline>> = BTreeMap::new();
    for checked in &verified.checked {
        homes.entry(title(&checked.chat.home)).or_default().push(checked);
    }
    for (at, (home, timelines)) in homes.iter().enumerate() {
        if at > 0 {
            ui.say("");
        }
        ui.say(Line::new().bold(home));
        say_home(ui, timelines);
    }
    if homes.is_empty() {
        ui.say("There are no chats yet.");
    }
    answer(ui, "tree", &verified);
    Ok(Exit::Fine)
}

fn title_of(library: &Library, home: &Home) -> String {
    match home {
        Home::Character(name) => name.clone(),
        Home::Group(Some(_)) => format!("Group {}", own_name(library, home)),
        Home::Group(None) => "Group chats that no group lists".to_owned(),
        Home::Loose => "Chats without a character".to_owned(),
    }
}

fn own_name(library: &Library, home: &Home) -> String {
    match home {
        Home::Group(Some(id)) => {
            library.group(id).map_or(id.clone(), |file| file.group.name.clone())
        }
        Home::Character(name) => name.clone(),
        Home::Group(None) | Home::Loose => String::new(),
    }
}

/// If a child does not record its fork point, finds it by comparing messages with the parent.
fn find_fork_points(tavern: &Tavern<'_>, verified: &mut Verified) {
    let index = TimelineIndex::of(&verified.checked.iter().collect::<Vec<_>>());
    for at in 0..verified.checked.len() {
        let checked = &verified.checked[at];
        if checked.node.fork_point.is_some() {
            continue;
        }
        let Some(parent) = index.parent(checked) else { continue };
        let (child, parent) = (&checked.chat, &verified.checked[parent].chat);
        let read = |path| tavern.disk.read(path).ok();
        if let (Some(one), Some(other)) = (read(&child.path), read(&parent.path)) {
            let (one, other) =
                (Chat::read(&one, child.place()), Chat::read(&other, parent.place()));
            let point = common_prefix(&one, &other);
            verified.checked[at].node.fork_point = point;
        }
    }
}

/// Finds timelines by home and name.
struct TimelineIndex(HashMap<(Home, String), usize>);

impl TimelineIndex {
    fn of(timelines: &[&CheckedTimeline]) -> Self {
        let place = |(at, checked): (usize, &&CheckedTimeline)| {
            ((checked.chat.home.clone(), checked.chat.name.clone()), at)
        };
        Self(timelines.iter().enumerate().map(place).collect())
    }

    fn parent(&self, child: &CheckedTimeline) -> Option<usize> {
        self.0.get(&(child.chat.home.clone(), child.parent.clone()?)).copied()
    }
}

fn say_home(ui: &mut Ui<'_>, timelines: &[&CheckedTimeline]) {
    let index = TimelineIndex::of(timelines);
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (at, checked) in timelines.iter().enumerate() {
        match index.parent(checked) {
            Some(parent) => children.entry(parent).or_default().push(at),
            None => roots.push(at),
        }
    }
    let mut rows = Vec::new();
    for root in roots {
        collect_rows(timelines, &children, root, "  ", "  ", &mut rows);
    }
    let widest = rows.iter().map(|row| width(&row.name)).max().unwrap_or(0).min(60);
    for shown in rows {
        ui.say(row(&padded(&shown.name, widest), shown.checked));
        for finding in shown.checked.findings.iter().filter(|finding| finding.is_problem()) {
            ui.say(
                Line::new().plain(&shown.below).add(Style::Bad, "! ").plain(finding.to_string()),
            );
        }
    }
}

/// A timeline's line, and the prefix for the lines below it.
struct Row<'a> {
    name: String,
    below: String,
    checked: &'a CheckedTimeline,
}

fn collect_rows<'a>(
    timelines: &[&'a CheckedTimeline],
    children: &HashMap<usize, Vec<usize>>,
    at: usize,
    lead: &str,
    below: &str,
    rows: &mut Vec<Row<'a>>,
) {
    let mut own = children.get(&at).cloned().unwrap_or_default();
    own.sort_by_key(|&child| (timelines[child].node.fork_point, &timelines[child].chat.name));
    rows.push(Row {
        name: format!("{lead}{}", timelines[at].chat.name),
        below: format!("{below}{}", if own.is_empty() { "   " } else { "│  " }),
        checked: timelines[at],
    });
    for (number, &child) in own.iter().enumerate() {
        let is_last = number + 1 == own.len();
        let (branch, under) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let (lead, next) = (format!("{below}{branch}"), format!("{below}{under}"));
        collect_rows(timelines, children, child, &lead, &next, rows);
    }
}

fn row(name: &str, checked: &CheckedTimeline) -> Line {
    let mut line = Line::new().plain(name).plain("  ");
    let kind = checked.node.kind;
    line = match (kind, checked.node.fork_point) {
        (TimelineKind::Main, _) => {
            line.dim(format!("main, {}", count(checked.messages, "message", "messages")))
        }
        (kind, Some(message)) => line.dim(format!(
            "{} at {message}, {}",
            kind.word(),
            count(checked.messages, "message", "messages")
        )),
        (kind, None) => {
            line.dim(format!("{}, {}", kind.word(), count(checked.messages, "message", "messages")))
        }
    };
    if let Parentage::Missing(parent) = &checked.node.parentage {
        line = line.add(Style::Note, format!(", parent {parent:?} is gone"));
    }
    match (&checked.timeline.book, checked.entries) {
        (None, _) => line.dim(", no lorebook"),
        (Some(book), Some(entries)) => {
            line = line
                .dim(", ")
                .plain(format!("{book:?}"))
                .dim(format!(" {}", count(entries, "entry", "entries")));
            match checked.book_known() {
                Some(part) => line.add(Style::Good, format!(", {}", part.exactness)),
                None => line,
            }
        }
        (Some(book), None) => line.dim(", ").add(Style::Bad, format!("{book:?}")),
    }
}
