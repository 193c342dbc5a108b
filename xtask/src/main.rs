//! Development tasks beyond what cargo does. `cargo xtask --help` lists them.

#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

mod bench;
mod dist;
mod pages;
mod publish_extension;
mod wasm;

use clap::Parser;

#[derive(Parser)]
enum Task {
    /// Measure the ratios that the documentation promises, all in one run
    Bench(bench::BenchArgs),
    /// Carry out one operation and print this process's peak memory; `bench` calls it
    #[command(hide = true)]
    Memory(bench::memory::MemoryArgs),
    /// Build the command for every system that this machine can, and packages for npm
    Dist(dist::DistArgs),
    /// Write the man pages and completion scripts into a folder
    Pages {
        #[arg(default_value = "target/pages")]
        folder: std::path::PathBuf,
    },
    /// Write what SillyTavern clones into a folder
    PublishExtension {
        #[arg(default_value = "target/extension")]
        folder: std::path::PathBuf,
    },
    /// Build the WebAssembly that SillyTavern's page loads, into extension/core/pkg
    Wasm(wasm::WasmArgs),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Bench(args) => bench::run(&args),
        Task::Memory(args) => bench::memory::run(&args),
        Task::Dist(args) => dist::run(&args),
        Task::Pages { folder } => pages::write(&folder),
        Task::PublishExtension { folder } => publish_extension::run(&folder),
        Task::Wasm(args) => wasm::run(&args),
    }
}
