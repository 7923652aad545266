//! `halite hfile`: inspects store files, written by HBase or Halite, measures what cells cost in
//! them, and writes them for a bulk load.

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use halite::TableName;

use crate::backend::BackendArgs;
use crate::hfile::cost::{CostSettings, cost_of_file, cost_of_table};
use crate::hfile::write::{InputArgs, MappingArgs, WriteJob};
use crate::hfile::{check, dump, info, open};
use crate::text_table::{grouped, size};
use crate::units::parse_bytes;

/// Inspect store files (HFiles of version 3, written by HBase or Halite), measure what cells cost
/// in them, and write them for a bulk load
#[derive(clap::Args)]
pub(crate) struct HfileArgs {
    #[command(subcommand)]
    command: HfileCommand,
}

#[derive(clap::Subcommand)]
enum HfileCommand {
    /// Print the cells
    Dump {
        /// Print one cell per line as tab-separated values: row, family, qualifier (hex),
        /// timestamp, type code, sequence id, tags (hex), value (hex; above 64 bytes
        /// sha256:DIGEST:LENGTH)
        #[arg(long)]
        tsv: bool,
        /// Store file
        file: PathBuf,
    },
    /// Print the trailer, the file info and statistics of the blocks
    Info {
        /// Store file
        file: PathBuf,
    },
    /// Read the whole file and verify checksums, order, index, bloom filters and file info
    Check {
        /// Store files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Measure what the cells of a table or a file cost under every encoding and codec
    ///
    /// Reads a sample in runs of neighbouring rows from many places, writes it with the store's own
    /// writer under each data block encoding and compression, and prints bytes per cell, the
    /// processor time to write, scan and seek, and a recommendation: of the combinations at most
    /// --slack percent larger than the smallest, the one with the cheapest seek. Seeks that differ
    /// by less than the noise count as equal; of equal ones the smallest is taken, and the current
    /// setting stays if it is at most 2 % larger.
    Cost(CostArgs),
    /// Write the lines of a CSV or TSV file as store files for `halite bulkload`
    ///
    /// The files are sorted, cut at the boundaries of the table's regions, and have the encoding,
    /// compression, bloom filter and block size of their family: DIR/FAMILY/FILE, the layout of
    /// HBase's bulk load. Columns are named by the first line of the file, or by --names. Of
    /// several lines with the same cell the last one counts. A failure leaves nothing.
    #[command(group = clap::ArgGroup::new("source").required(true).args(["csv", "tsv"]))]
    Write(Box<WriteArgs>),
}

#[derive(clap::Args)]
struct WriteArgs {
    /// Table that the files are for; its families, regions and declared key are used
    #[arg(long, value_name = "TABLE")]
    table: TableName,
    /// Directory to create; it must not exist or be empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// File with values separated by commas, in double quotes where needed; - is standard input
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// File with values separated by tabs, without quotes; - is standard input
    #[arg(long, value_name = "FILE")]
    tsv: Option<PathBuf>,
    /// Column with the row key; or FIELD=COLUMN for a field of the key that the table declares
    /// [default: the columns with the names of the fields]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    key: Vec<String>,
    /// Cell of each line: FAMILY:QUALIFIER=COLUMN[:TYPE]. Without =COLUMN it is the column with the
    /// qualifier's name. TYPE is text (default), int, long, float, double, boolean, hex or binary
    /// (\xNN)
    #[arg(long, value_name = "CELL")]
    column: Vec<String>,
    /// Write all columns that are not named otherwise to this family, as text under their names
    #[arg(long, value_name = "FAMILY")]
    family: Option<String>,
    /// Column with the timestamp: milliseconds since 1970, or a date [default: the current time]
    #[arg(long, value_name = "COLUMN")]
    timestamp: Option<String>,
    /// Names of the columns of a file without a header line
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    names: Option<Vec<String>>,
    /// Columns as `-Dimporttsv.columns` of HBase's `ImportTsv` has them, as in
    /// `HBASE_ROW_KEY,f:a,f:b,HBASE_TS_KEY`; the file has no header line, and - leaves a column out
    #[arg(long, value_name = "COLUMNS", conflicts_with_all = ["key", "column", "family", "timestamp", "names"])]
    importtsv_columns: Option<String>,
    /// Separator of the values: one character, or \t
    #[arg(long, value_name = "CHAR", value_parser = one_byte)]
    separator: Option<u8>,
    /// Quote around values: one character, or none
    #[arg(long, value_name = "CHAR", value_parser = quote)]
    quote: Option<Quote>,
    /// Write no cell for an empty value
    #[arg(long)]
    skip_empty: bool,
    /// Assign numbers to values that are missing from a dictionary of the table
    #[arg(long)]
    assign: bool,
    /// Number of bad lines to leave out, each reported with its number, before the command fails
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_bad: u64,
    /// Memory for sorting; more than that is sorted on disk, next to DIR
    #[arg(long, value_name = "SIZE", default_value = "256m", value_parser = parse_bytes)]
    memory: u64,
    /// Size at which a file ends, at least 1m
    #[arg(long, value_name = "SIZE", default_value = "10g", value_parser = parse_file_size)]
    max_file_size: u64,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Reads the size of a file. Small files of many rows cost every read of the table.
fn parse_file_size(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text)?;
    if bytes < 1 << 20 {
        return Err("a file of less than 1m would be one of too many; give 1m or more".to_owned());
    }
    Ok(bytes)
}

/// Quote character; `None` for none.
#[derive(Clone, Copy)]
struct Quote(Option<u8>);

fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err("give one ASCII character, or \\t".into()),
    }
}

fn quote(text: &str) -> Result<Quote, String> {
    if text == "none" { Ok(Quote(None)) } else { one_byte(text).map(|byte| Quote(Some(byte))) }
}

impl WriteArgs {
    fn run(self, out: &mut impl io::Write) -> anyhow::Result<ExitCode> {
        let (backend, flags) = (self.backend.open_existing()?, self.backend.flags());
        let job = self.into_job()?;
        let written = job.run(&backend).with_context(|| format!("table {}", job.table));
        let closed = backend.close();
        let report = written?;
        closed.context("closing the store")?;
        let counts = report.written;
        writeln!(
            out,
            "wrote {}: {} rows, {} cells in {} files for {} regions, {}",
            job.to.display(),
            grouped(counts.rows),
            grouped(counts.cells),
            grouped(counts.files),
            grouped(counts.regions),
            size(counts.bytes)
        )?;
        let notes = [
            (report.bad_lines, format!("bad lines of {} left out", grouped(report.lines))),
            (report.replaced, "cells replaced by later lines".to_owned()),
            (report.runs as u64, "sorted runs merged from disk".to_owned()),
        ];
        for (count, text) in notes.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "{} {text}", grouped(count))?;
        }
        writeln!(out, "load it with: halite bulkload {} {} {flags}", job.to.display(), job.table)?;
        Ok(ExitCode::SUCCESS)
    }

    fn into_job(self) -> anyhow::Result<WriteJob> {
        let is_tsv = self.tsv.is_some();
        let path = self.csv.or(self.tsv).context("give --csv or --tsv")?;
        let default_quote = Quote((!is_tsv).then_some(b'"'));
        let names = match &self.importtsv_columns {
            Some(list) => Some(list.split(',').map(str::to_owned).collect()),
            None => self.names,
        };
        Ok(WriteJob {
            table: self.table,
            to: self.to,
            input: InputArgs {
                path,
                separator: self.separator.unwrap_or(if is_tsv { b'\t' } else { b',' }),
                quote: self.quote.unwrap_or(default_quote).0,
                names,
            },
            mapping: MappingArgs {
                keys: self.key,
                columns: self.column,
                family: self.family,
                timestamp: self.timestamp,
                import_tsv: self.importtsv_columns,
            },
            skip_empty: self.skip_empty,
            assign: self.assign,
            max_bad: self.max_bad,
            memory: usize::try_from(self.memory)?,
            max_file_bytes: self.max_file_size,
            now_ms: jiff::Timestamp::now().as_millisecond(),
        })
    }
}

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("measured").required(true).args(["file", "table"]))]
struct CostArgs {
    /// Store file to measure instead of a table
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Table to measure
    #[arg(long, value_name = "TABLE")]
    table: Option<TableName>,
    /// Family to measure [default: each family]
    #[arg(long, value_name = "FAMILY", requires = "table")]
    family: Option<String>,
    #[command(flatten)]
    backend: BackendArgs,
    /// Size of the sample per family
    #[arg(long, value_name = "SIZE", default_value = "8m", value_parser = parse_bytes)]
    sample: u64,
    /// Number of measurements of each combination
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Percent by which a faster combination may be larger than the smallest
    #[arg(long, value_name = "PERCENT", default_value_t = 15, value_parser = clap::value_parser!(u16).range(0..=1000))]
    slack: u16,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl CostArgs {
    /// Largest sample in bytes; it is in memory.
    const MAX_SAMPLE_BYTES: u64 = 1 << 30;

    fn run(&self, out: &mut impl io::Write) -> anyhow::Result<ExitCode> {
        if self.sample > Self::MAX_SAMPLE_BYTES {
            bail!("a sample is in memory; give at most 1g");
        }
        let settings = CostSettings {
            sample_bytes: self.sample,
            rounds: usize::from(self.rounds),
            slack: f64::from(self.slack) / 100.0,
            json: self.json,
        };
        match (&self.file, &self.table) {
            (Some(_), _) if self.family.is_some() => {
                bail!("--family is for a table; a FILE is of one family")
            }
            (Some(file), _) => cost_of_file(out, file, settings)?,
            (None, Some(table)) => {
                cost_of_table(out, &self.backend, table, self.family.as_deref(), settings)?;
            }
            (None, None) => bail!("give a FILE, or --table"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl HfileArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut out = BufWriter::new(io::stdout().lock());
        let code = match self.command {
            HfileCommand::Dump { tsv, file } => open(&file)
                .and_then(|reader| dump::write(&mut out, reader, tsv))
                .map(|()| ExitCode::SUCCESS),
            HfileCommand::Info { file } => open(&file)
                .and_then(|reader| info::write(&mut out, &reader))
                .map(|()| ExitCode::SUCCESS),
            HfileCommand::Check { files } => check::write(&mut out, &files),
            HfileCommand::Cost(cost) => cost.run(&mut out),
            HfileCommand::Write(write) => write.run(&mut out),
        };
        match code.and_then(|code| Ok(out.flush().map(|()| code)?)) {
            // The reader closed the pipe (`| head`), which is not a failure.
            Err(error)
                if error
                    .downcast_ref::<io::Error>()
                    .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) =>
            {
                Ok(ExitCode::SUCCESS)
            }
            result => result,
        }
    }
}
