//! Checks JSON reading and writing, and the comparison of names, against Node.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::sillytavern::folding::folded;
use forklore_json::{Indent, Json, Raw};
use forklore_testkit::cases::{count_from, seed_of};
use forklore_testkit::damage::Damage;
use forklore_testkit::json_text::{self, Oddities};

/// Passes all `texts` to Node at once and returns its length-prefixed answers.
fn ask_node(mode: &str, texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/javascript.mjs");
    let mut node = Command::new("node")
        .args([script, mode])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node is on the path");
    let mut stdin = node.stdin.take().expect("it was piped");
    let mut answer = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for text in texts {
                let length = u32::try_from(text.len()).expect("texts are small").to_le_bytes();
                stdin.write_all(&length).and_then(|()| stdin.write_all(text)).expect("node reads");
            }
        });
        let mut stdout = node.stdout.take().expect("it was piped");
        stdout.read_to_end(&mut answer).expect("node answers");
    });
    assert!(node.wait().expect("node ends").success());
    let mut frames = Vec::new();
    let mut rest = &answer[..];
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (frame, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        frames.push(frame.to_vec());
        rest = after;
    }
    frames
}

/// Generates texts, each with its seed.
fn generate(
    law: &str,
    count: usize,
    grow: impl Fn(&mut fastrand::Rng) -> Vec<u8>,
) -> Vec<(u64, Vec<u8>)> {
    (0..count)
        .map(|number| {
            let seed = seed_of(law, number);
            (seed, grow(&mut fastrand::Rng::with_seed(seed)))
        })
        .collect()
}

#[test]
fn values_are_read_and_written_as_node_does() {
    let texts = generate("values", count_from("FORKLORE_TEXTS", 100_000), |rng| {
        let odd = if rng.bool() { Oddities::ANY } else { Oddities::TIGHT };
        let text = json_text::document(rng, odd);
        if rng.u8(..3) == 0 { json_text::mutated(rng, &text) } else { text }
    });
    let (seeds, texts): (Vec<u64>, Vec<Vec<u8>>) = texts.into_iter().unzip();
    let mut answers = ask_node("values", &texts).into_iter();
    let mut taken = 0;
    for (seed, text) in seeds.iter().zip(&texts) {
        let shown = String::from_utf8_lossy(text);
        let node_takes_it = answers.next().expect("an answer for each") == b"yes";
        assert_eq!(Raw::document(text).is_ok(), node_takes_it, "seed {seed}: {shown}");
        if !node_takes_it {
            assert!(Json::parse(text).is_err(), "seed {seed}: {shown}");
            continue;
        }
        taken += 1;
        let value = Json::parse(text).expect("it is not too deep");
        for (layout, ours) in
            [("tight", value.stringify()), ("indented", value.stringify_with(Indent::BOOK))]
        {
            let nodes = answers.next().expect("an answer for each");
            let (ours, nodes) = (String::from_utf8_lossy(&ours), String::from_utf8_lossy(&nodes));
            assert_eq!(ours, nodes, "seed {seed}, {layout}: {shown}");
        }
    }
    assert_eq!(answers.next(), None);
    assert!(taken > texts.len() / 2 && taken < texts.len() * 9 / 10, "{taken} of {}", texts.len());
}

#[test]
fn the_lines_of_a_damaged_chat_are_the_ones_sillytavern_keeps() {
    let files = generate("lines", count_from("FORKLORE_FILES", 5_000), |rng| {
        let mut lines = vec![br#"{"chat_metadata":{}}"#.to_vec()];
        for _ in 0..rng.usize(..12) {
            let line = match rng.u8(..6) {
                0 => [&b"null"[..], b"0", b"\"\"", b"false", b"[]", b"-0.0", b"\"0\"", b"1e-400"]
                    [rng.usize(..8)]
                .to_vec(),
                1 => {
                    let text = json_text::document(rng, Oddities::LINE);
                    json_text::mutated(rng, &text)
                }
                _ => json_text::document(rng, Oddities::LINE),
            };
            lines.push(line);
        }
        let file = lines.join(&b'\n');
        let once = Damage::any(rng).to(rng, &file);
        if rng.bool() { Damage::any(rng).to(rng, &once) } else { once }
    });
    let (seeds, files): (Vec<u64>, Vec<Vec<u8>>) = files.into_iter().unzip();
    let answers = ask_node("lines", &files);
    assert_eq!(answers.len(), files.len());
    for ((seed, file), nodes) in seeds.iter().zip(&files).zip(&answers) {
        // In a group chat the header must look like one, so no line is hidden.
        let chat = Chat::read(file, ChatKind::Group);
        let line_number = |offset: usize| file[..offset].iter().filter(|&&b| b == b'\n').count();
        let kept: Vec<String> = chat
            .header_range()
            .into_iter()
            .chain((0..chat.len()).map(|index| chat.line_range(index).expect("it is there")))
            .map(|range| line_number(range.start).to_string())
            .collect();
        let nodes = String::from_utf8_lossy(nodes);
        assert_eq!(kept.join(" "), nodes, "seed {seed}: {}", String::from_utf8_lossy(file));
    }
}

#[test]
fn the_page_and_the_command_compare_names_alike() {
    let every: Vec<char> = ('\0'..=char::MAX).collect();
    // Alone, at both ends of a word with a final sigma, and between marks that have to be sorted.
    let names = |c: &char| format!("{c} {c}ΑΣ ΑΣ{c} ΑΣ{c}Α a{c}\u{5b0}\u{323}\u{334}{c}");
    let blocks: Vec<String> = every
        .chunks(256)
        .map(|block| block.iter().map(names).collect::<Vec<_>>().join(" "))
        .collect();
    let answers =
        ask_node("names", &blocks.iter().map(|it| it.clone().into_bytes()).collect::<Vec<_>>());
    assert_eq!(answers.len(), blocks.len());
    let mut compared = 0;
    for (block, answer) in blocks.iter().zip(&answers) {
        let nodes = std::str::from_utf8(answer).expect("Node writes UTF-8");
        assert_eq!(block.split(' ').count(), nodes.split(' ').count());
        for (name, node) in
            block.split(' ').zip(nodes.split(' ')).filter(|(_, node)| !node.is_empty())
        {
            assert_eq!(folded(name), node, "{name:?}");
            compared += 1;
        }
    }
    assert!(compared > 1_000_000, "{compared}");
}
