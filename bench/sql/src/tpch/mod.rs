//! B6: TPC-H, all 22 answers compared with SQLite's.

mod data;
mod queries;

use std::collections::HashMap;

use halite::sql::datafusion::common::tree_node::TreeNodeRecursion;
use halite::sql::datafusion::logical_expr::LogicalPlan;

use crate::answers::{difference, of_batches, of_sqlite};
use crate::arguments::Arguments;
use crate::error::Result;
use crate::marks::Dialect;
use crate::scanned::{batches, rows_of};
use crate::timing::{Clock, Lap, middle};
use data::Data;
use queries::query;

const QUERIES: usize = 22;

/// Medians of a query.
struct Figures {
    halite: f64,
    cpu: f64,
    memory: f64,
    scans: f64,
    sqlite: f64,
    wrong: Option<String>,
}

/// Runs all queries on a store, in memory and in SQLite.
pub(crate) async fn all_queries(arguments: &Arguments) -> Result<()> {
    let scale = arguments.scale;
    println!("B6: TPC-H, scale {scale}");
    let folder = tempfile::tempdir()?;
    let data = Data::new(folder.path(), scale).await?;
    println!(
        "  {:<5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9} {:>7}  answer",
        "query", "ms", "CPU ms", "scan ms", "memory ms", "both ms", "ratio", "SQLite ms", "ratio"
    );
    let mut scanned = HashMap::new();
    let mut sum =
        Figures { halite: 0.0, cpu: 0.0, memory: 0.0, scans: 0.0, sqlite: 0.0, wrong: None };
    let mut wrong = 0;
    for number in 1..=QUERIES {
        let figures = one_query(&data, number, arguments, &mut scanned).await?;
        print_line(&format!("Q{number}"), &figures);
        sum.halite += figures.halite;
        sum.cpu += figures.cpu;
        sum.memory += figures.memory;
        sum.scans += figures.scans;
        sum.sqlite += figures.sqlite;
        wrong += usize::from(figures.wrong.is_some());
    }
    sum.wrong = (wrong > 0).then(|| format!("{wrong} of {QUERIES} are wrong"));
    print_line("sum", &sum);
    println!("  goals: 1.3 times scan and memory, 1 times SQLite in sum\n");
    match sum.wrong {
        Some(wrong) => Err(wrong.into()),
        None => Ok(()),
    }
}

fn print_line(name: &str, figures: &Figures) {
    let both = figures.scans + figures.memory;
    let ms = |seconds: f64| seconds * 1e3;
    println!(
        "  {name:<5} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>7.2} {:>9.1} {:>7.2}  {}",
        ms(figures.halite),
        ms(figures.cpu),
        ms(figures.scans),
        ms(figures.memory),
        ms(both),
        figures.halite / both,
        ms(figures.sqlite),
        figures.halite / figures.sqlite,
        figures.wrong.as_deref().unwrap_or("right")
    );
}

async fn one_query(
    data: &Data,
    number: usize,
    arguments: &Arguments,
    scanned: &mut HashMap<String, f64>,
) -> Result<Figures> {
    let text = query(number, arguments.scale, Dialect::PostgreSql);
    let of_sqlite_text = query(number, arguments.scale, Dialect::Sqlite);
    let mut laps: [Vec<Lap>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    let mut wrong = None;
    for _ in 0..arguments.long_rounds {
        let clock = Clock::start();
        let found = batches(&data.sql, &text).await;
        laps[0].push(clock.stop());
        let clock = Clock::start();
        let in_memory = data.memory.sql(&text).await?.collect().await?;
        laps[1].push(clock.stop());
        let clock = Clock::start();
        let expected = of_sqlite(&data.sqlite, &of_sqlite_text)?;
        laps[2].push(clock.stop());
        let of_memory = of_batches(&in_memory)?;
        let found = match found {
            Ok(found) => difference(&of_batches(&found)?, &expected),
            Err(error) => Some(error.to_string()),
        };
        wrong = wrong.or(found).or_else(|| {
            difference(&of_memory, &expected).map(|what| format!("DataFusion in memory: {what}"))
        });
    }
    let plan = data.memory.sql(&text).await?.into_optimized_plan()?;
    let mut scans = 0.0;
    for select in scans_of(&plan)? {
        if !scanned.contains_key(&select) {
            let clock = Clock::start();
            rows_of(&data.sql, &select).await?;
            scanned.insert(select.clone(), clock.stop().seconds);
        }
        scans += scanned.get(&select).copied().unwrap_or_default();
    }
    let seconds = |laps: &[Lap]| middle(laps.iter().map(|lap| lap.seconds));
    Ok(Figures {
        halite: seconds(&laps[0]),
        cpu: middle(laps[0].iter().map(|lap| lap.cpu_seconds)),
        memory: seconds(&laps[1]),
        scans,
        sqlite: seconds(&laps[2]),
        wrong,
    })
}

/// Returns the tables that a plan reads with the columns that it needs, each as a statement.
fn scans_of(plan: &LogicalPlan) -> Result<Vec<String>> {
    let mut scans = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let fields = scan.projected_schema.fields();
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            let columns = if names.is_empty() { "1".to_owned() } else { names.join(", ") };
            scans.push(format!("SELECT {columns} FROM {}", scan.table_name.table()));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(scans)
}
