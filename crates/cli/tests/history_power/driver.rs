//! The library as a traceable program: this test binary, run once more.

use std::path::{Path, PathBuf};
use std::process::Command;

use forklore_history::upkeep::pack::pack;

use crate::scene::{history_in, keep_diary};

const DOING: &str = "FORKLORE_POWER_DOING";
const FOLDER: &str = "FORKLORE_POWER_FOLDER";

/// A command that performs these steps in a folder: `keep 20 pack keep 3`.
pub(crate) fn driver(folder: &Path, doing: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "driver::it_is_driven", "--ignored", "--nocapture"]);
    command.args(["--test-threads", "1"]).env(DOING, doing).env(FOLDER, folder);
    command
}

#[test]
#[ignore = "the others run it, each in a process of its own"]
#[expect(clippy::print_stdout, reason = "what it says is what it has to keep")]
fn it_is_driven() {
    let (Ok(doing), Some(folder)) = (std::env::var(DOING), std::env::var_os(FOLDER)) else {
        return;
    };
    let mut history = history_in(&PathBuf::from(folder));
    let mut turn = 1000;
    let mut words = doing.split(' ');
    while let Some(word) = words.next() {
        match word {
            "keep" => {
                for _ in 0..words.next().and_then(|number| number.parse().ok()).unwrap_or(1) {
                    turn += 1;
                    println!("kept {}", keep_diary(&mut history, turn));
                }
            }
            "flush" => history.record().unwrap().flush().unwrap(),
            "pack" => drop(pack(&mut history).unwrap()),
            _ => panic!("nobody knows how to {word}"),
        }
    }
    println!("driven to the end");
}
