//! Builds the WebAssembly that the page loads. SillyTavern clones a repository and builds nothing,
//! so the output is committed, and a check compares it with a build of the sources.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use wasm_bindgen_cli_support::Bindgen;

#[derive(clap::Args)]
pub(crate) struct WasmArgs {
    /// Change nothing; fail if the committed files are not what the sources give
    #[arg(long)]
    check: bool,
}

const COMMITTED: &str = "extension/core/pkg";
const MAX_BYTES: usize = 900 * 1024;
const MAX_GZIPPED: usize = 400 * 1024;

pub(crate) fn run(args: &WasmArgs) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in a folder")?;
    let built = build(root)?;
    let wasm = built.get("forklore_bg.wasm").context("there is no forklore_bg.wasm")?;
    for (how, size, most) in
        [("", wasm.len(), MAX_BYTES), (" gzipped", gzipped(wasm)?, MAX_GZIPPED)]
    {
        println!("forklore_bg.wasm: {} KB{how} of at most {}", size / 1024, most / 1024);
        ensure!(size <= most, "the wasm is larger{how} than people should have to load");
    }
    let committed = root.join(COMMITTED);
    if args.check {
        return compare(&built, &committed);
    }
    std::fs::create_dir_all(&committed)?;
    for (name, bytes) in &built {
        std::fs::write(committed.join(name), bytes)?;
    }
    Ok(())
}

/// The bytes that SillyTavern sends to a phone on the same network: `compression()` in its
/// `server-main.js` uses gzip with zlib's default level, and a page without HTTPS gets no Brotli.
fn gzipped(bytes: &[u8]) -> anyhow::Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

fn build(root: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let target = root.join("target");
    // By name: called by its path, it is not rustup's, and dependencies would be compiled with the default toolchain.
    let status = Command::new("cargo")
        .current_dir(root)
        .args(["build", "--quiet", "--locked", "--package", "forklore-wasm"])
        .args(["--target", "wasm32-unknown-unknown", "--profile", "wasm"])
        .arg("--target-dir")
        .arg(&target)
        // Panic messages contain source paths, which must not depend on this machine.
        .env("CARGO_ENCODED_RUSTFLAGS", path_remapping(root)?.join("\u{1f}"))
        .env_remove("RUSTFLAGS")
        .status()?;
    ensure!(status.success(), "cargo could not build the wasm");

    let folder = tempfile::tempdir()?;
    Bindgen::new()
        .input_path(target.join("wasm32-unknown-unknown/wasm/forklore_wasm.wasm"))
        .web(true)?
        .typescript(false)
        .out_name("forklore")
        .omit_default_module_path(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder.path())?;
    shrink(root, &folder.path().join("forklore_bg.wasm"))?;
    let mut built = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path())? {
        let entry = entry?;
        built
            .insert(entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?);
    }
    Ok(built)
}

/// Makes a file smaller with Binaryen's optimizer, which removes what LLVM leaves behind.
fn shrink(root: &Path, file: &Path) -> anyhow::Result<()> {
    let optimizer = root.join("e2e/node_modules/binaryen/bin/wasm-opt");
    ensure!(optimizer.exists(), "wasm-opt is missing: run `npm ci --prefix e2e`");
    let status = Command::new("node")
        .arg(&optimizer)
        .arg("-Oz")
        .args(
            ["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int"]
                .map(feature),
        )
        .args(["reference-types", "sign-ext"].map(feature))
        .arg(file)
        .arg("-o")
        .arg(file)
        .status()?;
    ensure!(status.success(), "wasm-opt failed");
    Ok(())
}

/// What rustc uses by default for this target.
fn feature(name: &str) -> String {
    format!("--enable-{name}")
}

fn path_remapping(root: &Path) -> anyhow::Result<Vec<String>> {
    let home = |variable: &str, default: &str| -> anyhow::Result<PathBuf> {
        let home = std::env::var_os("HOME").context("HOME is not set")?;
        Ok(std::env::var_os(variable).map_or_else(|| Path::new(&home).join(default), PathBuf::from))
    };
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    Ok(vec![
        remap(&home("CARGO_HOME", ".cargo")?, "/cargo"),
        remap(&home("RUSTUP_HOME", ".rustup")?, "/rustup"),
        remap(root, "/forklore"),
        // If the sources of std are installed, rustc uses their paths instead of its own.
        remap(&rust_sources()?, &format!("/rustc/{}", rust_commit()?)),
    ])
}

fn rust_sources() -> anyhow::Result<PathBuf> {
    Ok(Path::new(rustc(&["--print", "sysroot"])?.trim()).join("lib/rustlib/src/rust"))
}

fn rust_commit() -> anyhow::Result<String> {
    let version = rustc(&["--version", "--verbose"])?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    Ok(commit.context("rustc does not say what it was built from")?.to_owned())
}

fn rustc(args: &[&str]) -> anyhow::Result<String> {
    let asked = Command::new("rustc").args(args).output()?;
    ensure!(asked.status.success(), "rustc does not answer");
    Ok(String::from_utf8(asked.stdout)?)
}

fn compare(built: &BTreeMap<String, Vec<u8>>, committed: &Path) -> anyhow::Result<()> {
    let mut different = Vec::new();
    for (name, bytes) in built {
        match std::fs::read(committed.join(name)) {
            Ok(there) if there == *bytes => {}
            Ok(_) => different.push(format!("{name} is not what the sources give")),
            Err(_) => different.push(format!("{name} is missing")),
        }
    }
    for entry in std::fs::read_dir(committed)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !built.contains_key(&name) {
            different.push(format!("{name} is left over"));
        }
    }
    if !different.is_empty() {
        bail!("run `cargo xtask wasm` and commit {COMMITTED}: {}", different.join(", "));
    }
    println!("{COMMITTED} is what the sources give");
    Ok(())
}
