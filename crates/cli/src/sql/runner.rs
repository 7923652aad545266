//! Statements of a text, one after the other, with their rows on standard output.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use halite::SqlContext;
use halite::sql::{Answer, SqlError, SqlState, split_statements};
use tokio::runtime::Runtime;

use super::copy;
use super::files;
use super::format::{Format, RowWriter};
use super::names::Names;
use super::progress::ProgressLine;

/// Rows of a table on a terminal.
const TERMINAL_ROWS: usize = 40;

/// Session with its output.
pub(crate) struct Runner {
    sql: Arc<SqlContext>,
    runtime: Runtime,
    format: Format,
    /// `true` to print one line per value (`\x`).
    pub(super) expanded: bool,
    /// `true` to print the time of each statement (`\timing`).
    pub(super) timing: bool,
    /// File that takes the rows instead of standard output (`\o`).
    output: Option<File>,
    /// `true` if the output has rows of a statement.
    is_written: Cell<bool>,
    progress: ProgressLine,
}

impl Runner {
    pub(crate) fn new(sql: SqlContext, format: Format) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_stack_size(halite::sql::STACK_BYTES)
            .enable_all()
            .build()
            .context("threads for SQL")?;
        Ok(Self {
            sql: Arc::new(sql),
            runtime,
            format,
            expanded: false,
            timing: false,
            output: None,
            is_written: Cell::new(false),
            progress: ProgressLine::new(),
        })
    }

    /// Sends the rows of the next statements to a file, or to standard output.
    pub(super) fn set_output(&mut self, output: Option<File>) {
        self.output = output;
        self.is_written.set(false);
    }

    /// Keeps the program when Ctrl-C comes between statements, which each watch for it.
    pub(super) fn outlive_interrupts(&self) {
        self.runtime.block_on(async {
            // Asking for the first one takes the signal over for good.
            tokio::select! {
                biased;
                _ = tokio::signal::ctrl_c() => {}
                () = std::future::ready(()) => {}
            }
        });
    }

    /// Returns the names that statements of the session may use.
    pub(super) fn names(&self) -> Names {
        Names { sql: Arc::clone(&self.sql), runtime: self.runtime.handle().clone() }
    }

    /// Runs a statement without rows.
    ///
    /// # Errors
    /// The error of the statement.
    pub(crate) fn set(&self, text: &str) -> Result<(), SqlError> {
        self.runtime.block_on(self.sql.run(text)).map(drop)
    }

    /// Runs the statements of a text up to the first that fails, whose error is printed. Returns
    /// `true` if none failed.
    ///
    /// # Errors
    /// An error of the output.
    pub(crate) fn run_all(&self, text: &str) -> anyhow::Result<bool> {
        if let Some(copy) = text.trim_start().strip_prefix("\\copy ") {
            return self.copy(copy.trim_end().trim_end_matches(';'));
        }
        for statement in split_statements(text) {
            if !self.run_one(statement.text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs one statement. Ctrl-C ends it.
    pub(super) fn run_one(&self, text: &str) -> anyhow::Result<bool> {
        self.run(text, self.answer(text), true)
    }

    /// Runs `\copy`; `text` is what follows it. Ctrl-C ends it. Returns `true` unless it failed.
    ///
    /// # Errors
    /// An error of the output.
    pub(super) fn copy(&self, text: &str) -> anyhow::Result<bool> {
        let work = async {
            let rows = copy::copy(&self.sql, text).await?;
            writeln!(io::stderr(), "COPY {rows}").map_err(anyhow::Error::from)?;
            Ok(())
        };
        // It tells its rows itself.
        self.run(text, work, false)
    }

    fn run(
        &self,
        text: &str,
        work: impl Future<Output = Result<(), Failure>>,
        has_progress: bool,
    ) -> anyhow::Result<bool> {
        let started = Instant::now();
        // What runs the statement is gone when its rows are counted.
        let ran = self.runtime.block_on(async {
            tokio::select! {
                ran = work => Some(ran),
                _ = tokio::signal::ctrl_c() => None,
                never = self.progress.watch(&self.sql, has_progress) => match never {},
            }
        });
        self.progress.clear(false);
        let ran = ran.unwrap_or_else(|| {
            let text = format!("cancelled{}", self.sql.take_rows_left());
            Err(Failure::Statement(SqlError::new(SqlState::Cancelled, text)))
        });
        let is_done = match ran {
            Ok(()) => true,
            Err(Failure::Statement(error)) => {
                print_error(&error, text)?;
                false
            }
            Err(Failure::Output(error)) => return Err(error),
        };
        if self.timing {
            let ms = started.elapsed().as_secs_f64() * 1000.0;
            writeln!(io::stderr(), "Time: {ms:.3} ms")?;
        }
        Ok(is_done)
    }

    /// Runs one statement with its rows to `out`, and its notices added to `notices`. A terminal
    /// shows few rows and, without rows, what was done.
    ///
    /// # Errors
    /// The error of the statement or of the output.
    pub(crate) fn run_to(
        &self,
        text: &str,
        out: &mut dyn io::Write,
        is_terminal: bool,
        notices: &mut Vec<String>,
    ) -> Result<(), Failure> {
        self.runtime.block_on(async {
            let mut answer = self.sql.run(text).await?;
            let written = self.write(&mut answer, out, is_terminal).await;
            notices.extend(answer.take_notices().iter().map(ToString::to_string));
            written
        })
    }

    async fn answer(&self, text: &str) -> Result<(), Failure> {
        let mut answer = self.sql.run(text).await?;
        let written = match &self.output {
            Some(file) => {
                let mut out = io::BufWriter::new(file);
                self.write(&mut answer, &mut out, false).await
            }
            None => {
                let mut out = io::BufWriter::new(Screen(&self.progress));
                self.write(&mut answer, &mut out, io::stdout().is_terminal()).await
            }
        };
        self.progress.clear(false);
        for notice in answer.take_notices() {
            writeln!(io::stderr(), "NOTICE: {notice}").map_err(anyhow::Error::from)?;
        }
        written
    }

    async fn write(
        &self,
        answer: &mut Answer,
        mut out: &mut dyn io::Write,
        is_terminal: bool,
    ) -> Result<(), Failure> {
        if let Some(tag) = answer.tag().filter(|_| answer.schema().fields().is_empty()) {
            // Results are on standard output; a tag is none.
            if !tag.is_empty() && is_terminal {
                writeln!(out, "{tag}").map_err(anyhow::Error::from)?;
            }
            return Ok(out.flush().map_err(anyhow::Error::from)?);
        }
        match self.format {
            Format::Arrow if is_terminal => return Err(files::is_terminal("arrow")),
            Format::Arrow => return files::write_arrow(answer, out).await,
            Format::Parquet if is_terminal => return Err(files::is_terminal("parquet")),
            Format::Parquet if self.is_written.replace(true) => return Err(files::second_answer()),
            Format::Parquet => return files::write_parquet(answer, out).await,
            _ => {}
        }
        let most = if is_terminal { TERMINAL_ROWS } else { usize::MAX };
        let mut writer = RowWriter::new(self.format, self.expanded, most, answer.schema());
        while let Some(batch) = answer.next_batch().await? {
            writer.write(&mut out, &batch)?;
        }
        writer.finish(&mut out).map_err(anyhow::Error::from)?;
        Ok(())
    }
}

/// Standard output, from which the line of the progress is cleared first if both are a terminal.
struct Screen<'r>(&'r ProgressLine);

impl io::Write for Screen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.clear(io::stdout().is_terminal());
        io::stdout().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// Why a statement ended.
pub(crate) enum Failure {
    Statement(SqlError),
    Output(anyhow::Error),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Self::Statement(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Output(error)
    }
}

/// Prints an error with its line of the statement.
fn print_error(error: &SqlError, text: &str) -> io::Result<()> {
    writeln!(io::stderr(), "ERROR {}", describe(error, text))
}

/// Returns the state and message of an error and, where its place is known, the line of the
/// statement with a mark below it.
pub(crate) fn describe(error: &SqlError, text: &str) -> String {
    let shown = format!("{}: {}", error.state.code(), error.message);
    let place = error.position.and_then(|(line, column)| {
        Some((usize::try_from(line).ok()?, usize::try_from(column).ok()?))
    });
    let Some((line, column)) = place else { return shown };
    let Some(source) = text.lines().nth(line.saturating_sub(1)) else { return shown };
    if source.chars().count() > 200 {
        return format!("{shown}\nline {line}, column {column}");
    }
    let margin = format!("line {line}: ").chars().count() + column.saturating_sub(1);
    format!("{shown}\nline {line}: {source}\n{}^", " ".repeat(margin))
}
