//! Every seed of a pack or a bundle in `fuzz/corpus` goes through its target. `fuzz/` runs the same targets
//! under libFuzzer.

mod targets;

use forklore_testkit::fuzz::seeds;

#[test]
fn fuzz_seeds_of_packs() {
    seeds::run("pack", targets::pack);
}

#[test]
fn fuzz_seeds_of_bundles() {
    seeds::run("bundle", targets::bundle);
}

#[test]
fn fuzz_seeds_of_objects() {
    seeds::run("objects", targets::objects);
}
