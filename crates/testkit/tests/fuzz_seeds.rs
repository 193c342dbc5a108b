//! Every seed in `fuzz/corpus` goes through its target.

use forklore_testkit::fuzz::{self, seeds};

#[test]
fn fuzz_seeds_of_json() {
    seeds::run("json", fuzz::json);
}

#[test]
fn fuzz_seeds_of_chats() {
    seeds::run("chat", fuzz::chat);
}

#[test]
fn fuzz_seeds_of_books() {
    seeds::run("book", fuzz::book);
}

#[test]
fn fuzz_seeds_of_records() {
    seeds::run("record", fuzz::record);
}

#[test]
fn fuzz_seeds_of_cards() {
    seeds::run("card", fuzz::card);
}

#[test]
fn fuzz_seeds_of_save_requests() {
    seeds::run("save_request", fuzz::save_request);
}
