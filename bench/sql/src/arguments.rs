//! Command line.

use std::path::PathBuf;

use crate::error::Result;

const HELP: &str = "\
Compare statements of SQL on an embedded store with the store's own calls, SQLite and DataFusion.

    --only B6,B10     questions to measure, B1 to B13 [all]
    --size small|full rows of all questions: a few minutes, or the sizes of the goals [small]
    --rows N          rows of the table that is read by key [200000]
    --calls N         calls of each contestant in a round [20000]
    --messages N      messages for the newest 100 of a user [100000, full 10000000]
    --scanned N       rows of the table that is scanned [1000000, full 10000000]
    --points N        points of each of 1,000 devices [500, full 10000]
    --scale F         scale factor of TPC-H [0.1, full 1]
    --hits N          page views for ClickBench's queries [200000, full 10000000]
    --rounds N        rounds, of which the median counts [5; 3 where one takes seconds]
";

/// What is measured how often.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// Questions to measure; empty for all.
    only: Vec<String>,
    pub(crate) rows: u32,
    pub(crate) calls: u32,
    pub(crate) messages: u32,
    pub(crate) scanned: u32,
    pub(crate) points: u32,
    pub(crate) scale: f64,
    pub(crate) hits: u32,
    pub(crate) rounds: u32,
    /// Rounds of what takes seconds.
    pub(crate) long_rounds: u32,
    /// The measurement of memory, in a process of its own.
    pub(crate) child: Option<Child>,
}

/// Grouping of a table in a process of its own: the store, and the bytes that it may hold.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) store: PathBuf,
    pub(crate) memory: usize,
}

impl Arguments {
    fn small() -> Self {
        Self {
            only: Vec::new(),
            rows: 200_000,
            calls: 20_000,
            messages: 100_000,
            scanned: 1_000_000,
            points: 500,
            scale: 0.1,
            hits: 200_000,
            rounds: 5,
            long_rounds: 3,
            child: None,
        }
    }

    fn full() -> Self {
        let small = Self::small();
        Self {
            messages: 10_000_000,
            scanned: 10_000_000,
            points: 10_000,
            scale: 1.0,
            hits: 10_000_000,
            ..small
        }
    }

    /// Returns `true` if one of these questions is measured.
    pub(crate) fn wants(&self, questions: &[&str]) -> bool {
        let is_named = |question: &&str| self.only.iter().any(|name| name == question);
        self.only.is_empty() || questions.iter().any(is_named)
    }

    /// Reads the command line; `None` after the help.
    pub(crate) fn parse() -> Result<Option<Self>> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let is_full = words.windows(2).any(|pair| pair[0] == "--size" && pair[1] == "full");
        let mut arguments = if is_full { Self::full() } else { Self::small() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if matches!(word.as_str(), "--help" | "-h") {
                print!("{HELP}");
                return Ok(None);
            }
            let value = words.next().ok_or_else(|| format!("{word} requires a value"))?;
            let number = || {
                value.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(|| {
                    format!("invalid value '{value}' for {word}: expected a number above 0")
                })
            };
            match word.as_str() {
                "--only" => {
                    arguments.only = value.split(',').map(str::to_ascii_uppercase).collect();
                    if let Some(name) = arguments.only.iter().find(|name| !is_question(name)) {
                        return Err(format!("there is no question {name}; B1 to B13 are").into());
                    }
                }
                "--size" if matches!(value.as_str(), "small" | "full") => {}
                "--size" => return Err(format!("'{value}' is no size: small or full").into()),
                "--rows" => arguments.rows = number()?,
                "--calls" => arguments.calls = number()?,
                "--messages" => arguments.messages = number()?,
                "--scanned" => arguments.scanned = number()?,
                "--points" => arguments.points = number()?,
                "--hits" => arguments.hits = number()?,
                "--rounds" => {
                    arguments.rounds = number()?;
                    arguments.long_rounds = arguments.rounds;
                }
                "--scale" => {
                    let scale = value.parse().ok().filter(|scale| *scale > 0.0);
                    arguments.scale = scale.ok_or_else(|| format!("'{value}' is no scale"))?;
                }
                "--child" => {
                    let (memory, store) = value.split_once(':').ok_or("MEMORY:STORE")?;
                    let memory = memory.parse()?;
                    arguments.child = Some(Child { store: PathBuf::from(store), memory });
                }
                other => {
                    return Err(format!("unknown option '{other}'; --help lists them").into());
                }
            }
        }
        Ok(Some(arguments))
    }
}

fn is_question(name: &str) -> bool {
    let number = name.strip_prefix('B').and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| (1..=13).contains(&number))
}
