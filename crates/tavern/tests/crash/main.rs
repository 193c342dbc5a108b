//! Every command that changes files, interrupted at every disk call, or with `FORKLORE_NTH_CALL=3` at every third one: for
//! each kind of fault at others.
#![expect(clippy::unwrap_used, reason = "the scenes are tests too")]

mod cases;
mod found;
mod states;

use std::sync::Mutex;

use forklore_testkit::cases::count_from;
use forklore_testkit::faulty::{Errno, Fault, Written};

use states::{Baseline, Power};

/// How many states were tried, by case and kind of fault.
type Tally = Vec<(String, &'static str, usize)>;

/// The faults to try at a call, given its index and name.
type Faults<'a> = dyn Fn(usize, &str) -> Vec<Fault> + Sync + 'a;

/// How many of the failures are shown.
const MAX_SHOWN: usize = 20;

/// Of so many disk calls one is interrupted.
fn nth_call() -> usize {
    count_from("FORKLORE_NTH_CALL", 1)
}

/// Tries each kind of fault at every `nth_call` of every case, and one past the last.
fn try_all(cases: Vec<cases::Case>, kinds: &[(&'static str, &Faults<'_>)], power: Power) -> Tally {
    let queue = Mutex::new(cases);
    let tally = Mutex::new(Tally::new());
    let wrong = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(case) = queue.lock().unwrap().pop() else { break };
                    let baseline = Baseline::of(case);
                    for (number, (kind, faults)) in kinds.iter().enumerate() {
                        let mut states = 0;
                        let places = (0..=baseline.calls.len()).skip(number % nth_call());
                        for at in places.step_by(nth_call()) {
                            let call = baseline.calls.get(at).map_or("nothing", |call| call.name);
                            for fault in faults(at, call) {
                                let found = baseline.run_with(fault, power).check();
                                wrong.lock().unwrap().extend(found);
                                states += 1;
                            }
                        }
                        tally.lock().unwrap().push((baseline.case.name.clone(), kind, states));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let shown = wrong.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} things are wrong:\n{shown}", wrong.len());
    let mut tally = tally.into_inner().unwrap();
    tally.sort();
    tally
}

/// At a call that writes a file, one fault for every amount that may have been written.
fn kills(at: usize, call: &str) -> Vec<Fault> {
    let amounts: &[Written] = match call {
        "write_new" => &[
            Written::NoFile,
            Written::Nothing,
            Written::Half,
            Written::AllButOneByte,
            Written::All,
        ],
        _ => &[Written::NoFile],
    };
    amounts.iter().map(|&written| Fault::Kill { at, written }).collect()
}

#[expect(clippy::print_stdout, reason = "the number of states is a result, not a guess")]
fn report(tally: &Tally) -> usize {
    for (name, kind, states) in tally {
        println!("{states:>6}  {name}, {kind}");
    }
    let total = tally.iter().map(|(_, _, states)| states).sum();
    println!("{total:>6}  states in all");
    total
}

#[test]
fn wherever_a_command_is_killed_or_fails_nothing_is_lost_or_half_done() {
    let tally = try_all(
        cases::all(),
        &[
            ("killed", &kills),
            ("no space", &|at, _| vec![Fault::Error { at, errno: Errno::NoSpace }]),
            ("input/output error", &|at, _| vec![Fault::Error { at, errno: Errno::Io }]),
        ],
        Power::Stays,
    );
    assert!(report(&tally) >= 2_000 / nth_call());
}

#[test]
fn on_a_disk_that_is_and_stays_full_nothing_is_lost_or_half_done() {
    let full: &Faults<'_> = &|at, _| vec![Fault::Full { at }];
    let tally = try_all(cases::all(), &[("disk full", full)], Power::Stays);
    assert!(report(&tally) > 0);
}

#[test]
fn whenever_the_power_goes_there_is_the_old_or_the_new_and_what_was_said_to_be_done_stays_done() {
    let cases = cases::named(&[
        "checkpoint",
        "branch",
        "group branch",
        "split",
        "restore",
        "merge",
        "clean",
    ]);
    let tally = try_all(cases, &[("power cut", &kills)], Power::IsCut);
    assert!(report(&tally) > 0);
}
