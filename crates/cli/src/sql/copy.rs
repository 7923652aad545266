//! `\copy`: rows between a file of this machine and a table.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use halite::SqlContext;
use halite::sql::{CopyFormat, CopyStatement, Header, Lines, SqlError, SqlState, cell_text};

use super::pieces::{opened, read_piece};
use super::runner::Failure;

/// Time between two lines of progress on a terminal.
const PROGRESS: Duration = Duration::from_secs(1);

/// Copies rows as `\copy` says; `text` is what follows it. Returns the number of rows.
///
/// # Errors
/// What is wrong with the statement, a line or a file. Rows before a bad line stay written.
pub(super) async fn copy(sql: &SqlContext, text: &str) -> Result<u64, Failure> {
    let (statement, text, file) = CopyStatement::read_with_file(text)?;
    if statement.options.format == CopyFormat::Binary {
        let what = "\\copy reads and writes text and csv; psql copies the binary form by the port \
                    for clients of PostgreSQL";
        return Err(SqlError::new(SqlState::NotSupported, what).into());
    }
    let context = |file: &str| format!("file {file}");
    match (statement.is_from, file) {
        (true, None) => copy_in(sql, &statement, &text, standard_input()?).await,
        (true, Some(file)) => {
            let opened = opened(file.clone()).await.with_context(|| context(&file))?;
            copy_in(sql, &statement, &text, opened).await
        }
        (false, None) => copy_out(sql, &statement, io::stdout()).await,
        (false, Some(file)) => {
            let created = File::create(&file).with_context(|| context(&file))?;
            copy_out(sql, &statement, created).await
        }
    }
}

/// Returns standard input without a buffer, so that what is not read stays there. On a terminal,
/// prints how the rows end.
fn standard_input() -> anyhow::Result<File> {
    let input = io::stdin();
    if input.is_terminal() {
        writeln!(io::stderr(), "Type the rows, a line for each; \\. or Ctrl-D ends them.")?;
    }
    Ok(input.as_fd().try_clone_to_owned().context("standard input")?.into())
}

async fn copy_in(
    sql: &SqlContext,
    statement: &CopyStatement,
    text: &str,
    file: File,
) -> Result<u64, Failure> {
    let mut loader = sql.load(statement, text).await?;
    let mut lines = Lines::new(statement.options.clone());
    let mut progress = Progress::new();
    loop {
        let piece = read_piece(&file).await.context("reading the rows")?;
        lines.push(&piece);
        loader.add_lines(&mut lines, piece.is_empty()).await?;
        if piece.is_empty() || lines.is_over() {
            break;
        }
        progress.show(loader.written());
    }
    progress.end();
    Ok(loader.finish().await?)
}

async fn copy_out(
    sql: &SqlContext,
    statement: &CopyStatement,
    file: impl Write,
) -> Result<u64, Failure> {
    let mut answer = sql.run(&statement.query()).await?;
    let schema = answer.schema().clone();
    let options = &statement.options;
    let mut out = BufWriter::new(file);
    let mut line = Vec::new();
    if options.header != Header::No {
        options
            .write_row(schema.fields().iter().map(|field| Some(field.name().as_str())), &mut line);
    }
    let mut progress = Progress::new();
    let mut rows = 0;
    loop {
        out.write_all(&line).context("writing the rows")?;
        line.clear();
        let Some(batch) = answer.next_batch().await? else { break };
        for row in 0..batch.num_rows() {
            let texts = schema.fields().iter().zip(batch.columns());
            let texts = texts.map(|(field, column)| cell_text(field, column.as_ref(), row));
            let texts = texts.collect::<Result<Vec<_>, _>>()?;
            options.write_row(texts.iter().map(Option::as_deref), &mut line);
            rows += 1;
        }
        progress.show(rows);
    }
    progress.end();
    out.flush().context("writing the rows")?;
    for notice in answer.take_notices() {
        writeln!(io::stderr(), "NOTICE: {notice}").map_err(anyhow::Error::from)?;
    }
    Ok(rows)
}

/// Rows so far, on a terminal.
struct Progress {
    is_shown: bool,
    last: Instant,
}

impl Progress {
    fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal(), last: Instant::now() }
    }

    fn show(&mut self, rows: u64) {
        if self.is_shown && self.last.elapsed() >= PROGRESS {
            self.last = Instant::now();
            // A terminal that takes no more does not end the copy.
            let _ = write!(io::stderr(), "\r{rows} rows ");
        }
    }

    fn end(&self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r");
        }
    }
}
