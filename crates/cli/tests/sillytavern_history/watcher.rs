//! The installed `forklore watch`, running next to SillyTavern.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

pub(crate) struct Watcher {
    child: Child,
    words: Receiver<String>,
    said: Vec<String>,
}

impl Watcher {
    /// Starts it, and returns once it reports that it is watching.
    pub(crate) fn start(data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_forklore"))
            .arg("--data")
            .arg(data)
            .arg("watch")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, words) = channel();
        let outputs: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        let mut watcher = Self { child, words, said: Vec::new() };
        watcher.until("Watching the stories");
        watcher
    }

    /// Waits for a line with these words, and returns it.
    pub(crate) fn until(&mut self, words: &str) -> String {
        loop {
            match self.words.recv_timeout(Duration::from_secs(60)) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if line.contains(words) {
                        return line;
                    }
                }
                Err(_) => panic!("it never said {words:?}, only {:#?}", self.said),
            }
        }
    }

    /// How many lines it has printed so far.
    pub(crate) fn count(&self) -> usize {
        self.said.len()
    }

    /// Stops it as a service manager would.
    pub(crate) fn stop(mut self) -> Vec<String> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        self.said.extend(self.words.iter());
        std::mem::take(&mut self.said)
    }

    /// Kills it, as in a power failure.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
