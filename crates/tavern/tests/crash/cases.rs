//! The commands that change files, each with the folder it starts from.

use std::error::Error;

use forklore_core::plan::fork::Policy;
use forklore_core::plan::merge::Choices;
use forklore_core::sillytavern::names::ForkKind;
use forklore_json::Json;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::cleanup::CleanOptions;
use forklore_tavern::work::compare::{ChatPoint, LoreOf};
use forklore_tavern::work::fork::{CheckpointLink, ForkOptions};
use forklore_tavern::work::merge::{PastLore, WantedBase};
use forklore_tavern::work::repair::WantedSource;
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::scene::{self, Scene, Stopped, Tree, USER};

type Done = Result<(), Box<dyn Error>>;
type Run = fn(&Tavern<'_>) -> Done;

/// A command and the folder it works on.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) start: Tree,
    run: Run,
    pub(crate) is_undo: bool,
}

impl Case {
    pub(crate) fn run(&self, tavern: &Tavern<'_>) -> Done {
        (self.run)(tavern)
    }
}

const COMMANDS: [(&str, Run); 14] = [
    ("checkpoint", |tavern| fork(tavern, scene::STORY, ForkKind::Checkpoint, Some(3))),
    ("branch", |tavern| fork(tavern, scene::STORY, ForkKind::Branch, Some(2))),
    ("branch at the end", |tavern| fork(tavern, scene::STORY, ForkKind::Branch, None)),
    ("group branch", |tavern| fork(tavern, scene::QUEST, ForkKind::Branch, Some(1))),
    ("group checkpoint", |tavern| fork(tavern, scene::QUEST, ForkKind::Checkpoint, Some(2))),
    ("split", |tavern| {
        let chat = found(tavern, scene::OLD_BRANCH)?;
        tavern.split(&chat, true, CLOSED)?;
        Ok(())
    }),
    ("restore", |tavern| {
        let chat = found(tavern, scene::STORY)?;
        tavern.restore(&chat, Some(2), false, CLOSED)?;
        Ok(())
    }),
    ("repair from the journal", |tavern| repair(tavern, scene::BEREFT, &WantedSource::Journal)),
    ("repair from a copy", |tavern| {
        repair(tavern, scene::GARBLED, &WantedSource::Copy("Lore".into()))
    }),
    ("detach", |tavern| repair(tavern, scene::BEREFT, &WantedSource::Detach)),
    ("merge", |tavern| {
        let from = LoreOf::Timeline(ChatPoint { chat: found(tavern, scene::QUEST)?, at: None });
        let into = found(tavern, scene::OLD_TALE)?;
        let prepared = tavern.prepare_merge(&from, &into, &WantedBase::Empty, PastLore::IsBase)?;
        let plan = prepared.plan(&Choices::default());
        let merged = tavern.merge("merge", &prepared, &plan, CLOSED)?;
        // The chat stores an index of the book's entries.
        if merged.chat_changed { Ok(()) } else { Err("the chat did not follow".into()) }
    }),
    ("strip", |tavern| {
        let chat = found(tavern, scene::STORY)?;
        tavern.strip(&chat, CLOSED)?;
        Ok(())
    }),
    ("clean", |tavern| {
        let cleaned = tavern.clean(CleanOptions::default(), &|| {})?;
        match cleaned.cleanup.plan.unread.first() {
            // While something is unreadable, nothing may be removed; that is not a failure.
            Some(path) => Err(format!("nothing was removed: could not read `{path}`").into()),
            None => Ok(()),
        }
    }),
    ("trash restore", |tavern| {
        let transaction = tavern.transaction()?;
        transaction.restore_from_trash("1.0")?;
        Ok(())
    }),
];

/// Every command, and the undo of every command.
pub(crate) fn all() -> Vec<Case> {
    COMMANDS.into_iter().flat_map(|(name, run)| with_undo(name, run)).collect()
}

pub(crate) fn named(names: &[&str]) -> Vec<Case> {
    let wanted = COMMANDS.into_iter().filter(|(name, _)| names.contains(name));
    let cases: Vec<Case> = wanted.flat_map(|(name, run)| with_undo(name, run)).collect();
    assert_eq!(cases.len(), 2 * names.len());
    cases
}

fn with_undo(name: &str, run: Run) -> [Case; 2] {
    let start = match name {
        "trash restore" => after(&Scene::new().all(), |tavern| {
            tavern.clean(CleanOptions::default(), &|| {})?;
            Ok(())
        }),
        "merge" => with_registries(),
        _ => Scene::new().all(),
    };
    let done = after(&start, run);
    [
        Case { name: name.into(), start, run, is_undo: false },
        Case { name: format!("undo {name}"), start: done, run: undo, is_undo: true },
    ]
}

/// Two books that list their entries, and a chat that stores an index of one of them.
fn with_registries() -> Tree {
    let scene = Scene::new();
    let listed = |uids: &[usize]| {
        let entries: Vec<String> = uids
            .iter()
            .map(|uid| {
                format!(r#""{uid}":{{"uid":{uid},"comment":"entry {uid}","content":"lore"}}"#)
            })
            .collect();
        let lines: Vec<String> =
            uids.iter().map(|uid| format!(r"- UID={uid} | name: entry {uid}")).collect();
        let registry = format!(
            r#""9":{{"uid":9,"comment":"_registry_place","content":"{}"}}"#,
            lines.join(r"\n")
        );
        format!("{{\"entries\":{{{},{registry}}}}}", entries.join(",")).into_bytes()
    };
    scene.write(&format!("{USER}/worlds/Shared.json"), &listed(&[0, 1]));
    scene.write(&format!("{USER}/worlds/Quest lore.json"), &listed(&[0, 3]));
    let metadata = br#"{"world_info":"Shared","auto_lorebooks":{"registry":{"index":{"0":{"type":"place"}}}}}"#;
    let header = scene::header(&Json::parse(metadata).unwrap());
    let chat = [header, scene::message(0, None)].join(&b'\n');
    scene.write(&format!("{USER}/chats/Alice/Old tale.jsonl"), &chat);
    scene.all()
}

fn after(start: &Tree, run: Run) -> Tree {
    let scene = Scene::of(start);
    run(&scene.tavern(&RealDisk, &Stopped)).unwrap();
    scene.all()
}

const CLOSED: ChangeOptions = ChangeOptions { is_closed: true, dry_run: false };

fn found(tavern: &Tavern<'_>, label: &str) -> Result<ChatFile, Box<dyn Error>> {
    let library = tavern.library();
    match library.find(tavern.disk, label) {
        Ok(chat) => Ok(chat.clone()),
        Err(error) => match library.unread.first() {
            Some(unread) => {
                Err(format!("{error}, could not read `{}`", unread.path.display()).into())
            }
            None => Err(error.into()),
        },
    }
}

fn fork(tavern: &Tavern<'_>, label: &str, kind: ForkKind, at: Option<i64>) -> Done {
    let options = ForkOptions {
        kind,
        at,
        name: None,
        policy: Policy::default(),
        parent_is_closed: true,
        dry_run: false,
    };
    let forked = tavern.fork(&found(tavern, label)?, &options)?;
    let wanted = if kind == ForkKind::Checkpoint {
        CheckpointLink::Written
    } else {
        CheckpointLink::NotWanted
    };
    if forked.link == wanted { Ok(()) } else { Err(format!("{:?}", forked.link).into()) }
}

fn repair(tavern: &Tavern<'_>, label: &str, source: &WantedSource) -> Done {
    tavern.repair(&found(tavern, label)?, source, CLOSED)?;
    Ok(())
}

/// Undoes the last operation, if there is one.
pub(crate) fn undo(tavern: &Tavern<'_>) -> Done {
    let transaction = tavern.transaction()?;
    if let Some(plan) = transaction.plan_undo()? {
        transaction.undo(&plan)?;
    }
    Ok(())
}
