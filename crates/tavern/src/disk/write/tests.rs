use std::ffi::OsString;
use std::fs::{self, File};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::disk::{FileStart, RealDisk};

const OLD: &[u8] = b"old";
const OURS: &[u8] = b"ours";

/// A folder with one file, `book.json`, that holds [`OLD`].
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(scene.path(), OLD).unwrap();
        scene
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("book.json")
    }

    fn content(&self) -> Option<Vec<u8>> {
        fs::read(self.path()).ok()
    }

    /// Saves the way SillyTavern does.
    fn save(&self, bytes: &[u8]) {
        save(&self.path(), bytes);
    }

    fn leftovers(&self) -> Vec<OsString> {
        let mut names = RealDisk.list(self.folder.path()).unwrap();
        names.retain(|name| name != "book.json");
        names
    }

    fn replace(&self, disk: &dyn Disk) -> Result<(), ReplaceCause> {
        replace_checked(disk, &self.path(), "t-1", &[b"ou", b"", b"rs"], OLD)
            .map_err(|error| error.source)
    }
}

fn save(path: &Path, bytes: &[u8]) {
    let temp = path.with_file_name("book.json.123456");
    fs::write(&temp, bytes).unwrap();
    fs::rename(&temp, path).unwrap();
}

/// Called before each disk call, which fails if this returns an error.
type Before<'a> = dyn Fn(usize, &'static str) -> Option<io::Error> + Send + Sync + 'a;

struct Scripted<'a> {
    calls: Mutex<Vec<&'static str>>,
    before: Box<Before<'a>>,
}

impl<'a> Scripted<'a> {
    /// `before` receives the index of the call among all calls, and its name.
    fn new(before: impl Fn(usize, &'static str) -> Option<io::Error> + Send + Sync + 'a) -> Self {
        Self { calls: Mutex::default(), before: Box::new(before) }
    }

    /// `before` receives the index of the exchange.
    #[cfg(target_os = "linux")]
    fn at_exchange(before: impl Fn(usize) + Send + Sync + 'a) -> Self {
        let count = Mutex::new(0);
        Self::new(move |_, name| {
            if name == "exchange" {
                let mut count = count.lock().unwrap();
                before(*count);
                *count += 1;
            }
            None
        })
    }

    fn call(&self, name: &'static str) -> io::Result<()> {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(name);
            calls.len() - 1
        };
        (self.before)(number, name).map_or(Ok(()), Err)
    }
}

impl Disk for Scripted<'_> {
    fn read_into(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.call("read")?;
        RealDisk.read_into(path, buffer)
    }
    fn visit(&self, path: &Path, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.call("read")?;
        RealDisk.visit(path, see)
    }
    fn read_start(&self, path: &Path, until: u8) -> io::Result<FileStart> {
        self.call("read_start")?;
        RealDisk.read_start(path, until)
    }
    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.call("look")?;
        RealDisk.stat(path)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.call("list")?;
        RealDisk.list(folder)
    }
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.call("real_path")?;
        RealDisk.real_path(path)
    }
    fn make_dirs(&self, folder: &Path) -> io::Result<()> {
        self.call("make_dirs")?;
        RealDisk.make_dirs(folder)
    }
    fn write_new(&self, path: &Path, like: Option<&Path>, parts: &[&[u8]]) -> io::Result<()> {
        if let Err(error) = self.call("write_new") {
            // Fails half-way, like a full disk.
            RealDisk.write_new(path, like, &parts[..1])?;
            return Err(error);
        }
        RealDisk.write_new(path, like, parts)
    }
    fn append(&self, path: &Path, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        self.call("append")?;
        RealDisk.append(path, at, parts)
    }
    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        self.call("sync_dir")?;
        RealDisk.sync_dir(folder)
    }
    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("publish")?;
        RealDisk.publish(from, to)
    }
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.call("exchange")?;
        RealDisk.exchange(a, b)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename")?;
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call("remove")?;
        RealDisk.remove(path)
    }
    fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.call("open_lock")?;
        RealDisk.open_lock(path)
    }
}

fn broken() -> io::Error {
    io::Error::other("broken on purpose")
}

#[test]
fn a_new_file_holds_all_parts_and_leaves_nothing_beside_it() {
    let scene = Scene::new();
    let path = scene.folder.path().join("new.json");
    let disk = Scripted::new(|_, _| None);
    create_new(&disk, &path, "t-1", Some(&scene.path()), &[b"a", b"bc"]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    assert_eq!(scene.leftovers(), ["new.json"]);
    assert_eq!(
        *disk.calls.lock().unwrap(),
        ["look", "write_new", "look", "read", "publish", "sync_dir"],
        "checked before it is in place, confirmed after"
    );
}

#[test]
fn a_new_file_never_takes_the_place_of_another() {
    let scene = Scene::new();
    let error = create_new(&RealDisk, &scene.path(), "t-1", None, &[OURS]).unwrap_err();
    assert!(matches!(error.source, WriteCause::Exists));

    // Nor that of one that appears at the last moment.
    let late = scene.folder.path().join("late.json");
    let disk = Scripted::new(|_, name| {
        if name == "publish" {
            fs::write(&late, b"theirs").unwrap();
        }
        None
    });
    let error = create_new(&disk, &late, "t-1", None, &[OURS]).unwrap_err();
    assert!(matches!(error.source, WriteCause::Exists));
    assert_eq!(fs::read(&late).unwrap(), b"theirs");
    assert_eq!(scene.content().unwrap(), OLD);
    assert_eq!(scene.leftovers(), ["late.json"]);
}

#[test]
fn wherever_creating_fails_there_is_nothing_or_all() {
    for broken_call in 0..6 {
        let scene = Scene::new();
        let path = scene.folder.path().join("new.json");
        let disk = Scripted::new(|number, _| (number == broken_call).then(broken));
        let error = create_new(&disk, &path, "t-1", None, &[b"ou", b"rs"]).unwrap_err();
        match error.source {
            WriteCause::Unconfirmed(_) => {
                assert_eq!(fs::read(&path).unwrap(), OURS);
                assert_eq!(scene.leftovers(), ["new.json"]);
            }
            _ => assert_eq!(scene.leftovers(), [""; 0], "call {broken_call}"),
        }
    }
}

#[test]
fn bytes_that_changed_on_their_way_to_the_disk_are_not_published() {
    let scene = Scene::new();
    let temp = scene.folder.path().join(".forklore-t-1.tmp");
    let disk = Scripted::new(|_, name| {
        if name == "read" && temp.exists() {
            fs::write(&temp, b"our").unwrap();
        }
        None
    });
    let path = scene.folder.path().join("new.json");
    let error = create_new(&disk, &path, "t-1", None, &[OURS]).unwrap_err();
    assert!(matches!(error.source, WriteCause::Miswritten));
    let error = scene.replace(&disk).unwrap_err();
    assert!(matches!(error, ReplaceCause::Write(WriteCause::Miswritten)));
    assert_eq!(scene.content().unwrap(), OLD);
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[test]
fn a_temporary_file_left_by_a_crash_is_not_touched() {
    let scene = Scene::new();
    let temp = scene.folder.path().join(".forklore-t-1.tmp");
    fs::write(&temp, b"the only copy").unwrap();
    create_new(&RealDisk, &scene.path(), "t-1", None, &[OURS]).unwrap_err();
    create_new(&RealDisk, &scene.folder.path().join("b"), "t-1", None, &[OURS]).unwrap_err();
    scene.replace(&RealDisk).unwrap_err();
    assert_eq!(fs::read(&temp).unwrap(), b"the only copy");
    assert_eq!(scene.content().unwrap(), OLD);
}

#[test]
fn a_tag_cannot_lead_to_another_folder() {
    let temp = temp_beside(Path::new("/w/book.json"), "../../x");
    assert_eq!(temp, Path::new("/w/.forklore-..-..-x.tmp"));
    assert!(is_our_temp(".forklore-..-..-x.tmp"));
    assert!(!is_our_temp(".forklore-notes.json"));
}

#[test]
fn a_file_that_is_as_expected_is_replaced() {
    let scene = Scene::new();
    let disk = Scripted::new(|_, _| None);
    scene.replace(&disk).unwrap();
    assert_eq!(scene.content().unwrap(), OURS);
    assert_eq!(scene.leftovers(), [""; 0]);
    #[cfg(target_os = "linux")]
    assert_eq!(
        disk.calls.lock().unwrap()[5..],
        ["exchange", "look", "read", "sync_dir", "remove"][..],
        "the old version is compared after the exchange and removed last"
    );
}

#[cfg(unix)]
#[test]
fn the_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    fs::set_permissions(scene.path(), fs::Permissions::from_mode(0o664)).unwrap();
    scene.replace(&RealDisk).unwrap();
    assert_eq!(fs::metadata(scene.path()).unwrap().permissions().mode() & 0o7777, 0o664);
}

#[cfg(unix)]
#[test]
fn a_link_is_not_replaced() {
    let scene = Scene::new();
    let target = scene.folder.path().join("target");
    fs::rename(scene.path(), &target).unwrap();
    std::os::unix::fs::symlink(&target, scene.path()).unwrap();
    assert!(matches!(scene.replace(&RealDisk), Err(ReplaceCause::NotAFile)));
    assert_eq!(fs::read(&target).unwrap(), OLD);
}

#[track_caller]
fn check_changed(result: Result<(), ReplaceCause>, expected: &[&[u8]]) {
    match result {
        Err(ReplaceCause::ChangedMeanwhile { displaced }) => assert_eq!(displaced, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_changed_or_went_before_is_left_alone() {
    let scene = Scene::new();
    scene.save(b"newer");
    check_changed(scene.replace(&RealDisk), &[]);
    assert_eq!(scene.content().unwrap(), b"newer");
    fs::remove_file(scene.path()).unwrap();
    check_changed(scene.replace(&RealDisk), &[]);
    assert_eq!(scene.content(), None);
    assert_eq!(scene.leftovers(), [""; 0]);
}

/// Others save before each exchange whose bit is set. Their last version must be in place, and
/// every version we displaced must have been handed back.
#[cfg(target_os = "linux")]
#[test]
fn whenever_others_save_the_newest_is_in_place_and_the_rest_in_our_hands() {
    for saves in 1..64_u32 {
        let scene = Scene::new();
        let disk = Scripted::at_exchange(|number| {
            if saves >> number & 1 == 1 {
                scene.save(format!("v{number}").as_bytes());
            }
        });
        let result = scene.replace(&disk);
        if saves & 1 == 0 {
            // No save before the first exchange, which completes the replacement.
            assert!(result.is_ok());
            assert_eq!(scene.content().unwrap(), OURS);
            continue;
        }
        // There is another round as long as each exchange was preceded by a save.
        let last = saves.trailing_ones() - 1;
        let earlier = (0..last).map(|number| format!("v{number}").into_bytes());
        match result {
            Err(ReplaceCause::ChangedMeanwhile { displaced }) => {
                assert_eq!(displaced, earlier.collect::<Vec<_>>(), "{saves:b}");
            }
            other => panic!("{saves:b}: {other:?}"),
        }
        assert_eq!(scene.content().unwrap(), format!("v{last}").into_bytes(), "{saves:b}");
        assert_eq!(scene.leftovers(), [""; 0], "{saves:b}");
    }
}

/// Others save before any three calls. Versions that they overwrote themselves are theirs to lose;
/// every other version is in place or was handed back.
#[cfg(target_os = "linux")]
#[test]
fn between_whichever_calls_others_save_nothing_is_lost() {
    const CALLS: usize = 18;
    let triples =
        (0..CALLS).flat_map(|a| (a..CALLS).flat_map(move |b| (b..CALLS).map(move |c| [a, b, c])));
    for at in triples {
        let scene = Scene::new();
        let saved = Mutex::new(Vec::new());
        let saved_over = Mutex::new(Vec::new());
        let disk = Scripted::new(|number, _| {
            if at.contains(&number) {
                let version = format!("v{number}").into_bytes();
                saved_over.lock().unwrap().push(scene.content().unwrap());
                scene.save(&version);
                saved.lock().unwrap().push(version);
            }
            None
        });
        let result = scene.replace(&disk);
        let content = scene.content().unwrap();
        let (saved, saved_over) = (saved.lock().unwrap(), saved_over.lock().unwrap());
        match (&result, saved.last()) {
            (Ok(()), Some(last)) => assert!(
                content == *last && saved_over.contains(&OURS.to_vec()) || content == OURS,
                "{at:?}"
            ),
            (Ok(()), None) => assert_eq!(content, OURS),
            (Err(ReplaceCause::ChangedMeanwhile { displaced }), Some(last)) => {
                assert_eq!(content, *last, "{at:?}");
                for version in &*saved {
                    assert!(
                        [displaced, &*saved_over].iter().any(|list| list.contains(version))
                            || content == *version,
                        "{at:?}: {version:?} is lost"
                    );
                }
            }
            other => panic!("{at:?}: {other:?}"),
        }
        if result.is_ok() && content == OURS {
            // Ours did not displace any version saved by others.
            assert!(saved.iter().all(|version| saved_over.contains(version)), "{at:?}");
        }
        assert_eq!(scene.leftovers(), [""; 0], "{at:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_version_equal_to_an_older_one_is_still_the_newer() {
    let scene = Scene::new();
    let versions: [&[u8]; 3] = [b"said", b"said more", b"said"];
    let disk = Scripted::at_exchange(|number| {
        if let Some(version) = versions.get(number) {
            scene.save(version);
        }
    });
    check_changed(scene.replace(&disk), &[b"said", b"said more"]);
    assert_eq!(scene.content().unwrap(), b"said");
}

#[cfg(target_os = "linux")]
#[test]
fn what_equals_the_copy_in_the_trash_is_not_handed_back() {
    let scene = Scene::new();
    let versions: [&[u8]; 3] = [b"v0", OLD, b"v2"];
    let disk = Scripted::at_exchange(|number| {
        if let Some(version) = versions.get(number) {
            scene.save(version);
        }
    });
    check_changed(scene.replace(&disk), &[b"v0"]);
    assert_eq!(scene.content().unwrap(), b"v2");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_removed_meanwhile_stays_removed() {
    let scene = Scene::new();
    let disk = Scripted::at_exchange(|_| fs::remove_file(scene.path()).unwrap());
    check_changed(scene.replace(&disk), &[]);
    assert_eq!((scene.content(), scene.leftovers().len()), (None, 0));

    let scene = Scene::new();
    let disk = Scripted::at_exchange(|number| match number {
        0 => scene.save(b"v0"),
        _ => fs::remove_file(scene.path()).unwrap(),
    });
    check_changed(scene.replace(&disk), &[b"v0"]);
    assert_eq!((scene.content(), scene.leftovers().len()), (None, 0));
}

/// Fails the first read after the first exchange.
#[cfg(target_os = "linux")]
fn displaced_unreadable<'a>(at_second_exchange: impl Fn() + Send + Sync + 'a) -> Scripted<'a> {
    let exchanges = Mutex::new(0);
    let broke = AtomicBool::new(false);
    Scripted::new(move |_, name| {
        let mut exchanges = exchanges.lock().unwrap();
        if name == "exchange" {
            *exchanges += 1;
            if *exchanges == 2 {
                at_second_exchange();
            }
        }
        let breaks = name == "read" && *exchanges == 1 && !broke.swap(true, Ordering::SeqCst);
        breaks.then(broken)
    })
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_displaced_and_cannot_be_read_goes_back() {
    let scene = Scene::new();
    let result = scene.replace(&displaced_unreadable(|| {}));
    assert!(matches!(
        result,
        Err(ReplaceCause::Write(WriteCause::Io { step: WriteStep::Read, .. }))
    ));
    assert_eq!(scene.content().unwrap(), OLD);
    assert_eq!(scene.leftovers(), [""; 0]);

    // Another program saves at that moment: both versions survive, and the newer one is reported.
    let scene = Scene::new();
    match scene.replace(&displaced_unreadable(|| scene.save(b"newer"))) {
        Err(ReplaceCause::Stranded { temp, displaced, .. }) => {
            assert_eq!(displaced, [b"newer"]);
            assert_eq!(fs::read(temp).unwrap(), b"newer");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.content().unwrap(), OLD);
}

#[cfg(target_os = "linux")]
#[test]
fn saving_without_end_does_not_hold_us_forever() {
    let scene = Scene::new();
    let disk = Scripted::at_exchange(|number| scene.save(format!("v{number}").as_bytes()));
    match scene.replace(&disk) {
        Err(ReplaceCause::Stranded { temp, displaced, .. }) => {
            assert_eq!(displaced.len(), MAX_ROUNDS + 1);
            assert_eq!(fs::read(temp).unwrap(), format!("v{MAX_ROUNDS}").into_bytes());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_exchange_the_file_is_compared_once_more() {
    let unsupported = |name| (name == "exchange").then(|| io::ErrorKind::Unsupported.into());
    let scene = Scene::new();
    scene.replace(&Scripted::new(|_, name| unsupported(name))).unwrap();
    assert_eq!(scene.content().unwrap(), OURS);
    assert_eq!(scene.leftovers(), [""; 0]);

    let scene = Scene::new();
    let disk = Scripted::new(|_, name| {
        if name == "exchange" {
            scene.save(b"newer");
        }
        unsupported(name)
    });
    check_changed(scene.replace(&disk), &[]);
    assert_eq!(scene.content().unwrap(), b"newer");
    assert_eq!(scene.leftovers(), [""; 0]);
}

/// Fails each call once, with and without a save at the worst moment, with and without exchange.
#[test]
fn wherever_replacing_fails_nothing_of_others_is_lost() {
    for saving in [false, true] {
        for exchanging in [false, true] {
            for broken_call in 0..14 {
                let scene = Scene::new();
                let saved = AtomicBool::new(false);
                let disk = Scripted::new(|number, name| {
                    if saving && name == "exchange" && !saved.swap(true, Ordering::SeqCst) {
                        scene.save(b"theirs");
                    }
                    if !exchanging && name == "exchange" {
                        return Some(io::ErrorKind::Unsupported.into());
                    }
                    (number == broken_call).then(broken)
                });
                let result = scene.replace(&disk);
                let what = format!("{saving} {exchanging} {broken_call} {result:?}");

                let newest = if saved.load(Ordering::SeqCst) { &b"theirs"[..] } else { OLD };
                let content = scene.content().unwrap();
                let in_temp =
                    fs::read(scene.folder.path().join(".forklore-t-1.tmp")).unwrap_or_default();
                match result {
                    Ok(()) => assert!(content == OURS && newest == OLD, "{what}"),
                    Err(ReplaceCause::Write(WriteCause::Unconfirmed(_))) => {
                        assert!(content == OURS && newest == OLD, "{what}");
                    }
                    Err(ReplaceCause::Stranded { .. }) => {
                        assert!(content == newest || in_temp == newest, "{what}");
                        continue;
                    }
                    Err(_) => assert_eq!(content, newest, "{what}"),
                }
                // A file that could not be removed holds either ours or a version that is in the
                // trash.
                assert!([OURS, OLD, b""].contains(&&in_temp[..]), "{what}");
            }
        }
    }
}

/// A writer as fast as the machine allows, against as many replacements as fit in: the last version
/// written must be in place, or be the one that our last version was made from.
#[cfg(target_os = "linux")]
#[test]
fn the_last_version_written_survives_a_race() {
    const VERSIONS: usize = 2_000;
    let scene = Scene::new();
    let path = scene.path();
    let done = AtomicBool::new(false);
    let (mut replaced, mut changed) = (0, 0);

    std::thread::scope(|threads| {
        threads.spawn(|| {
            for version in 1..=VERSIONS {
                save(&path, format!("{version}").as_bytes());
                // Lets the other thread run, at irregular intervals.
                if version % 3 == 0 {
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut newest_replaced = 0;
        while !done.load(Ordering::SeqCst) {
            let seen = fs::read(&path).unwrap();
            let ours = [&seen[..], b"+"];
            match replace_checked(&RealDisk, &path, "race", &ours, &seen) {
                Ok(()) => {
                    let version = number_in(&seen);
                    assert!(version >= newest_replaced, "an older version came back");
                    newest_replaced = version;
                    replaced += 1;
                }
                Err(ReplaceError { source: ReplaceCause::ChangedMeanwhile { .. }, .. }) => {
                    changed += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    });

    assert_eq!(number_in(&scene.content().unwrap()), VERSIONS, "{replaced} {changed}");
    assert!(replaced + changed > 0);
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[cfg(target_os = "linux")]
fn number_in(version: &[u8]) -> usize {
    let text = std::str::from_utf8(version).unwrap();
    text.trim_end_matches('+').parse().unwrap_or(0)
}
