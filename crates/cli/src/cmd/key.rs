//! `halite key`: declared row keys.

use std::path::PathBuf;
use std::process::ExitCode;

use halite::TableName;
use halite::rowkey::split::DEFAULT_WIDTHS_AHEAD;

use crate::backend::BackendArgs;
use crate::key::arguments::{ExpectedLoadArgs, KeySpecArgs, QueryArgs};
use crate::key::{self, LintFormat, OutputFormat, PutSource, RowFormat};

/// Encode, decode, explain, check, infer and simulate row keys
///
/// A key is declared as in `ROW KEY (SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)`;
/// docs/rowkey.md describes the language.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(clap::Subcommand)]
enum KeyCommand {
    /// Design a schema from seven questions; print the CREATE TABLE statement and its lint findings
    ///
    /// The questions cover families, columns, their stored names, their values, versions, the row
    /// key and the queries. Answers may be piped, one per line; an empty line selects the default
    /// in brackets.
    New,
    /// Encode field values as a key; print the whole key and its segments
    ///
    /// Times are 2024-03-15T08:00:00Z, 2024-03-15 or a number; bytes are x'0aff' or text with \xNN;
    /// a missing value is null; text in single quotes is taken literally. FIELD=A,B gives several
    /// keys, one per line. Without values, reads them from standard input, one key per line,
    /// separated by blanks or tabs.
    Encode {
        #[command(flatten)]
        key_spec: KeySpecArgs,
        /// Field values, as in `device_id=s1`
        #[arg(value_name = "FIELD=VALUE")]
        values: Vec<String>,
        /// Assign numbers to values that are missing from a dictionary of the table
        #[arg(long, requires = "table")]
        assign: bool,
    },
    /// Decode keys into field values
    Decode {
        #[command(flatten)]
        key_spec: KeySpecArgs,
        /// Keys, as the shell prints them (\xNN), or in hexadecimal as x'0173' [default: standard
        /// input, one per line]
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
    },
    /// Print the keys a query reads: ranges, fan-out, order, regions
    ///
    /// Conditions are FIELD=VALUE, FIELD<VALUE, FIELD<=VALUE, FIELD>VALUE, FIELD>=VALUE, FIELD=A..B
    /// (A inclusive, B exclusive), FIELD=A,B,C and FIELD=PREFIX*. All conditions must hold. Text in
    /// single quotes is taken literally, as in FIELD='a, b'.
    Explain {
        #[command(flatten)]
        key_spec: KeySpecArgs,
        #[command(flatten)]
        query: QueryArgs,
        /// Execute the query, and print the rows examined and the elapsed time
        #[arg(long, requires = "table")]
        analyze: bool,
    },
    /// Scan the rows of a table that match a query, in the order of their fields, merged across
    /// salts
    ///
    /// Conditions are those of `halite key explain`.
    Scan {
        /// Table that declares its key
        table: TableName,
        #[command(flatten)]
        query: QueryArgs,
        /// Family, or family:qualifier, to read; may be repeated
        #[arg(long, value_name = "COLUMN")]
        column: Vec<String>,
        /// Token of the next page, as printed by the previous page
        #[arg(long, value_name = "TOKEN")]
        page_token: Option<String>,
        /// Decode the cells of declared columns; CSV and JSON lines go to standard output, notes to
        /// standard error
        #[arg(long, value_enum)]
        format: Option<RowFormat>,
        #[command(flatten)]
        backend: BackendArgs,
    },
    /// Write rows by the names of fields and columns
    ///
    /// Values are those of `halite key encode`; a column of a MAP is NAME[KEY]=VALUE. A column
    /// without a value has its DEFAULT, or no cell. Lines of a file are written in batches of 1,000
    /// rows; after an error, the number of rows that were written for certain is printed.
    Put {
        /// Table that declares its key
        table: TableName,
        /// Values of one row, as in `device_id=s1 ts=2024-03-15 v=20.5`
        #[arg(value_name = "NAME=VALUE", required_unless_present_any = ["csv", "jsonl"], conflicts_with_all = ["csv", "jsonl"])]
        values: Vec<String>,
        /// CSV file whose header line has the names; - is standard input. An empty value is null,
        /// or empty text
        #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
        csv: Option<PathBuf>,
        /// File with a JSON object in each line; - is standard input
        #[arg(long, value_name = "FILE")]
        jsonl: Option<PathBuf>,
        #[command(flatten)]
        backend: BackendArgs,
    },
    /// Print the split keys of a table and the share of rows per region
    ///
    /// Shares are exact for a sample and for salts; otherwise the assumption is printed. With
    /// --table, the regions of the existing table are examined.
    Split {
        #[command(flatten)]
        key_spec: KeySpecArgs,
        /// 'BY SALT', 'BY SALT x 4', 'INTO 16', "AT ('b', x'80')", 'LIKE table', "FROM SAMPLE
        /// 'file' INTO 16" (a file with one key per line), or "ROLLING '1d'" for times from today
        /// on
        #[arg(value_name = "SPLIT")]
        clause: Option<String>,
        /// Print the splits as the option of the shell's create
        #[arg(long)]
        shell: bool,
    },
    /// Infer the structure of existing keys: fields, delimiters, times, salts, digests
    ///
    /// Each result has a confidence, the evidence for and against it, the share of keys it
    /// explains, examples it does not explain, and the statement that declares it. Field names are
    /// guesses. With --table, cell timestamps distinguish times, and identifiers that contain one,
    /// from other numbers.
    Infer {
        /// File with keys, one per line, as the shell prints them (\xNN) or as x'0173', or a trace
        /// of `halite key trace`; - is standard input
        #[arg(value_name = "FILE", required_unless_present = "table", conflicts_with = "table")]
        file: Option<PathBuf>,
        /// Table whose keys are sampled at many positions of each region
        #[arg(long, value_name = "TABLE")]
        table: Option<TableName>,
        #[command(flatten)]
        backend: BackendArgs,
        /// Maximum number of keys to examine
        #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        sample: u32,
        /// Output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
        format: OutputFormat,
    },
    /// Simulate traffic on a key before its table exists: the distribution of writes over regions
    /// and time
    ///
    /// Prints for each key the load of the busiest region over the mean, in total and in windows,
    /// the number of regions active at a time, the positions of new keys, hot rows and fields, the
    /// cost of queries, and a heat map.
    Simulate(Box<key::SimulateArgs>),
    /// Write the recorded operations of a table as lines of JSON, for `simulate --trace` and `infer`
    ///
    /// A server records one of 1,000 operations, or all with --heat-level full. Each line has the
    /// time, the operation, the key as the shell prints it, the fields of the declared key, the
    /// client and the statement.
    Trace(key::TraceArgs),
    /// Create the future regions of a table that declares SPLIT ROLLING
    ///
    /// Splits off missing regions for the current interval and the next ones. A Halite server does
    /// this automatically; for a store without a server, and for HBase, run the command once per
    /// interval.
    Presplit {
        /// Table to split
        table: TableName,
        /// Number of future intervals to split in advance
        #[arg(long, value_name = "N", default_value_t = DEFAULT_WIDTHS_AHEAD, value_parser = clap::value_parser!(u32).range(..=1000))]
        ahead: u32,
        #[command(flatten)]
        backend: BackendArgs,
    },
    /// Check declarations for costly or incorrect designs
    ///
    /// Exits with status 1 if any finding is at or above the --fail-on severity. A comment
    /// `-- lint:allow RULE reason` in the statement suppresses a rule.
    Lint {
        /// File with CREATE TABLE statements, or with one ROW KEY, or Java source that uses HBase's
        /// Struct; - is standard input
        #[arg(value_name = "FILE", required_unless_present_any = ["table", "explain"], conflicts_with_all = ["table", "explain"])]
        file: Option<PathBuf>,
        /// Print the page of a rule: the problem, its effects and the fix
        #[arg(long, value_name = "RULE", conflicts_with_all = ["table", "format", "fail_on", "servers", "rows", "writes_per_second"])]
        explain: Option<String>,
        /// Existing table to check, with its families and a sample of its rows
        #[arg(long, value_name = "TABLE")]
        table: Option<TableName>,
        #[command(flatten)]
        backend: BackendArgs,
        /// Output format of findings
        #[arg(long, value_enum, default_value_t = LintFormat::Text)]
        format: LintFormat,
        /// Minimum severity that causes exit status 1
        #[arg(long, value_enum, default_value_t = key::FailOn::Error)]
        fail_on: key::FailOn,
        #[command(flatten)]
        load: ExpectedLoadArgs,
    },
}

impl KeyArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            KeyCommand::New => key::new(),
            KeyCommand::Encode { key_spec, values, assign } => {
                key::encode(&key_spec, &values, assign)
            }
            KeyCommand::Decode { key_spec, keys } => key::decode(&key_spec.resolve()?, &keys),
            KeyCommand::Explain { key_spec, query: question, analyze } => {
                key::explain(&key_spec, &question, analyze)
            }
            KeyCommand::Scan {
                table,
                query: question,
                column,
                page_token,
                format,
                backend: place,
            } => key::scan(&table, &place, &question, &column, page_token.as_deref(), format),
            KeyCommand::Put { table, values, csv, jsonl, backend: place } => {
                let source = match (csv, jsonl) {
                    (Some(path), _) => PutSource::Csv(path),
                    (None, Some(path)) => PutSource::JsonLines(path),
                    (None, None) => PutSource::Given(values),
                };
                key::put(&table, &place, &source)
            }
            KeyCommand::Presplit { table, ahead, backend: place } => {
                key::presplit_table(&table, ahead, &place)
            }
            KeyCommand::Split { key_spec, clause, shell } => {
                key::split(&key_spec, clause.as_deref(), shell)
            }
            KeyCommand::Trace(arguments) => key::trace(&arguments),
            KeyCommand::Simulate(arguments) => key::simulate_keys(&arguments),
            KeyCommand::Infer { file: Some(file), sample, format, .. } => {
                key::infer_file(&file, sample, format)
            }
            KeyCommand::Infer { table: Some(table), backend: place, sample, format, .. } => {
                key::infer_table(&table, &place, sample, format)
            }
            KeyCommand::Infer { .. } => anyhow::bail!("give a FILE with keys, or --table"),
            KeyCommand::Lint { explain: Some(rule), .. } => key::explain_rule(&rule),
            KeyCommand::Lint { file: Some(file), format, fail_on, load, .. } => {
                key::lint_file(&file, format, fail_on, load)
            }
            KeyCommand::Lint {
                table: Some(table), backend: place, format, fail_on, load, ..
            } => key::lint_table(&table, &place, format, fail_on, load),
            KeyCommand::Lint { .. } => anyhow::bail!("give a FILE, or --table"),
        }
    }
}
