//! `halite key`: row keys by declaration.

use std::path::PathBuf;
use std::process::ExitCode;

use halite::TableName;
use halite::rowkey::split::WIDTHS_AHEAD;

use crate::key::{self, AnswerFormat, ReportFormat};
use crate::place::PlaceFlags;

/// Encode, decode, explain, check, find out and try row keys
///
/// A key is declared as in `ROW KEY (SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)`; the language is described in docs/rowkey.md.
#[derive(clap::Args)]
pub(crate) struct Key {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Asks the seven questions of a schema, and prints the CREATE TABLE and what lint says of it
    ///
    /// Families, columns, their names in the store, their values, versions, the row key, and what is asked. Answers may come from a pipe, one
    /// in a line; an empty line takes what stands in brackets.
    New,
    /// The key of these values, piece by piece
    ///
    /// Times are 2024-03-15T08:00:00Z, 2024-03-15 or a number; bytes are x'0aff' or text with \xNN; a missing value is null; text in
    /// single quotes is taken as it is. FIELD=A,B gives several keys, one in a line. Without values they are read from standard input, those
    /// of a key in a line, with blanks between, or tabs.
    Encode {
        #[command(flatten)]
        which: Declared,
        /// Values of the fields, as in `device_id=s1`
        #[arg(value_name = "FIELD=VALUE")]
        values: Vec<String>,
        /// Give values that a dictionary of the table does not have their numbers
        #[arg(long, requires = "table")]
        assign: bool,
    },
    /// What keys say
    Decode {
        #[command(flatten)]
        which: Declared,
        /// Keys, as the shell prints them (\xNN), or in hexadecimal as x'0173'; from standard input, one in a line, where none is given
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
    },
    /// Which keys a question reads: ranges, fan-out, order, regions
    ///
    /// Conditions are FIELD=VALUE, FIELD<VALUE, FIELD<=VALUE, FIELD>VALUE, FIELD>=VALUE, FIELD=A..B (A included, B not), FIELD=A,B,C and FIELD=PREFIX*.
    /// All of them hold. Text in single quotes is taken as it is, as in FIELD='a, b'.
    Explain {
        #[command(flatten)]
        which: Declared,
        #[command(flatten)]
        question: Question,
        /// Read it too, and say how many rows were looked at and how long that took
        #[arg(long, requires = "table")]
        analyze: bool,
    },
    /// The rows of a table that a question asks for, in the order of their fields, whatever salts they lie under
    ///
    /// Conditions are those of `halite key explain`.
    Scan {
        /// The table; it declares its key
        table: TableName,
        #[command(flatten)]
        question: Question,
        /// Family, or family:qualifier, that is read; may be given several times
        #[arg(long, value_name = "COLUMN")]
        column: Vec<String>,
        /// Where the page before ended, as it said
        #[arg(long, value_name = "TOKEN")]
        page_token: Option<String>,
        #[command(flatten)]
        place: PlaceFlags,
    },
    /// Where to split a table, and what share of the rows each region gets
    ///
    /// Shares are exact for a sample and for salts; otherwise it is said what was assumed. Of a table that is there, its regions are looked at.
    Split {
        #[command(flatten)]
        which: Declared,
        /// 'BY SALT', 'BY SALT x 4', 'INTO 16', "AT ('b', x'80')", 'LIKE table', "FROM SAMPLE 'file' INTO 16", whose file has one key a line, or
        /// "ROLLING '1d'" of times from today on
        #[arg(value_name = "SPLIT")]
        how: Option<String>,
        /// Print them as the option of the shell's create
        #[arg(long)]
        shell: bool,
    },
    /// What keys that are there are made of: fields, delimiters, times, salts, digests
    ///
    /// Each answer comes with how sure it is and what speaks for and against it, the share of the keys it explains, some
    /// that it does not, and the statement that declares it. Names of fields are guesses. With --table the times of cells
    /// tell times and identifiers that hold one from other numbers.
    Infer {
        /// File with keys, one in a line, as the shell prints them (\xNN) or as x'0173'; - is standard input
        #[arg(value_name = "FILE", required_unless_present = "table", conflicts_with = "table")]
        file: Option<PathBuf>,
        /// Table whose keys are sampled: a few from many places of each region
        #[arg(long, value_name = "TABLE")]
        table: Option<TableName>,
        #[command(flatten)]
        place: PlaceFlags,
        /// Keys that are looked at
        #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        sample: u32,
        /// How the answer is written
        #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
        format: AnswerFormat,
    },
    /// What traffic does to a key before there is a table: where writes go at each moment, and how evenly
    ///
    /// Prints, for each key, the load of the busiest region over the mean one as a whole and in windows, how many regions
    /// are in use at a time, where new keys land, hot rows and fields, what queries read, and a picture of it.
    Simulate(Box<key::Simulated>),
    /// Make the regions of times to come, of a table that declares SPLIT ROLLING
    ///
    /// The regions of now and of the next widths are split off where they are missing. A Halite server does this by itself; for a store that nobody
    /// serves, and for HBase, it is to be run once in a width.
    Presplit {
        /// The table
        table: TableName,
        /// Widths that are made before their time
        #[arg(long, value_name = "N", default_value_t = WIDTHS_AHEAD, value_parser = clap::value_parser!(u32).range(..=1000))]
        ahead: u32,
        #[command(flatten)]
        place: PlaceFlags,
    },
    /// What a declaration will cost, before it costs anything
    ///
    /// Ends with 1 if something is found that is an error, or as bad as --fail-on says. A rule is silenced by a comment
    /// `-- lint:allow RULE reason` in the statement.
    Lint {
        /// File with CREATE TABLE statements, or with one ROW KEY, or Java source that builds HBase's Struct; - is standard input
        #[arg(value_name = "FILE", required_unless_present_any = ["table", "explain"], conflicts_with_all = ["table", "explain"])]
        file: Option<PathBuf>,
        /// Print the page of a rule: what it finds, what happens, what to declare instead
        #[arg(long, value_name = "RULE", conflicts_with_all = ["table", "format", "fail_on", "servers", "rows", "writes_per_second"])]
        explain: Option<String>,
        /// Table that is there, with its families, and a sample of its rows
        #[arg(long, value_name = "TABLE")]
        table: Option<TableName>,
        #[command(flatten)]
        place: PlaceFlags,
        /// How findings are written
        #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
        format: ReportFormat,
        /// How bad a finding ends the command with 1
        #[arg(long, value_enum, default_value_t = key::FailOn::Error)]
        fail_on: key::FailOn,
        #[command(flatten)]
        load: ExpectedLoad,
    },
}

/// What is expected of a table, for the rules that depend on it.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct ExpectedLoad {
    /// Region servers; where a store is in this process, it is one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) servers: Option<u32>,
    /// Rows of the table once it is full
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: Option<u64>,
    /// Rows written each second at the busiest time
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) writes_per_second: Option<f64>,
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite()).ok_or_else(|| format!("{text} is no number above 0"))
}

/// What is asked.
#[derive(clap::Args)]
pub(crate) struct Question {
    /// What is asked of the fields
    #[arg(value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// From the last key to the first
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Rows that are wanted
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
    /// How many values a field has, as far as you know: gaps between the values of one with few are skipped
    #[arg(long, value_name = "FIELD=N", value_parser = distinct)]
    pub(crate) distinct: Vec<(String, u64)>,
}

fn distinct(text: &str) -> Result<(String, u64), String> {
    let (field, count) = text.split_once('=').ok_or("give a field and a number, like region=12")?;
    let values = count.parse().ok().filter(|values| *values > 0);
    Ok((field.to_owned(), values.ok_or_else(|| format!("{count} is no number of values; give one above 0"))?))
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| format!("{text} is no number above 0"))
}

/// Which key.
#[derive(clap::Args)]
pub(crate) struct Declared {
    /// The key as it is declared, or @FILE with it
    #[arg(long, value_name = "ROW_KEY", required_unless_present = "table", conflicts_with = "table")]
    pub(crate) key: Option<String>,
    /// The key of a table that declares one
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<TableName>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

impl Key {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.what {
            What::New => key::new(),
            What::Encode { which, values, assign } => key::encode(&which, &values, assign),
            What::Decode { which, keys } => key::decode(&which.find()?, &keys),
            What::Explain { which, question, analyze } => key::explain(&which, &question, analyze),
            What::Scan { table, question, column, page_token, place } => key::scan(&table, &place, &question, &column, page_token.as_deref()),
            What::Presplit { table, ahead, place } => key::roll_table(&table, ahead, &place),
            What::Split { which, how, shell } => key::split(&which, how.as_deref(), shell),
            What::Simulate(what) => key::simulate_keys(&what),
            What::Infer { file: Some(file), sample, format, .. } => key::infer_file(&file, sample, format),
            What::Infer { table: Some(table), place, sample, format, .. } => key::infer_table(&table, &place, sample, format),
            What::Infer { .. } => anyhow::bail!("give a FILE with keys, or --table"),
            What::Lint { explain: Some(rule), .. } => key::explain_rule(&rule),
            What::Lint { file: Some(file), format, fail_on, load, .. } => key::lint_file(&file, format, fail_on, load),
            What::Lint { table: Some(table), place, format, fail_on, load, .. } => key::lint_table(&table, &place, format, fail_on, load),
            What::Lint { .. } => anyhow::bail!("give a FILE, or --table"),
        }
    }
}
