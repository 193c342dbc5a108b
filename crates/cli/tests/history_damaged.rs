//! A history that is damaged in one place goes on in all others: every file is recorded, every
//! version that plain git can still read is found and shown, and no byte is wrong.
//!
//! By default a sample of the places is damaged; `FORKLORE_SWEEP=1` damages every 4 KB block of
//! every pack, every byte of the small files, and 2,000 places of the indexes. With a larger number
//! it is every nth byte and so many fewer places of the indexes.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::thread;

use fastrand::Rng;
use forklore::{Context, Terminal, Ui, run};
use forklore_history::query::lookup::Finder;
use forklore_history::version::history::History;
use forklore_json::Json;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use forklore_tavern::locate::environment::{Environment, Os};
use forklore_testkit::scene::{Tree, read_tree};

/// The file and the number of a version.
type Name = (String, u64);

/// What was recorded: each version's content, and the objects it consists of.
struct Truth {
    folder: tempfile::TempDir,
    contents: BTreeMap<Name, Vec<u8>>,
    objects: BTreeMap<Name, Vec<String>>,
    /// The content of every object, hashed: git does not look whether it is the right one.
    hashes: BTreeMap<String, u64>,
}

/// A data folder with its histories beside it.
struct Stage {
    folder: PathBuf,
}

impl Stage {
    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("data-history/default-user.git")
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.data().join("default-user").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// The exit code and the JSON answer of a command.
    fn run(&self, args: &[&str]) -> (u8, Json) {
        let environment = Environment {
            host: "desk".to_owned(),
            ..Environment::new(Some(self.data()), self.folder.clone(), Os::Linux, |_| None)
        };
        let context = Context { disk: &RealDisk, clock: &SystemClock, environment, editor: None };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(Box::new(&mut out), Box::new(&mut err), Terminal::default());
        let code = run(&mut ui, context, ["forklore", "--json"].iter().chain(args));
        drop(ui);
        (code, Json::parse(&out).unwrap_or(Json::Null))
    }

    /// The versions of a file in the log.
    fn log(&self, file: &str) -> Result<BTreeSet<Name>, Json> {
        let (code, answer) = self.run(&["log", "--all", "--", file]);
        if code != 0 {
            return Err(answer);
        }
        let versions = answer.get("versions").and_then(Json::as_array).unwrap();
        let number = |version: &Json| version.get("version").unwrap().as_f64().unwrap() as u64;
        Ok(versions.iter().map(|version| (file.to_owned(), number(version))).collect())
    }

    fn shown(&self, (file, number): &Name) -> Option<Vec<u8>> {
        let output = self.folder.join("shown");
        let _ = fs::remove_file(&output);
        let args = ["show", file, "--version", &number.to_string(), "--output"];
        let args: Vec<&str> = args.into_iter().chain(output.to_str()).collect();
        let (code, _) = self.run(&args);
        (code == 0).then(|| fs::read(&output).unwrap())
    }
}

/// Words that hardly compress, so that the packs have many blocks.
fn words(random: &mut Rng, count: usize) -> String {
    (0..count).map(|_| random.alphanumeric()).collect()
}

fn line(random: &mut Rng, name: &str) -> String {
    format!("\n{{\"name\":\"{name}\",\"mes\":\"{}\"}}", words(random, 900))
}

/// The files of the story as they grow.
#[derive(Clone)]
struct Story {
    random: Rng,
    chats: Vec<String>,
    books: Vec<Vec<String>>,
    round: usize,
}

impl Story {
    fn new() -> Self {
        let mut random = Rng::with_seed(3);
        let header = |random: &mut Rng| format!("{{\"user_name\":\"{}\"}}", words(random, 20));
        let chats = (0..14).map(|_| header(&mut random)).collect();
        Self { random, chats, books: vec![Vec::new(); 4], round: 0 }
    }

    /// Changes some of the files, or all of them, and returns those.
    fn go_on(&mut self, all: bool) -> Tree {
        let mut tree = Tree::new();
        let random = &mut self.random;
        for (at, chat) in self.chats.iter_mut().enumerate() {
            if all || at % 3 == self.round % 3 {
                *chat += &line(random, "Ada");
                *chat += &line(random, "Ben");
                tree.insert(format!("chats/Ada/Story {at}.jsonl"), chat.clone().into_bytes());
            }
        }
        for (at, book) in self.books.iter_mut().enumerate() {
            if all || at % 2 == self.round % 2 {
                let (uid, text) = (book.len(), words(random, 300));
                book.push(format!("\n        \"{uid}\": {{\"content\":\"{text}\"}}"));
                let json = format!("{{\n    \"entries\": {{{}\n    }}\n}}", book.join(","));
                tree.insert(format!("worlds/Lore {at}.json"), json.into_bytes());
            }
        }
        if all || self.round.is_multiple_of(4) {
            for at in 0..3 {
                let mut card = b"\x89PNG\r\n\x1a\n\0\0\x03\x84tEXt".to_vec();
                card.extend_from_slice(words(random, 900).as_bytes());
                card.extend_from_slice(b"crc!\0\0\0\0IEND\xae\x42\x60\x82");
                tree.insert(format!("characters/Ada {at}.png"), card);
            }
            let group =
                format!("{{\n    \"id\": \"7\",\n    \"name\": \"{}\"\n}}", words(random, 9));
            tree.insert("groups/7.json".to_owned(), group.into_bytes());
            let settings = format!("{{\n    \"a\": 1,\n    \"b\": \"{}\"\n}}", words(random, 400));
            tree.insert("settings.json".to_owned(), settings.into_bytes());
        }
        self.round += 1;
        tree
    }
}

fn git(repository: &Path, args: &[&str]) -> String {
    let output = Command::new("git").arg("--git-dir").arg(repository).args(args).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Truth {
    /// 23 files and 99 versions, in several packs.
    fn new() -> (Self, Story) {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage { folder: folder.path().to_owned() };
        let mut story = Story::new();
        let mut contents = BTreeMap::new();
        let mut versions: BTreeMap<String, u64> = BTreeMap::new();
        for round in 0..11 {
            for (file, bytes) in story.go_on(round == 0) {
                stage.write(&file, &bytes);
                let number = versions.entry(file.clone()).or_default();
                *number += 1;
                contents.insert((file, *number), bytes);
            }
            assert_eq!(stage.run(&["record"]).0, 0);
        }
        assert_eq!(versions.len(), 23);
        assert!((90..130).contains(&contents.len()), "{}", contents.len());
        let mut objects = BTreeMap::new();
        for commit in git(&stage.repository(), &["rev-list", "--all"]).lines() {
            let text = git(&stage.repository(), &["cat-file", "commit", commit]);
            let field = |name: &str| {
                let found = text.lines().find_map(|line| line.strip_prefix(name));
                found.unwrap_or_else(|| panic!("{name} in {text}")).to_owned()
            };
            let name = (field("File: "), field("Version: ").parse().unwrap());
            let below = git(&stage.repository(), &["ls-tree", "-r", "-t", commit]);
            let below =
                below.lines().map(|line| line.split([' ', '\t']).nth(2).unwrap().to_owned());
            let own = [commit.to_owned(), field("tree ")];
            objects.insert(name, own.into_iter().chain(below).collect());
        }
        assert_eq!(objects.len(), contents.len());
        let mut reader = CatFile::new(&stage.repository());
        let ids: BTreeSet<String> = objects.values().flatten().cloned().collect();
        let hashes = ids.into_iter().map(|id| (id.clone(), reader.hash(&id).unwrap())).collect();
        (Self { folder, contents, objects, hashes }, story)
    }

    /// The versions of which plain git reads every object in a damaged history.
    fn readable(&self, repository: &Path) -> BTreeSet<Name> {
        let all: BTreeSet<&String> = self.objects.values().flatten().collect();
        let mut reader = CatFile::new(repository);
        let there: BTreeSet<&String> =
            all.into_iter().filter(|id| reader.hash(id).as_ref() == self.hashes.get(*id)).collect();
        let names = self.objects.iter();
        let whole = names.filter(|(_, ids)| ids.iter().all(|id| there.contains(id)));
        whole.map(|(name, _)| name.clone()).collect()
    }
}

/// `git cat-file --batch`, started again whenever it gives up.
struct CatFile {
    repository: PathBuf,
    running: Option<(Child, ChildStdin, ChildStdout)>,
}

impl CatFile {
    fn new(repository: &Path) -> Self {
        Self { repository: repository.to_owned(), running: None }
    }

    /// The hash of an object's content, if git reads it.
    fn hash(&mut self, id: &str) -> Option<u64> {
        let (_, input, output) = self.running.get_or_insert_with(|| {
            let mut command = Command::new("git");
            command.arg("--git-dir").arg(&self.repository).args(["cat-file", "--batch"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let pipes = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            (child, pipes.0, pipes.1)
        });
        let found = writeln!(input, "{id}").ok().and_then(|()| read_object(output));
        match found {
            Some(content) => content.map(|content| hash_of(&content)),
            None => {
                if let Some((mut child, ..)) = self.running.take() {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                None
            }
        }
    }
}

fn hash_of(content: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// More than any object here. What a damaged index leads to can claim anything.
const LARGEST: usize = 1 << 20;

/// The object, or `None` inside if there is none; `None` outside if git gave up.
fn read_object(output: &mut ChildStdout) -> Option<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut byte = [0];
    loop {
        output.read_exact(&mut byte).ok()?;
        if byte == *b"\n" {
            break;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    if head.ends_with(" missing") {
        return Some(None);
    }
    let size: usize = head.rsplit(' ').next()?.parse().ok().filter(|size| *size < LARGEST)?;
    let mut content = vec![0; size + 1];
    output.read_exact(&mut content).ok()?;
    content.pop();
    Some(Some(content))
}

#[derive(Clone, Copy, Debug)]
enum Harm {
    Zeros(usize, usize),
    Flip(usize),
    Cut(usize),
    Gone,
}

impl Harm {
    fn apply(self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        match self {
            Self::Zeros(at, length) => bytes[at..].iter_mut().take(length).for_each(|it| *it = 0),
            Self::Flip(at) => bytes[at] ^= 1 << (at % 8),
            Self::Cut(at) => bytes.truncate(at),
            Self::Gone => return fs::remove_file(path).unwrap(),
        }
        fs::write(path, bytes).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
}

/// What became of a damaged history, as a list of what is wrong.
fn check(truth: &Truth, story: &mut Story, file: &Path, harm: Harm, seed: u64) -> Vec<String> {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    copy(&truth.folder.path().join("data"), &place.path().join("data"));
    copy(&truth.folder.path().join("data-history"), &place.path().join("data-history"));
    let stage = Stage { folder: place.path().to_owned() };
    harm.apply(&stage.repository().join(file));
    // Whatever git thinks of its own small files, the objects are all there.
    let readable = match file.extension() {
        Some(_) => truth.readable(&stage.repository()),
        None => truth.objects.keys().cloned().collect(),
    };
    let mut wrong = Vec::new();
    for command in ["status", "rescue", "log"] {
        let (code, answer) = stage.run(&[command]);
        if code > 1 {
            wrong.push(format!("{command} before it goes on: {answer:?}"));
        }
    }

    // Every file goes on, and is saved.
    let saved = story.go_on(true);
    saved.iter().for_each(|(file, bytes)| stage.write(file, bytes));
    let (code, answer) = stage.run(&["record"]);
    let recorded = answer.at(&["users"]).and_then(Json::as_array).map(|users| &users[0]);
    let recorded = recorded.and_then(|user| user.get("recorded")).and_then(Json::as_array);
    let recorded = recorded.unwrap_or_default();
    if code > 1 || recorded.len() != saved.len() {
        wrong.push(format!(
            "record: exit {code}, {} of {}: {answer:?}",
            recorded.len(),
            saved.len()
        ));
    }
    for command in ["status", "rescue"] {
        let (code, answer) = stage.run(&[command]);
        if code > 1 {
            wrong.push(format!("{command}: {answer:?}"));
        }
    }
    let files: BTreeSet<&String> = truth.contents.keys().map(|(file, _)| file).collect();
    let history = History::open_existing(&RealDisk, &SystemClock, stage.repository()).unwrap();
    let home = stage.data().join("default-user");
    let finder = Finder::new(&history, &RealDisk, &home);
    let mut random = Rng::with_seed(seed);
    for file in files {
        let Ok(lineage) = finder.find(file) else {
            wrong.push(format!("{file} is not found"));
            continue;
        };
        let versions = history.own_versions(lineage);
        let listed: BTreeSet<Name> =
            versions.map(|stored| (file.clone(), stored.version.number)).collect();
        if random.u8(..12) == 0 {
            let log = stage.log(file);
            if log.as_ref().ok() != Some(&listed) {
                wrong.push(format!("log of {file}: {log:?}, not {listed:?}"));
            }
        }
        // The command for some, and what it uses for all.
        let shown = |name: &Name, random: &mut Rng| {
            if random.u8(..30) == 0 {
                return stage.shown(name);
            }
            let version = history.version(lineage, name.1).ok()?;
            history.content(&version).ok()
        };
        let newest = listed.last().map(|newest| (newest.clone(), shown(newest, &mut random)));
        if newest.as_ref().and_then(|(_, bytes)| bytes.as_ref()) != saved.get(file) {
            wrong.push(format!("the newest version of {file} is not what was saved: {listed:?}"));
        }
        let before = truth.contents.iter().filter(|((other, _), _)| other == file);
        for (name, content) in before {
            let shown = shown(name, &mut random);
            if shown.as_ref().is_some_and(|shown| shown != content) {
                wrong.push(format!("{name:?} is shown with other bytes"));
            }
            let is_reached = listed.contains(name) && shown.is_some();
            if readable.contains(name) && !is_reached {
                let is_listed = listed.contains(name);
                wrong.push(format!("{name:?} can be read: {is_listed} {}", shown.is_some()));
            }
        }
    }
    wrong
}

/// Where each file is damaged.
fn places(repository: &Path, nth: Option<usize>) -> Vec<(PathBuf, Harm)> {
    let mut random = Rng::with_seed(11);
    let mut places = Vec::new();
    let tree = read_tree(repository);
    let indexes = tree.keys().filter(|path| path.ends_with(".idx")).count();
    for (path, bytes) in &tree {
        let (name, length) = (path.rsplit('/').next().unwrap(), bytes.len());
        let file = PathBuf::from(path);
        let mut add = |harm| places.push((file.clone(), harm));
        if name.ends_with(".pack") {
            let blocks: Vec<usize> = (0..length).step_by(4096).collect();
            let step = if nth.is_some() { 1 } else { 9 };
            blocks.into_iter().step_by(step).for_each(|at| add(Harm::Zeros(at, 4096)));
            add(Harm::Cut(length / 2));
            add(Harm::Gone);
        } else if name.ends_with(".idx") {
            let count = nth.map_or(3, |nth| 2000 / indexes / nth);
            (0..count).for_each(|_| add(Harm::Flip(random.usize(..length))));
            add(Harm::Gone);
        } else if ["machine", "config", "HEAD", "packed-refs", "journal"].contains(&name) {
            let step = nth.unwrap_or(length.div_ceil(4));
            (0..length).step_by(step).for_each(|at| add(Harm::Flip(at)));
            (0..length).step_by(step * 3).for_each(|at| add(Harm::Cut(at)));
            add(Harm::Gone);
        }
    }
    places
}

#[test]
fn damage_stops_nothing_but_itself() {
    let nth = std::env::var("FORKLORE_SWEEP").ok().and_then(|nth| nth.parse().ok());
    let (truth, story) = Truth::new();
    let stage = Stage { folder: truth.folder.path().to_owned() };
    let places = places(&stage.repository(), nth);
    let packs = places.iter().filter(|(file, _)| file.extension().is_some()).count();
    assert!(packs > 10, "{places:?}");
    let wrong: Mutex<BTreeMap<String, Vec<String>>> = Mutex::default();
    thread::scope(|scope| {
        // Places of all kinds in both.
        for half in [0, 1] {
            let half = places.iter().skip(half).step_by(2);
            let (mut story, truth, wrong) = (story.clone(), &truth, &wrong);
            scope.spawn(move || {
                for (seed, (file, harm)) in (0..).zip(half) {
                    let found = check(truth, &mut story, file, *harm, seed);
                    if !found.is_empty() {
                        let what = format!("{} {harm:?}", file.display());
                        wrong.lock().unwrap().insert(what, found);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), places.len());
}
