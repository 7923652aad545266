//! Torture test: the built program is killed, its files are damaged, its disk fills and fails, and
//! its clients are hostile. Acknowledged writes must survive, and faults must be reported.
//! `cargo xtask torture` builds and starts it.
//!
//! ```text
//! served.rs   a server process                load.rs    callers that track acknowledged writes     report.rs  trials and findings
//! kills.rs    kills at any moment             damage/    damaged files            full.rs    a disk that fills
//! faults.rs   failing disk calls, through a library of ours that is loaded before the C library (`preload/`)
//! hostile.rs  clients that read nothing, send one byte per second, or send invalid data
//! ```
//! Every wait has a timeout, which is a finding when it expires. The seed determines the events, as
//! far as processes and the scheduler allow; the directory of a finding is kept.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it writes its output to the terminal"
)]

mod context;
mod damage;
mod faults;
mod full;
mod hostile;
mod kills;
mod load;
mod report;
mod served;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use context::Context;
use halite_patience::arguments::parse_number;
use report::Report;

const HELP: &str = "\
Torture the built program for a time, and print a report, which is also written to DIR/report.md.

    --minutes N       duration (10)
    --seed 0x2a       random seed; printed, and random by default
    --part NAME       run only this part; repeatable: kills, full, faults, hostile, damage
    --program PATH    path of the halite command
    --preload PATH    library that makes disk calls fail
    --out DIR         directory of the report and of the findings' stores

Exits with status 1 if data was lost or wrong, an error was not reported, or the program hung or
died.
";

/// Function that runs a part for a while, from a seed.
type Turn = fn(&Context, u64, Instant);

/// Parts that take turns.
const PARTS: [(&str, Turn); 4] = [
    ("kills", kills::turn),
    ("full", full::turn),
    ("faults", faults::turn),
    ("hostile", hostile::turn),
];

/// Part that runs concurrently with them, in this process.
const CONCURRENT_PART: (&str, Turn) = ("damage", damage::turn);

/// Maximum duration of a turn. A turn may have to finish what it has started.
const MAX_TURN_TIME: Duration = Duration::from_secs(30);

struct Arguments {
    minutes: f64,
    seed: u64,
    parts: Vec<String>,
    program: PathBuf,
    preload: Option<PathBuf>,
    out: PathBuf,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1))
        .and_then(|arguments| arguments.map_or(Ok(true), |arguments| torture(&arguments)))
    {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("halite-torture: {message}\n\n{HELP}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let (program, out) = (PathBuf::from("target/debug/halite"), PathBuf::from("target/torture"));
    let mut parsed = Arguments {
        minutes: 10.0,
        seed: fastrand::u64(..),
        parts: Vec::new(),
        program,
        preload: None,
        out,
    };
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            print!("{HELP}");
            return Ok(None);
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--minutes" => {
                parsed.minutes = value
                    .parse()
                    .ok()
                    .filter(|minutes| *minutes > 0.0)
                    .ok_or("--minutes needs a number above 0")?;
            }
            "--seed" => parsed.seed = parse_number(&name, &value)?,
            "--part" if PARTS.iter().chain([&CONCURRENT_PART]).any(|(part, _)| *part == value) => {
                parsed.parts.push(value);
            }
            "--part" => return Err(format!("unknown part {value}")),
            "--program" => parsed.program = value.into(),
            "--preload" => parsed.preload = Some(value.into()),
            "--out" => parsed.out = value.into(),
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(Some(parsed))
}

/// Runs the parts. Returns `true` if nothing was found.
fn torture(arguments: &Arguments) -> Result<bool, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", arguments.out.display());
    if !arguments.program.is_file() {
        return Err(format!(
            "program {} not found; pass the path of the halite command with --program",
            arguments.program.display()
        ));
    }
    std::fs::create_dir_all(&arguments.out).map_err(failed)?;
    let out = arguments.out.canonicalize().map_err(failed)?;
    let found = out.join(format!("found-{:#x}", arguments.seed));
    let work = tempfile::Builder::new().prefix("work").tempdir_in(&out).map_err(failed)?;
    let program = arguments.program.canonicalize().map_err(failed)?;
    let preload = arguments
        .preload
        .as_ref()
        .map(|path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display())))
        .transpose()?;
    println!("seed {:#x}", arguments.seed);
    let context = Context {
        program,
        preload,
        work: work.path().to_owned(),
        report: Report::new(arguments.seed, found),
    };
    let time = Duration::from_secs_f64(arguments.minutes * 60.0);
    let is_chosen = |(name, _): &(&str, Turn)| {
        arguments.parts.is_empty() || arguments.parts.iter().any(|part| part == name)
    };
    let (in_turn, beside): (Vec<_>, Vec<_>) = (
        PARTS.into_iter().filter(is_chosen).collect(),
        [CONCURRENT_PART].into_iter().filter(is_chosen).collect(),
    );
    let end = Instant::now() + time;
    std::thread::scope(|scope| {
        scope.spawn(|| take_turns(&context, &beside, arguments.seed, time, end));
        take_turns(&context, &in_turn, arguments.seed, time, end);
    });
    let text = context.report.text();
    println!("\n{text}");
    std::fs::write(out.join("report.md"), &text).map_err(failed)?;
    Ok(context.report.findings() == 0)
}

/// Runs the parts in turns until the time is over. The first turn of each uses the seed itself.
fn take_turns(context: &Context, parts: &[(&str, Turn)], seed: u64, time: Duration, end: Instant) {
    let turn_time = MAX_TURN_TIME.min(time / u32::try_from(parts.len().max(1)).unwrap_or(1));
    if parts.is_empty() {
        return;
    }
    for round in 0_u64.. {
        for (_, turn) in parts {
            let now = Instant::now();
            if now >= end {
                return;
            }
            turn(
                context,
                seed.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                end.min(now + turn_time),
            );
        }
    }
}
