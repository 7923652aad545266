//! Tasks of the repository: `cargo xtask NAME`.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person at the terminal"
)]

mod bench;
mod checks;
mod command;
mod concurrency;
mod error;
mod fuzz;
mod interop;
mod mutants;
mod prerequisites;
mod steps;
mod tidy;
mod torture;

use std::process::ExitCode;

use command::{cargo, run as run_program};
pub(crate) use error::Result;

const HELP: &str = "\
Tasks of the Halite repository.

    cargo xtask test                everything a change must pass: format, tidy, clippy, tests, documentation,
                                    a short simulation, a minute of fuzzing, and HBase's own code reading what Halite writes
    cargo xtask ci                  the same
    cargo xtask interop             only the part of `test` that needs a JDK 17, Maven and Go
    cargo xtask interop --verify   HBase's clients against a real HBase that is started for it: it must say what is recorded
    cargo xtask interop --record    the same, and what it says is recorded
    cargo xtask tidy                what no compiler checks: crate edges, dependency reasons, code map, test data
    cargo xtask sim [--seed 0x2a]   simulate; a failing run prints the seed that repeats it; --seeds N runs many on all cores
    cargo xtask mutants [NAME...]   plant bugs in a copy of the tree; the suite must find every one of them
    cargo xtask world [--seed 0x2a] client, server and engine in one simulation, with every row checked for an order that explains it
    cargo xtask fuzz [TARGET N]     damaged bytes for what reads a socket or a disk; every target for a minute, or one for N seconds
    cargo xtask loom                the memstore and the read point in every interleaving of their threads
    cargo xtask races               the memstore's readers beside its writer, under the thread sanitizer
    cargo xtask torture [--minutes N]
                                    the built program is killed, its files damaged, its disk filled; by hand and nightly (--help tells more)
    cargo xtask golden --update     rewrite the golden files; read the difference as a document before committing it
    cargo xtask codegen [--check]   write crates/wire's code from its .proto files, or say whether it is what they give
    cargo xtask bench NAME [ARGS]   measure; without NAME it lists what there is

With CI=true in the environment, `test` goes on after a failed step, and a missing JDK, Maven, Go or C++ compiler is a failure.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let Some((task, rest)) = arguments.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    match (task.as_str(), rest) {
        ("help" | "--help" | "-h", _) => {
            print!("{HELP}");
            Ok(())
        }
        ("test" | "ci", []) => checks::run_all(),
        ("tidy", []) => tidy::run(),
        ("sim", rest) => checks::simulation(rest),
        ("world", rest) => checks::world(rest),
        ("loom", []) => concurrency::loom(),
        ("races", []) => concurrency::races(),
        ("mutants", names) => mutants::run(names),
        ("fuzz", rest) => fuzz::run_named(rest),
        ("torture", rest) => torture::run_battery(rest),
        ("golden", [update]) if update == "--update" => checks::update_golden(),
        ("golden", _) => Err("golden files are checked by `cargo xtask test`; to rewrite them: cargo xtask golden --update".to_string()),
        ("interop", rest) => interop::run_parts(rest),
        ("codegen", rest) => run_program(cargo(["run", "--quiet", "--package", "halite-wire-codegen", "--"]).args(rest)),
        ("bench", rest) => bench::run_or_list(rest),
        ("test" | "ci" | "tidy" | "loom" | "races", [extra, ..]) => {
            Err(format!("`{task}` takes no arguments, but got {extra:?}; see cargo xtask --help"))
        }
        _ => Err(format!("there is no task {task:?}; see cargo xtask --help")),
    }
}
