//! The history under power cuts: after every operation of every command, with every state the disk
//! may be in at that point.
//!
//! By default only a sample of the states is judged; `FORKLORE_POWER=all` judges them all. Needs
//! `strace` and `git`; `--nocapture` shows the statistics.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

mod driver;
mod git;
mod judge;
mod scene;

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use forklore_history::version::commit::StoredVersion;
use forklore_testkit::power::{Policy, State};
use forklore_testkit::tree::temporary_folder;

use driver::driver;
use judge::{Case, Tally};
use scene::{DIARY, STORY, Scene, TALE, forklore, repository};

/// How many states of each case are judged by default.
const SAMPLE: usize = 50;

/// Makes a case that starts with this much history.
type Make = fn(usize) -> Case;

/// Every command that writes to a history or restores from it.
const CASES: [Make; 16] = [
    first_record,
    record,
    record_after_a_cut,
    record_that_rolls_up,
    record_with_loose_refs,
    pack,
    keep,
    keep_and_flush,
    everything,
    restore_beside,
    restore_over,
    undelete,
    purge,
    repair,
    pull,
    unbundle,
];

/// How much history the cases start with: one size, or several if every state is judged.
fn pasts() -> std::ops::Range<usize> {
    if judge::judges_all() { 0..6 } else { 2..3 }
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of states is a result, not a guess")]
fn nothing_that_was_kept_is_lost_wherever_the_power_is_cut() {
    let makes: Vec<(Make, usize)> =
        CASES.iter().flat_map(|make| pasts().map(|past| (*make, past))).collect();
    let judged = in_threads(&makes, |(make, past)| {
        let case = make(*past);
        let tally = case.judge(SAMPLE);
        (case.name, case.trace.ops().len(), case.trace.syncs(), tally)
    });
    let mut tallies: Vec<(String, Tally)> = Vec::new();
    for same in judged.chunk_by(|one, other| one.0 == other.0) {
        let mut tally = Tally::default();
        same.iter().for_each(|(_, _, _, one)| tally.add_all(one));
        let sum =
            |of: fn(&(&str, usize, usize, Tally)) -> usize| same.iter().map(of).sum::<usize>();
        let (ops, syncs) = (sum(|case| case.1), sum(|case| case.2));
        tallies.push((format!("{}: {ops} operations, {syncs} syncs", same[0].0), tally));
    }
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(|(_, tally)| of(tally)).sum::<usize>();
    let (judged, broken) = (sum(|tally| tally.judged), sum(Tally::broken));
    let git = git::judge(SAMPLE);
    let (git_judged, git_broken) = (git.judged, git.broken());
    tallies.push(("git add && git commit, as git comes".into(), git));

    for (name, tally) in &tallies {
        let Tally { all, judged, lost, unreadable, stuck, .. } = tally;
        println!(
            "{name}: {all} states, {judged} judged: \
             {lost} lost, {unreadable} unreadable, {stuck} stuck"
        );
        tally.failures.iter().for_each(|failure| println!("    {failure}"));
    }
    println!("Forklore: {broken} of {judged} broken; git: {git_broken} of {git_judged}");
    assert_eq!(broken, 0);
    assert!(git_broken * 4 > git_judged, "or else nothing was measured");
}

/// Runs the function on every item, in parallel.
fn in_threads<T: Sync, R: Send>(things: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0..things.len());
    let done = Mutex::new(Vec::new());
    let take = || next.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |number| number.get()) {
            scope.spawn(|| {
                while let Some(at) = take() {
                    let result = each(&things[at]);
                    done.lock().unwrap().push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn first_record(past: usize) -> Case {
    let scene = Scene::new();
    // Before the first recording there may be more or fewer changes.
    (0..past).for_each(|turn| scene.advance(turn));
    Case::new("first record", &scene, &forklore(scene.folder(), &["record"]), "Recorded 4 changes")
}

/// A scene with many changes since the last recording.
fn changed(packs: usize) -> Scene {
    let scene = Scene::with_packs(packs);
    scene.advance(packs + 1);
    scene.remove(TALE);
    scene.write("chats/Alice/New.jsonl", &scene::chat(3, 7));
    scene.write("worlds/New lore.json", &scene::book(2, 9));
    scene
}

fn record(past: usize) -> Case {
    let scene = changed(past);
    Case::new("record", &scene, &forklore(scene.folder(), &["record"]), "Recorded ")
        .repeatable(|folder| forklore(folder, &["record"]))
}

fn record_after_a_cut(past: usize) -> Case {
    let first = record(past + 1);
    let states: Vec<State> = first.trace.states(&[Policy::ContentTorn]).collect();
    let scene = Scene::of(&states[states.len() * (past + 1) / 7]);
    scene.write(STORY, &scene::chat(60, 0));
    Case::new("record after a cut", &scene, &forklore(scene.folder(), &["record"]), "Recorded ")
}

fn record_that_rolls_up(past: usize) -> Case {
    let scene = changed(15);
    scene.keep(past);
    Case::new("record that rolls up", &scene, &forklore(scene.folder(), &["record"]), "Recorded ")
}

/// A user's git wrote loose refs, which the recording has to remove.
fn record_with_loose_refs(past: usize) -> Case {
    let scene = changed(past + 2);
    scene.history().record().unwrap().flush().unwrap();
    let history = scene.history();
    for (name, tip) in history.store().refs() {
        let kept = StoredVersion::read(history.store(), *tip).unwrap();
        let path = repository(scene.folder()).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{}\n", kept.id)).unwrap();
    }
    let command = forklore(scene.folder(), &["record"]);
    Case::new("record with loose refs", &scene, &command, "Recorded ")
}

fn pack(past: usize) -> Case {
    let scene = Scene::with_packs(past + 1);
    let args = ["history", "pack"];
    Case::new("history pack", &scene, &forklore(scene.folder(), &args), "in one pack")
        .repeatable(move |folder| forklore(folder, &args))
}

const DRIVEN: &str = "driven to the end";

fn keep(past: usize) -> Case {
    let scene = Scene::with_packs(past);
    Case::new("keep one by one", &scene, &driver(scene.folder(), "keep 40"), DRIVEN)
}

fn keep_and_flush(past: usize) -> Case {
    let scene = Scene::with_packs(1);
    scene.keep(44 + 2 * past);
    Case::new("keep until it flushes", &scene, &driver(scene.folder(), "keep 30"), DRIVEN)
}

fn everything(past: usize) -> Case {
    let scene = Scene::with_packs(past);
    let doing = "keep 3 flush keep 4 pack keep 1 flush flush keep 2 pack pack ".repeat(past + 1);
    Case::new("keep, flush, pack", &scene, &driver(scene.folder(), doing.trim()), DRIVEN)
}

fn restore_beside(past: usize) -> Case {
    let scene = changed(past + 1);
    let command = forklore(scene.folder(), &["restore", "Alice/Story", "--version", "1"]);
    Case::new("restore beside", &scene, &command, "version 1")
}

fn restore_over(past: usize) -> Case {
    let scene = changed(past + 1);
    let args = ["restore", "Alice/Story", "--version", "1", "--in-place", "--closed"];
    Case::new("restore in place", &scene, &forklore(scene.folder(), &args), "version 1")
}

fn undelete(past: usize) -> Case {
    let scene = Scene::with_packs(past + 1);
    scene.remove(DIARY);
    scene.scan();
    Case::new("undelete", &scene, &forklore(scene.folder(), &["undelete", "Diary"]), "Diary")
}

fn purge(past: usize) -> Case {
    let scene = Scene::with_packs(past + 1);
    let args = ["history", "purge", "Alice/Tale", "--yes"];
    Case::new("history purge", &scene, &forklore(scene.folder(), &args), "none is left")
}

/// A damaged history, with different damage for each amount of history.
fn repair(past: usize) -> Case {
    let scene = Scene::with_packs(past + 1);
    let damage = |repository: &Path| {
        let packs = fs::read_dir(repository.join("objects/pack")).unwrap();
        let mut packs: Vec<_> = packs.map(|entry| entry.unwrap().path()).collect();
        packs.sort();
        let of = |end: &str| packs.iter().find(|path| path.extension().is_some_and(|it| it == end));
        let (index, pack) = (of("idx").unwrap(), of("pack").unwrap());
        let (path, harm): (_, fn(&mut Vec<u8>)) = match past % 3 {
            0 => (index.clone(), |bytes| bytes.iter_mut().for_each(|byte| *byte = !*byte)),
            1 => (repository.join("packed-refs"), |bytes| bytes.truncate(bytes.len() / 2)),
            _ => (pack.clone(), |bytes| *bytes.last_mut().unwrap() ^= 1),
        };
        let mut bytes = fs::read(&path).unwrap();
        harm(&mut bytes);
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
    };
    Case::repairing("history repair", &scene, damage, &["history", "repair"], "Nothing was deleted")
}

/// The history of another machine, in a folder that outlives its scene.
fn other_machine(past: usize, args: &[&str]) -> tempfile::TempDir {
    let folder = temporary_folder();
    let place = folder.path().join("there");
    let args = [args, &[place.to_str().unwrap()]].concat();
    let other = Scene::with_packs(past + 1);
    let output = forklore(other.folder(), &args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    folder
}

fn pull(past: usize) -> Case {
    let scene = Scene::with_packs(past);
    let there = other_machine(past, &["history", "push", "--create"]);
    let pull = move |folder: &Path| {
        forklore(folder, &["history", "pull", there.path().join("there").to_str().unwrap()])
    };
    Case::new("history pull", &scene, &pull(scene.folder()), "Added ").repeatable(pull)
}

fn unbundle(past: usize) -> Case {
    let scene = Scene::with_packs(past);
    let there = other_machine(past, &["history", "bundle"]);
    let unbundle = move |folder: &Path| {
        forklore(folder, &["history", "unbundle", there.path().join("there").to_str().unwrap()])
    };
    Case::new("history unbundle", &scene, &unbundle(scene.folder()), "Added ").repeatable(unbundle)
}
