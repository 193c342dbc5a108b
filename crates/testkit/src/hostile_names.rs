//! Malicious names, meant to escape the folder or to break a program that prints them.

use fastrand::Rng;

const WHOLE: [&str; 40] = [
    "",
    " ",
    ".",
    "..",
    "...",
    "/",
    "\\",
    "../../escape",
    "..\\..\\escape",
    "/etc/passwd",
    "C:\\Windows\\x",
    "\\\\server\\share",
    "~",
    "~/x",
    "file:///etc/passwd",
    "con",
    "CON.txt",
    "nul",
    "aux.",
    "com1",
    "LPT9.x",
    "Branch #1 - con.x",
    "Checkpoint #7 - nul.",
    "Branch #1 - ...",
    "x - Branch #99999999999999999999",
    ".jsonl",
    ".json",
    "x.jsonl",
    "x.json.1234567890",
    "-rf",
    "--name",
    "$(touch escape)",
    "`touch escape`",
    "%2e%2e%2fescape",
    "..%c0%af",
    "x\0y",
    "\0",
    ".forklore-00000001-0.tmp",
    "_forklore",
    "x. . .",
];

const PIECES: [&str; 36] = [
    "../",
    "..\\",
    "/",
    "\\",
    "\0",
    ".",
    "..",
    " ",
    "con",
    "nul.",
    "com1.",
    "\u{1b}[31m",
    "\u{1b}]0;title\u{7}",
    "\u{9b}2J",
    "\r\n",
    "\n",
    "\t",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "é",
    "e\u{301}",
    "\u{300}\u{301}\u{302}",
    "雨",
    "👩‍👩‍👧",
    "😀",
    "ﬁ",
    "İ",
    "ß",
    "ς",
    "a",
    "B",
    "?*:|<>\"",
    "%00",
    "Branch #1 - ",
];

pub fn name(rng: &mut Rng) -> String {
    match rng.u8(..6) {
        0 => WHOLE[rng.usize(..WHOLE.len())].to_owned(),
        1 => long(rng),
        _ => (0..rng.usize(1..8)).map(|_| PIECES[rng.usize(..PIECES.len())]).collect(),
    }
}

/// A name near the length limits of SillyTavern and file systems.
fn long(rng: &mut Rng) -> String {
    let unit = ["x", "雨", "😀", "é", "e\u{301}", "."][rng.usize(..6)];
    let length = [100, 199, 200, 201, 237, 238, 239, 240, 244, 245, 249, 250, 254, 255, 256, 1000]
        [rng.usize(..16)];
    let mut name = unit.repeat(length / unit.len());
    while name.len() < length {
        name.push('y');
    }
    name
}

/// Whether a file of this name can exist on the current system.
pub fn can_be_a_file(name: &str) -> bool {
    !name.contains(['/', '\0']) && name.len() <= 255 && !matches!(name, "" | "." | "..")
}
