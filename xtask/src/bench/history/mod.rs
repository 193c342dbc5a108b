//! The cost of a history, with each figure next to the alternatives, measured in the same run.

mod append;
mod forks;
mod out;
mod prose;
mod rivals;
mod size;
#[cfg(feature = "sqlite")]
mod sqlite;
pub(crate) mod stories;

use std::fmt;

use anyhow::ensure;

use super::measure::Measured;

#[derive(clap::Args)]
pub(crate) struct HistoryArgs {
    /// Measure only these
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,

    /// How many messages are added to each story
    #[arg(long, default_value_t = 40)]
    rounds: usize,

    /// Leave out the stories that are longer than this many messages
    #[arg(long, default_value_t = 50_000)]
    most: usize,

    /// Fail if a figure misses its bound
    #[arg(long)]
    check: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// One more message, kept in every way there is
    Append,
    /// A story of 300 messages, and what it takes on disk
    Size,
    /// Any version of a file put together again
    Out,
    /// A moment among 100,000 versions
    Forks,
}

pub(crate) fn run(args: &HistoryArgs) -> anyhow::Result<()> {
    let is_wanted = |part| args.only.is_empty() || args.only.contains(&part);
    let mut bounds: Vec<Measured> = Vec::new();
    if is_wanted(Part::Append) {
        if cfg!(not(feature = "sqlite")) {
            println!("SQLite is left out: `cargo xtask` was built without `--features sqlite`.\n");
        }
        let mut all = Vec::new();
        for (messages, entries, share) in [(500, 100, 1), (5_000, 1_000, 1), (50_000, 10_000, 2)] {
            if messages > args.most {
                continue;
            }
            let rounds = (args.rounds / share).max(3);
            let mut measured = append::figures(append::Size { messages, entries, rounds })?;
            println!("{messages} messages, {entries} entries:\n\n{}", measured.table);
            bounds.append(&mut measured.bounds);
            all.push(measured);
        }
        println!("Cost against length:\n\n{}", append::cost_by_length(&all));
    }
    if is_wanted(Part::Size) {
        let (table, bound) = size::figures()?;
        println!("A story of 300 messages, 450 saves, and a book saved 61 times:\n\n{table}");
        bounds.extend(bound);
    }
    if is_wanted(Part::Out) {
        let (table, bound) = out::figures(args.most)?;
        println!("Any version out:\n\n{table}");
        bounds.extend(bound);
    }
    if is_wanted(Part::Forks) {
        let (table, bound) = forks::figures(args.most * 2)?;
        println!("A moment among many versions:\n\n{table}");
        bounds.extend(bound);
    }
    println!("| what | measured | against | ratio | bound |\n|---|---|---|---|---|");
    bounds.iter().for_each(|bound| println!("{bound}"));
    let missed: Vec<&str> =
        bounds.iter().filter(|bound| !bound.holds()).map(|bound| bound.what.as_str()).collect();
    ensure!(!args.check || missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

/// A table in Markdown.
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heads: &[&str]) -> Self {
        Self { heads: heads.iter().map(|head| (*head).to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "| {} |", self.heads.join(" | "))?;
        writeln!(out, "|{}", "---|".repeat(self.heads.len()))?;
        self.rows.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))
    }
}
