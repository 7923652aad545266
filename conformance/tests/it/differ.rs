//! Random programs of fixed seeds: embedded against client and server, and cells in files against cells in memory.

use std::ops::Range;

use halite_conformance::differ::{Apart, Difference, Profile, SubjectSide, difference, program, shrink};

use crate::embedded::Embedded;
use crate::remote::Remote;

const BOTH: Profile = Profile { minor: true, schema: true, placed_apart: false };
const APART: Profile = Profile { placed_apart: true, ..BOTH };

/// Shows the smallest program on which two sides differ, with its seed.
fn agree(seeds: Range<u64>, profile: Profile, try_one: &(dyn Fn(&[String]) -> Option<Difference> + Sync)) {
    for seed in seeds {
        if let Some(found) = try_one(&program(seed, profile)) {
            panic!("seed {seed} with {profile:?}\n{}", shrink(found, profile.placed_apart, 1, try_one));
        }
    }
}

#[test]
fn client_and_server_change_no_answer() {
    // A server for each: where the clock stands still, the regions of a table that is made again have the names of those before,
    // and a client that knows those would ask the wrong one.
    let remote = || SubjectSide::new(Remote::new());
    let embedded = || SubjectSide::new(Embedded::new());
    agree(0..100, BOTH, &|program| difference(program, &mut remote(), &mut embedded()).expect("a program in the language"));
}

#[test]
fn where_cells_lie_changes_no_answer() {
    let side = || SubjectSide::new(Embedded::new());
    agree(0..100, APART, &|program| difference(program, &mut Apart(side()), &mut side()).expect("a program in the language"));
}
