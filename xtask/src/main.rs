//! Tasks of the repository: `cargo xtask NAME`.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program writes its output to the terminal"
)]

mod bench;
mod checks;
mod command;
mod concurrency;
mod error;
mod fuzz;
mod interop;
mod mutants;
mod page_types;
mod prerequisites;
mod sql;
mod steps;
mod tidy;
mod torture;

use std::process::ExitCode;

use command::{cargo, run as run_program};
pub(crate) use error::Result;

const HELP: &str = "\
Tasks of the Halite repository.

    cargo xtask test                run all checks of a change: format, tidy, clippy, tests,
                                    documentation, a short simulation, a minute of fuzzing, and
                                    HBase's own code reading Halite's files
    cargo xtask ci                  same as test
    cargo xtask interop             run only the part of `test` that needs a JDK 17, Maven and Go
    cargo xtask interop --verify    compare HBase's clients on a real HBase with the recorded output
    cargo xtask interop --record    record the output of HBase's clients on a real HBase
    cargo xtask tidy                check crate edges, import circles, dependency reasons, the code
                                    map, test data and prose
    cargo xtask page-types          check the types of the web page's modules (needs node-typescript)
    cargo xtask sql                 run the tests of SQL, which compile DataFusion
    cargo xtask background          run the steps of `test` that it runs beside the tests: the build of
                                    the fuzz targets, a few mutants, bench/, interleavings of threads
    cargo xtask sizes               print lengths of files and functions, and assertions
    cargo xtask sim [--seed 0x2a]   simulate the engine; a failed run prints its seed; --seeds N runs
                                    N seeds on all cores
    cargo xtask mutants [NAME...]   plant bugs in a copy of the tree; the suite must find each of them
    cargo xtask world [--seed 0x2a] simulate client, server and engine together, and check that every
                                    row is linearizable
    cargo xtask fuzz [TARGET N]     fuzz all decoders for a minute each, or one target for N seconds
    cargo xtask loom                run the memstore and the read point in every thread interleaving
    cargo xtask races               run the memstore's readers and writer under the thread sanitizer
    cargo xtask torture [--minutes N]
                                    kill the built program, damage its files and fill its disk; by hand
                                    and nightly (see --help)
    cargo xtask golden --update     rewrite the golden files; review the difference before committing
    cargo xtask codegen [--check]   generate crates/wire's code from its .proto files, or check it
    cargo xtask bench NAME [ARGS]   run a benchmark; without NAME, list the benchmarks

With CI=true in the environment, `test` continues after a failed step, and a missing JDK, Maven, Go,
C++ compiler, Chromium or TypeScript compiler is a failure.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os(fuzz::COMPILER).is_some() {
        eprintln!("xtask: {}", fuzz::compile(&arguments));
        return ExitCode::FAILURE;
    }
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
        (checks::BACKGROUND, []) => checks::background(),
        (checks::BACKGROUND, [ends]) if ends == checks::UNTIL_INPUT_ENDS => {
            command::end_with_input();
            checks::background()
        }
        ("tidy", []) => tidy::run(),
        ("page-types", []) => match page_types::step()? {
            steps::StepOutcome::Done => Ok(()),
            steps::StepOutcome::Skipped(missing) => Err(missing),
        },
        ("sql", []) => command::run(&mut sql::tests()),
        ("sizes", []) => tidy::sizes::run(),
        ("sim", rest) => checks::simulation(rest),
        ("world", rest) => checks::world(rest),
        ("loom", []) => concurrency::loom(),
        ("races", []) => concurrency::races(),
        ("mutants", names) => mutants::run(names),
        ("fuzz", rest) => fuzz::run_named(rest),
        ("torture", rest) => torture::run_battery(rest),
        ("golden", [update]) if update == "--update" => checks::update_golden(),
        ("golden", _) => Err("golden files are checked by `cargo xtask test`; to rewrite them: \
                              cargo xtask golden --update"
            .to_string()),
        ("interop", rest) => interop::run_parts(rest),
        ("codegen", rest) => run_program(
            cargo(["run", "--quiet", "--package", "halite-wire-codegen", "--"]).args(rest),
        ),
        ("bench", rest) => bench::run_or_list(rest),
        (
            "test" | "ci" | "tidy" | "page-types" | "sql" | "sizes" | "loom" | "races",
            [extra, ..],
        ) => Err(format!("unexpected arguments {extra:?} for `{task}`; see cargo xtask --help")),
        _ => Err(format!("unknown task {task:?}; see cargo xtask --help")),
    }
}
