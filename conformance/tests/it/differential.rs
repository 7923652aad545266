//! Random programs with fixed seeds: embedded against client and server, and cells in files against
//! cells in memory.

use std::ops::Range;

use halite_conformance::differential::{
    Difference, InMemoryOnly, Profile, SystemImplementation, difference, program, shrink,
};

use crate::embedded::Embedded;
use crate::remote::Remote;

const BOTH: Profile = Profile { minor: true, schema: true, left_in_memory: false };
const IN_MEMORY: Profile = Profile { left_in_memory: true, ..BOTH };

/// Panics with the smallest program on which two sides differ, and its seed.
fn assert_agreement(
    seeds: Range<u64>,
    profile: Profile,
    try_one: &(dyn Fn(&[String]) -> Option<Difference> + Sync),
) {
    for seed in seeds {
        if let Some(found) = try_one(&program(seed, profile)) {
            panic!(
                "seed {seed} with {profile:?}\n{}",
                shrink(found, profile.left_in_memory, 1, try_one)
            );
        }
    }
}

#[test]
fn client_and_server_do_not_change_results() {
    // One server for each: with a clock that does not advance, the regions of a recreated table
    // have the previous names, and a client that has cached those would call the wrong one.
    let remote = || SystemImplementation::new(Remote::new());
    let embedded = || SystemImplementation::new(Embedded::new());
    assert_agreement(0..100, BOTH, &|program| {
        difference(program, &mut remote(), &mut embedded()).expect("a program in the language")
    });
}

#[test]
fn storage_layout_does_not_change_results() {
    let side = || SystemImplementation::new(Embedded::new());
    assert_agreement(0..100, IN_MEMORY, &|program| {
        difference(program, &mut InMemoryOnly(side()), &mut side())
            .expect("a program in the language")
    });
}
