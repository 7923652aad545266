//! Times statements of SQL beside the calls of the store that they become, beside SQLite and beside
//! DataFusion, with the same rows in one run. Prints medians of several rounds, in which the
//! contestants take turns, and ratios.

mod answers;
mod arguments;
mod clickbench;
mod door;
mod error;
mod families;
mod groups;
mod joins;
mod latest;
mod marks;
mod reads;
mod scanned;
mod scans;
mod store;
mod timing;
mod tpch;
mod writes;

use std::process::ExitCode;

use arguments::Arguments;
use error::Result;

/// Bytes of the stack of a thread: plans are trees, and are executed by recursion.
const STACK_BYTES: usize = 64 << 20;

fn main() -> ExitCode {
    let run = |arguments: Option<Arguments>| arguments.map_or(Ok(()), |arguments| run(&arguments));
    match Arguments::parse().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench sql: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    if let Some(child) = &arguments.child {
        return runtime.block_on(groups::in_child(child));
    }
    let cores = std::thread::available_parallelism()?;
    println!(
        "{cores} cores; log handed to the operating system (SQLite: WAL, synchronous = OFF)\n"
    );
    runtime.block_on(async {
        if arguments.wants(&["B1", "B2", "B8"]) {
            by_key(arguments).await?;
        }
        if arguments.wants(&["B3", "B4", "B5", "B7", "B10", "B11", "B12"]) {
            of_many_rows(arguments).await?;
        }
        if arguments.wants(&["B12"]) {
            families::narrow_condition(arguments).await?;
        }
        if arguments.wants(&["B9"]) {
            latest::of_each_device(arguments).await?;
        }
        if arguments.wants(&["B6"]) {
            tpch::all_queries(arguments).await?;
        }
        if arguments.wants(&["B13"]) {
            clickbench::all_queries(arguments).await?;
        }
        Ok(())
    })
}

/// Questions about single rows and small ranges.
async fn by_key(arguments: &Arguments) -> Result<()> {
    let store = store::Prepared::new(arguments).await?;
    if arguments.wants(&["B1"]) {
        reads::by_key(&store, arguments).await?;
        door::by_key(&store, arguments).await?;
    }
    if arguments.wants(&["B2"]) {
        reads::newest_of_a_user(&store, arguments).await?;
    }
    if arguments.wants(&["B8"]) {
        writes::single_rows(&store, arguments).await?;
        writes::batches(&store, arguments).await?;
        writes::of_a_query(&store, arguments).await?;
    }
    Ok(())
}

/// Questions about one table of many rows.
async fn of_many_rows(arguments: &Arguments) -> Result<()> {
    let table = scanned::Scanned::new(arguments).await?;
    if arguments.wants(&["B3"]) {
        scans::count(&table, arguments).await?;
    }
    if arguments.wants(&["B4", "B5"]) {
        scans::columns_and_groups(&table, arguments).await?;
    }
    if arguments.wants(&["B7"]) {
        joins::by_key(&table, arguments).await?;
    }
    if arguments.wants(&["B12"]) {
        joins::listed_keys(&table, arguments).await?;
    }
    let table = if arguments.wants(&["B10"]) { table.reopened()? } else { table };
    if arguments.wants(&["B10"]) {
        door::gets_beside_groups(&table, arguments).await?;
    }
    if arguments.wants(&["B11"]) {
        groups::many(table, arguments)?;
    }
    Ok(())
}
