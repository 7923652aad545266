//! B13: ClickBench's 43 queries on generated page views, all answers compared.

mod check;
mod columns;
mod data;
mod draws;
mod hits;
mod queries;
mod texts;
mod words;

use crate::answers::{Answer, difference_in_order, of_sqlite};
use crate::arguments::Arguments;
use crate::error::Result;
use crate::marks::Dialect;
use crate::scanned::{batches, last_examined};
use crate::timing::{Clock, Lap, middle};
use check::{difference_up_to_ties, rows_of};
use data::{Data, Memory};
use hits::Hits;
use queries::{Query, Ties, is_by_key, queries};

/// Contestants.
const HALITE: usize = 0;
const SQLITE: usize = 1;
const MEMORY: usize = 2;

/// Medians of a query.
#[derive(Default)]
struct Figures {
    halite: Lap,
    /// `None` if it lacks a function.
    sqlite: Option<Lap>,
    /// `None` if the columns do not fit.
    memory: Option<Lap>,
    examined: i64,
    rows: usize,
    wrong: Option<String>,
}

/// Sums of queries.
#[derive(Default)]
struct Sums {
    halite: f64,
    /// Seconds of those queries that a contestant answers as well, and of that contestant.
    sqlite: [f64; 2],
    memory: [f64; 2],
    greatest: f64,
    queries: usize,
    met: usize,
}

impl Sums {
    fn add(&mut self, figures: &Figures) {
        self.queries += 1;
        self.halite += figures.halite.seconds;
        let add = |sum: &mut [f64; 2], other: Option<Lap>| {
            if let Some(other) = other {
                sum[0] += figures.halite.seconds;
                sum[1] += other.seconds;
            }
        };
        add(&mut self.sqlite, figures.sqlite);
        add(&mut self.memory, figures.memory);
        if let Some(sqlite) = figures.sqlite {
            let ratio = figures.halite.seconds / sqlite.seconds;
            self.greatest = self.greatest.max(ratio);
            self.met += usize::from(ratio <= 1.0);
        }
    }

    fn print(&self, name: &str) {
        println!(
            "  {name}: {:.1} ms in sum, {:.2} of SQLite's (greatest {:.2}; {} of {} at most 1), \
             {:.2} of DataFusion's in memory",
            self.halite * 1e3,
            self.sqlite[0] / self.sqlite[1],
            self.greatest,
            self.met,
            self.queries,
            self.memory[0] / self.memory[1]
        );
    }
}

/// Runs all queries on a store, in SQLite and in memory.
pub(crate) async fn all_queries(arguments: &Arguments) -> Result<()> {
    println!("B13: ClickBench, {} hits", arguments.hits);
    let folder = tempfile::tempdir()?;
    let data = Data::new(folder.path(), Hits::new(arguments.hits)).await?;
    println!(
        "  {:<5} {:>9} {:>9} {:>9} {:>7} {:>9} {:>7} {:>10} {:>5}  answer",
        "query", "ms", "CPU ms", "SQLite ms", "ratio", "memory ms", "ratio", "examined", "rows"
    );
    let mut memory = Memory::default();
    let (mut others, mut by_key) = (Sums::default(), Sums::default());
    let mut wrong = 0;
    for (number, query) in queries().iter().enumerate() {
        let figures = one_query(&data, &mut memory, query, arguments.long_rounds).await?;
        print_line(number, &figures);
        wrong += usize::from(figures.wrong.is_some());
        let sums = if is_by_key(number) { &mut by_key } else { &mut others };
        sums.add(&figures);
    }
    others.print("Q0 to Q35");
    by_key.print("Q36 to Q42, which name the beginning of the key");
    println!("  goal: each of Q36 to Q42 1 times SQLite; the others have none\n");
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} answers of ClickBench are wrong").into()) }
}

fn print_line(number: usize, figures: &Figures) {
    let seconds = figures.halite.seconds;
    let name = format!("Q{number}{}", if is_by_key(number) { "*" } else { "" });
    let beside = |other: Option<Lap>| match other {
        Some(other) => format!("{:>9.1} {:>7.2}", other.seconds * 1e3, seconds / other.seconds),
        None => format!("{:>9} {:>7}", "-", "-"),
    };
    println!(
        "  {name:<5} {:>9.1} {:>9.1} {} {} {:>10} {:>5}  {}",
        seconds * 1e3,
        figures.halite.cpu_seconds * 1e3,
        beside(figures.sqlite),
        beside(figures.memory),
        figures.examined,
        figures.rows,
        figures.wrong.as_deref().unwrap_or("right")
    );
}

async fn one_query(
    data: &Data,
    memory: &mut Memory,
    query: &Query,
    rounds: u32,
) -> Result<Figures> {
    let hits = &data.hits;
    let text = |dialect, ties| query.text(dialect, ties, hits);
    let total = text(Dialect::PostgreSql, Ties::Ordered).ok_or("a query")?;
    let open = text(Dialect::PostgreSql, Ties::Open).ok_or("a query")?;
    let sqlite_open = text(Dialect::Sqlite, Ties::Open);
    let memory = memory.of(hits, &total)?;
    let expected = match (text(Dialect::Sqlite, Ties::Ordered), memory) {
        (Some(text), _) => of_sqlite(&data.sqlite, &text)?,
        (None, Some(memory)) => rows_of(&memory.sql(&total).await?.collect().await?)?,
        (None, None) => return Err("the columns of a query do not fit into memory".into()),
    };
    let mut figures = Figures { rows: expected.len(), ..Figures::default() };
    figures.wrong = match of_store(data, &total).await {
        Ok(found) => difference_in_order(&found, &expected),
        Err(error) => Some(error.to_string()),
    };
    let mut laps: [Vec<Lap>; 3] = Default::default();
    for _ in 0..rounds {
        let clock = Clock::start();
        let found = batches(&data.sql, &open).await;
        laps[HALITE].push(clock.stop());
        note(
            &mut figures,
            "",
            match found.and_then(|found| rows_of(&found)) {
                Ok(found) => difference_up_to_ties(query, &found, &expected),
                Err(error) => Some(error.to_string()),
            },
        );
        if let Some(text) = &sqlite_open {
            let clock = Clock::start();
            let found = of_sqlite(&data.sqlite, text)?;
            laps[SQLITE].push(clock.stop());
            note(&mut figures, "SQLite: ", difference_up_to_ties(query, &found, &expected));
        }
        if let Some(memory) = memory {
            let clock = Clock::start();
            let found = memory.sql(&open).await?.collect().await?;
            laps[MEMORY].push(clock.stop());
            let found = rows_of(&found)?;
            let difference = difference_up_to_ties(query, &found, &expected);
            note(&mut figures, "DataFusion in memory: ", difference);
        }
    }
    figures.examined = last_examined(&data.sql).await?;
    let [halite, sqlite, memory] = laps.map(|laps| median(&laps));
    figures.halite = halite.unwrap_or_default();
    (figures.sqlite, figures.memory) = (sqlite, memory);
    Ok(figures)
}

async fn of_store(data: &Data, text: &str) -> Result<Answer> {
    rows_of(&batches(&data.sql, text).await?)
}

/// Keeps the first difference.
fn note(figures: &mut Figures, whose: &str, difference: Option<String>) {
    if figures.wrong.is_none() {
        figures.wrong = difference.map(|what| format!("{whose}{what}"));
    }
}

fn median(laps: &[Lap]) -> Option<Lap> {
    let of = |of: fn(&Lap) -> f64| middle(laps.iter().map(of));
    let (seconds, cpu_seconds) = (of(|lap| lap.seconds), of(|lap| lap.cpu_seconds));
    (!laps.is_empty()).then_some(Lap { seconds, cpu_seconds })
}
