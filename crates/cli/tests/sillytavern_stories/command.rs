//! The real command, as a separate process.

use std::process::{Command, Stdio};

use forklore_testkit::sillytavern::Server;
use serde_json::Value;

/// The result of one run of the command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command with text output.
pub(crate) fn forklore(server: &Server, args: &[&str]) -> Ran {
    let ran = command(server, args).output().unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        out: String::from_utf8(ran.stdout).unwrap(),
        err: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// Runs the command with `--json`, and returns its exit code and answer.
pub(crate) fn run_json(server: &Server, args: &[&str]) -> (i32, Value) {
    let ran = forklore(server, &[args, &["--json"]].concat());
    let answer = serde_json::from_str(&ran.out);
    (ran.code, answer.unwrap_or_else(|error| panic!("{args:?} did not answer: {error}: {ran:?}")))
}

pub(crate) fn command(server: &Server, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forklore"));
    command.args(args).arg("--data").arg(server.data_root()).stdin(Stdio::null());
    command
}

impl Ran {
    /// Asserts success, and returns the output.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// Asserts a refusal for each of these reasons, with nothing on stdout.
    #[track_caller]
    pub(crate) fn refused(self, reasons: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{self:?}");
        for reason in reasons {
            assert!(self.err.contains(reason), "{reason:?} is not said: {self:?}");
        }
    }
}

/// The texts in a list of an answer. Each item may be an object with a code.
#[track_caller]
pub(crate) fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    list.iter().map(|said| said.as_str().or_else(|| said["text"].as_str()).unwrap()).collect()
}
