//! Other ways to store one more message. Each gets the same saved file, and is done when its data
//! would survive a power cut.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use forklore_history::git::object::{Id, Kind, TreeMode, add_to_tree, id_of};

use super::stories::Story;
use crate::bench::measure::durable_copy;

/// Stores one more message of a story whose file was just saved.
pub(crate) trait Rival {
    fn name(&self) -> &'static str;
    /// `story` has one message more than at the last call. Its content is in memory only for the
    /// benchmark, so a rival that needs it has to read the file.
    fn store(&mut self, saved: &Path, story: &Story) -> anyhow::Result<()>;
    /// Runs before the clock starts.
    fn prepare(&mut self, _story: &Story, _book: &[u8]) -> anyhow::Result<()> {
        Ok(())
    }
    /// The maximum number of rounds, for slow rivals.
    fn max_rounds(&self) -> usize {
        usize::MAX
    }
}

/// Reads a file into a reused buffer.
pub(crate) fn read(path: &Path, buffer: &mut Vec<u8>) -> anyhow::Result<()> {
    buffer.clear();
    File::open(path)?.read_to_end(buffer)?;
    Ok(())
}

/// The lower bound: added_part out what was saved requires reading it.
#[derive(Default)]
pub(crate) struct Reading {
    buffer: Vec<u8>,
}

impl Rival for Reading {
    fn name(&self) -> &'static str {
        "reading the file"
    }

    fn store(&mut self, saved: &Path, _: &Story) -> anyhow::Result<()> {
        read(saved, &mut self.buffer)?;
        std::hint::black_box(&self.buffer);
        Ok(())
    }
}

/// Finds what was added to a file in the fastest way, by comparing it with its previous content in
/// memory.
pub(crate) struct AddedPart {
    before: Vec<u8>,
    buffer: Vec<u8>,
}

impl AddedPart {
    pub(crate) fn new(story: &Story) -> Self {
        Self { before: story.bytes.clone(), buffer: Vec::new() }
    }

    /// The bytes added since the last call.
    pub(crate) fn added(&mut self, saved: &Path) -> anyhow::Result<&[u8]> {
        read(saved, &mut self.buffer)?;
        std::mem::swap(&mut self.before, &mut self.buffer);
        let added = self.before.strip_prefix(self.buffer.as_slice());
        added.context("something else than the end changed")
    }
}

/// Reads the file and compares it with a copy of the last version in memory.
pub(crate) struct Comparing {
    pub(crate) added_part: AddedPart,
}

impl Rival for Comparing {
    fn name(&self) -> &'static str {
        "reading and comparing it with a copy in memory"
    }

    fn store(&mut self, saved: &Path, _: &Story) -> anyhow::Result<()> {
        std::hint::black_box(self.added_part.added(saved)?);
        Ok(())
    }
}

/// Copies the whole file.
pub(crate) struct Copying {
    pub(crate) to: PathBuf,
}

impl Rival for Copying {
    fn name(&self) -> &'static str {
        "a copy of the file"
    }

    fn store(&mut self, saved: &Path, _: &Story) -> anyhow::Result<()> {
        durable_copy(saved, &self.to)
    }
}

/// A git that syncs its writes as Forklore does, and runs no maintenance in the background.
pub(crate) fn git(repository: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(repository);
    for setting in [
        "core.fsync=all",
        "core.fsyncMethod=fsync",
        "gc.auto=0",
        "maintenance.auto=false",
        "fastimport.unpackLimit=0",
        "user.name=bench",
        "user.email=bench@localhost",
    ] {
        git.arg("-c").arg(setting);
    }
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git
}

pub(crate) fn run(command: &mut Command, input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("could not run git")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let output = child.wait_with_output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {errors}");
    Ok(output.stdout)
}

fn init_repository(repository: PathBuf, bare: bool) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(&repository)?;
    let mut init = git(&repository);
    init.args(["init", "--quiet", "--initial-branch=main"]);
    if bare {
        init.arg("--bare");
    }
    run(&mut init, b"")?;
    Ok(repository)
}

/// The trees above the last message, which one more message changes: three levels with a hundred
/// names in each.
pub(crate) struct Levels {
    head: Id,
    lines: [Vec<(u32, Id)>; 3],
}

impl Levels {
    /// Builds the trees of a story. `put` is called with every object.
    pub(crate) fn new(
        story: &Story,
        put: &mut dyn FnMut(Kind, Vec<u8>) -> anyhow::Result<Id>,
    ) -> anyhow::Result<(Self, Id)> {
        let mut lines = story.bytes.split(|byte| *byte == b'\n');
        let head = put(Kind::Blob, lines.next().unwrap_or_default().to_vec())?;
        let mut levels = Self { head, lines: Default::default() };
        let mut root = None;
        let count = story.messages as u32;
        for (index, line) in (0..).zip(lines) {
            let blob = put(Kind::Blob, [b"\n", line].concat())?;
            levels.push(index, blob);
            // Skip trees that the next message would replace.
            if index % 100 == 99 || index + 1 == count {
                root = Some(levels.close(index, put)?);
            }
        }
        Ok((levels, root.context("a story has messages")?))
    }

    /// Adds a message and returns the new root.
    pub(crate) fn add(
        &mut self,
        index: u32,
        blob: Id,
        put: &mut dyn FnMut(Kind, Vec<u8>) -> anyhow::Result<Id>,
    ) -> anyhow::Result<Id> {
        self.push(index, blob);
        self.close(index, put)
    }

    fn push(&mut self, index: u32, blob: Id) {
        if index.is_multiple_of(100) {
            self.lines[0].clear();
        }
        if index.is_multiple_of(10_000) {
            self.lines[1].clear();
        }
        self.lines[0].push((index % 100, blob));
    }

    fn close(
        &mut self,
        index: u32,
        put: &mut dyn FnMut(Kind, Vec<u8>) -> anyhow::Result<Id>,
    ) -> anyhow::Result<Id> {
        let mut number = index;
        let mut below: Option<Id> = None;
        for lines in &mut self.lines {
            let mode = if below.is_none() { TreeMode::Blob } else { TreeMode::Tree };
            if let Some(below) = below {
                lines.retain(|(place, _)| *place != number % 100);
                lines.push((number % 100, below));
            }
            let mut tree = Vec::with_capacity(lines.len() * 33);
            for (place, id) in lines.iter() {
                add_to_tree(&mut tree, mode, &format!("{place:02}"), id);
            }
            below = Some(put(Kind::Tree, tree)?);
            number /= 100;
        }
        let mut root = Vec::new();
        add_to_tree(&mut root, TreeMode::Blob, "a", &self.head);
        add_to_tree(&mut root, TreeMode::Tree, "m", &below.context("there are three levels")?);
        put(Kind::Tree, root)
    }
}

/// Uses git's plumbing commands, with one process for each object.
pub(crate) struct Plumbing {
    repository: PathBuf,
    levels: Levels,
    tip: String,
    added_part: AddedPart,
}

impl Plumbing {
    pub(crate) fn new(folder: &Path, story: &Story) -> anyhow::Result<Self> {
        let repository = init_repository(folder.join("plumbing.git"), true)?;
        let mut importing = Importing::start(&repository)?;
        importing.begin(story)?;
        importing.finish()?;
        let (levels, tree) = Levels::new(story, &mut |kind, data| Ok(id_of(kind, &data)?))?;
        let tip = run(git(&repository).args(["rev-parse", "main"]), b"")?;
        let tip = String::from_utf8(tip)?.trim().to_owned();
        let found = run(git(&repository).args(["rev-parse", "main^{tree}"]), b"")?;
        ensure!(found.starts_with(tree.to_hex().to_string().as_bytes()), "the trees differ");
        Ok(Self { repository, levels, tip, added_part: AddedPart::new(story) })
    }
}

fn id_in(output: &[u8]) -> anyhow::Result<Id> {
    Ok(Id::from_hex(output.trim_ascii())?)
}

/// The input of `git mktree`.
fn mktree_input(tree: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for line in forklore_history::git::object::tree_lines(tree).flatten() {
        let mode = match line.mode {
            TreeMode::Blob => "100644 blob",
            TreeMode::Tree => "040000 tree",
        };
        text.extend_from_slice(format!("{mode} {}\t", line.id).as_bytes());
        text.extend_from_slice(line.name);
        text.push(b'\n');
    }
    text
}

impl Rival for Plumbing {
    fn name(&self) -> &'static str {
        "git's plumbing, the same objects, 7 processes"
    }

    fn max_rounds(&self) -> usize {
        15
    }

    fn store(&mut self, saved: &Path, story: &Story) -> anyhow::Result<()> {
        let added = self.added_part.added(saved)?;
        let repository = &self.repository;
        let blob = run(git(repository).args(["hash-object", "-w", "--stdin"]), added)?;
        let tree = self.levels.add(story.messages as u32 - 1, id_in(&blob)?, &mut |_, tree| {
            id_in(&run(git(repository).arg("mktree"), &mktree_input(&tree))?)
        })?;
        let tree = tree.to_hex().to_string();
        let tip = run(
            git(repository).args(["commit-tree", "-p", &self.tip, "-m", "one message more", &tree]),
            b"",
        )?;
        self.tip = String::from_utf8(tip)?.trim().to_owned();
        run(git(repository).args(["update-ref", "refs/heads/main", &self.tip]), b"")?;
        Ok(())
    }
}

/// Keeps one `git fast-import` running, with a checkpoint after each message.
pub(crate) struct FastImport {
    importing: Importing,
    added_part: AddedPart,
}

struct Importing {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Importing {
    fn start(repository: &Path) -> anyhow::Result<Self> {
        let mut child = git(repository)
            .args(["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("it has an input")?;
        let stdout = BufReader::new(child.stdout.take().context("it has an output")?);
        Ok(Self { child, stdin, stdout })
    }

    fn begin(&mut self, story: &Story) -> anyhow::Result<()> {
        let mut text =
            b"commit refs/heads/main\ncommitter b <b@localhost> 1 +0000\ndata 3\nall\n".to_vec();
        let mut lines = story.bytes.split(|byte| *byte == b'\n');
        add_file(&mut text, "a", lines.next().unwrap_or_default());
        for (index, line) in lines.enumerate() {
            add_file(&mut text, &path(index), &[b"\n", line].concat());
        }
        self.stdin.write_all(&text)?;
        self.checkpoint()
    }

    fn checkpoint(&mut self) -> anyhow::Result<()> {
        self.stdin.write_all(b"\ncheckpoint\n\nprogress sure\n\n")?;
        self.stdin.flush()?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        ensure!(line == "progress sure\n", "git fast-import says {line:?}");
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        drop(self.stdin);
        ensure!(self.child.wait()?.success(), "git fast-import failed");
        Ok(())
    }
}

fn path(index: usize) -> String {
    format!("m/{:02}/{:02}/{:02}", index / 10_000, index / 100 % 100, index % 100)
}

fn add_file(text: &mut Vec<u8>, path: &str, data: &[u8]) {
    text.extend_from_slice(format!("M 100644 inline {path}\ndata {}\n", data.len()).as_bytes());
    text.extend_from_slice(data);
    text.push(b'\n');
}

impl FastImport {
    pub(crate) fn new(folder: &Path, story: &Story) -> anyhow::Result<Self> {
        let repository = init_repository(folder.join("fast-import.git"), true)?;
        let mut importing = Importing::start(&repository)?;
        importing.begin(story)?;
        Ok(Self { importing, added_part: AddedPart::new(story) })
    }
}

impl Rival for FastImport {
    fn name(&self) -> &'static str {
        "git fast-import, the same objects, a process that stays"
    }

    fn store(&mut self, saved: &Path, story: &Story) -> anyhow::Result<()> {
        let added = self.added_part.added(saved)?;
        let words = "one message more";
        let mut text = format!(
            "commit refs/heads/main\ncommitter b <b@localhost> 2 +0000\ndata {}\n{words}\n",
            words.len()
        )
        .into_bytes();
        add_file(&mut text, &path(story.messages - 1), added);
        self.importing.stdin.write_all(&text)?;
        self.importing.checkpoint()
    }
}

/// The obvious approach: the files in a repository, with a commit after each save.
pub(crate) struct Committing {
    repository: PathBuf,
    max_rounds: usize,
}

impl Committing {
    pub(crate) fn new(folder: &Path, story: &Story, book: &[u8]) -> anyhow::Result<Self> {
        let repository = init_repository(folder.join("whole"), false)?;
        let max_rounds = if story.messages > 20_000 { 3 } else { 15 };
        let mut whole = Self { repository, max_rounds };
        whole.prepare(story, book)?;
        whole.commit()?;
        Ok(whole)
    }

    /// Commits all changes.
    pub(crate) fn commit(&self) -> anyhow::Result<()> {
        run(git(&self.repository).args(["add", "--all"]), b"")?;
        run(git(&self.repository).args(["commit", "--quiet", "--message=saved"]), b"")?;
        Ok(())
    }
}

impl Rival for Committing {
    fn name(&self) -> &'static str {
        "git add and git commit of the whole files"
    }

    fn max_rounds(&self) -> usize {
        self.max_rounds
    }

    fn prepare(&mut self, story: &Story, book: &[u8]) -> anyhow::Result<()> {
        super::stories::save(&self.repository.join("Story.jsonl"), &story.bytes)?;
        super::stories::save(&self.repository.join("Lore.json"), book)
    }

    fn store(&mut self, _: &Path, _: &Story) -> anyhow::Result<()> {
        self.commit()
    }
}
