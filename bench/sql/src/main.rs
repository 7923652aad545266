//! Times statements of SQL beside the calls of the store that they become, and beside SQLite, with
//! the same rows in one run. Prints medians of several rounds, in which the contestants take turns,
//! and ratios.

mod reads;
mod store;
mod timing;
mod writes;

use std::error::Error;
use std::process::ExitCode;

/// Result of a part of the benchmark.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HELP: &str = "\
Compare statements of SQL on an embedded store with the store's own calls and with SQLite.

    --rows N      rows of the table that is read by key [200000]
    --calls N     calls of each contestant in a round [20000]
    --rounds N    rounds, of which the median counts [5]
";

/// What is measured how often.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) rows: u32,
    pub(crate) calls: u32,
    pub(crate) rounds: u32,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| arguments.map_or(Ok(()), |arguments| run(&arguments))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench sql: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line; `None` after the help.
fn arguments() -> Result<Option<Arguments>> {
    let mut arguments = Arguments { rows: 200_000, calls: 20_000, rounds: 5 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let field = match word.as_str() {
            "--rows" => &mut arguments.rows,
            "--calls" => &mut arguments.calls,
            "--rounds" => &mut arguments.rounds,
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(None);
            }
            other => return Err(format!("unknown option '{other}'; --help lists them").into()),
        };
        let value = words.next().ok_or_else(|| format!("{word} requires a number"))?;
        *field = value.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(|| {
            format!("invalid value '{value}' for {word}: expected a number above 0")
        })?;
    }
    Ok(Some(arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    let cores = std::thread::available_parallelism()?;
    println!(
        "{} rows, {} calls a round, {} rounds, {cores} cores; log handed to the operating system \
         (SQLite: WAL, synchronous = OFF)\n",
        arguments.rows, arguments.calls, arguments.rounds
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = store::Prepared::new(arguments).await?;
        reads::by_key(&store, arguments).await?;
        reads::newest_of_a_user(&store, arguments).await?;
        writes::single_rows(&store, arguments).await?;
        writes::batches(&store, arguments).await
    })
}
