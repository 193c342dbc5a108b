//! Rebuilds versions with nothing but the repository, git, and the description in `docs/reference/format.md`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::life::Rebuilt;

fn git(repository: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

pub(crate) fn fsck(repository: &Path) {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["fsck", "--strict", "--full", "--no-dangling"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // `HEAD` points to no branch, because no single timeline is the main one.
    let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("notice: ")).collect();
    assert!(output.status.success() && said.is_empty(), "{said:?}");
}

/// Every version is the concatenation of the blobs in its tree, in git's order.
pub(crate) fn rebuilt(repository: &Path) -> Rebuilt {
    let commits = String::from_utf8(git(repository, &["rev-list", "--branches"])).unwrap();
    let mut reader = Batch::new(repository);
    let mut known: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut rebuilt = Rebuilt::new();
    for commit in commits.lines() {
        let text = String::from_utf8(reader.object(commit)).unwrap();
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let mut file = Vec::new();
        let listed = git(repository, &["ls-tree", "-r", "--object-only", commit]);
        for blob in String::from_utf8(listed).unwrap().lines() {
            let bytes = known.entry(blob.to_owned()).or_insert_with(|| reader.object(blob));
            file.extend_from_slice(bytes);
        }
        let order = value("Order: ").parse().unwrap();
        rebuilt.insert(order, (value("File: ").to_owned(), file));
    }
    rebuilt
}

/// `git cat-file --batch`, queried one object at a time.
struct Batch {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Batch {
    fn new(repository: &Path) -> Self {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(repository)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn object(&mut self, id: &str) -> Vec<u8> {
        writeln!(self.child.stdin.as_mut().unwrap(), "{id}").unwrap();
        let mut header = String::new();
        self.answers.read_line(&mut header).unwrap();
        let size: usize = header.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let mut bytes = vec![0; size + 1];
        self.answers.read_exact(&mut bytes).unwrap();
        bytes.pop();
        bytes
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
