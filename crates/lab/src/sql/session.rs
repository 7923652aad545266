//! Session of SQL on the tables of a page.

use anyhow::Context as _;
use halite::SqlContext;
use halite::sql::cell_text;
use tokio::runtime::Runtime;

use crate::PageWriter;
use crate::render::aligned;

/// Rows of an answer that are shown.
const SHOWN_ROWS: usize = 3;

/// Session on the tables of one page. In statements `@name` is the table `name` of the page; they
/// are shown without the sign.
pub(super) struct Session {
    sql: SqlContext,
    runtime: Runtime,
    /// Page in the names of its tables.
    page: String,
}

/// Answer of a statement, as text.
pub(super) struct Answer {
    /// Tag of a statement that writes, such as `UPSERT 3`.
    pub(super) tag: Option<String>,
    /// Names of the columns.
    pub(super) columns: Vec<String>,
    /// Rows; null is `NULL`.
    pub(super) rows: Vec<Vec<String>>,
}

/// What a statement read, as EXPLAIN ANALYZE tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// Ranges, or keys to get.
    pub(super) ranges: u64,
    /// Regions that are read, of all: `1 of 16`.
    pub(super) regions: String,
    /// Rows that the regions examined.
    pub(super) examined: u64,
    /// Rows of the answer.
    pub(super) rows: u64,
    /// `true` if the rows were sorted.
    pub(super) is_sorted: bool,
}

impl Session {
    /// Opens a session.
    ///
    /// # Errors
    /// A runtime without threads.
    pub(super) fn open(lab: &PageWriter) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_stack_size(halite::sql::STACK_BYTES)
            .worker_threads(1)
            .enable_all()
            .build()
            .context("threads for SQL")?;
        let sql = SqlContext::new(lab.async_cluster().clone());
        Ok(Self { sql, runtime, page: lab.page_id().to_lowercase() })
    }

    /// Runs a statement, without appending it to the page.
    ///
    /// # Errors
    /// The error of the statement.
    pub(super) fn run(&self, statement: &str) -> anyhow::Result<Answer> {
        let text = statement.replace('@', &format!("lab.{}_", self.page));
        self.runtime.block_on(async {
            let mut answer = self.sql.run(&text).await?;
            let schema = std::sync::Arc::clone(answer.schema());
            let mut rows = Vec::new();
            while let Some(batch) = answer.next_batch().await? {
                for row in 0..batch.num_rows() {
                    let cells = schema.fields().iter().zip(batch.columns());
                    let texts = cells.map(|(field, column)| {
                        let text = cell_text(field, column.as_ref(), row)?;
                        Ok(self.shown(&text.unwrap_or_else(|| "NULL".to_owned())))
                    });
                    rows.push(texts.collect::<Result<Vec<_>, halite::sql::SqlError>>()?);
                }
            }
            let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
            Ok(Answer { tag: answer.tag().map(str::to_owned), columns, rows })
        })
    }

    /// Runs a statement, and appends it to the page with the first rows of its answer, or all lines
    /// of an EXPLAIN.
    ///
    /// # Errors
    /// The error of the statement.
    pub(super) fn show(&self, lab: &mut PageWriter, statement: &str) -> anyhow::Result<Answer> {
        let answer = self.run(statement)?;
        lab.statement(format!("{};", statement.replace('@', "")), answer.lines());
        Ok(answer)
    }

    /// Returns what a query reads when it runs, without appending it to the page.
    ///
    /// # Errors
    /// The error of the query; a plan without a scan.
    pub(super) fn cost(&self, query: &str) -> anyhow::Result<Cost> {
        let plan = self.run(&format!("EXPLAIN ANALYZE {query}"))?;
        let lines: Vec<&str> = plan.rows.iter().map(|row| row[0].trim()).collect();
        let after = |word: &str| {
            let mut split = lines.iter().filter_map(|line| line.split_once(' '));
            let found = split.find(|(first, _)| *first == word);
            found
                .map(|(_, rest)| rest.trim_start())
                .with_context(|| format!("no {word}: {lines:?}"))
        };
        let number = |text: &str| {
            let digits = text.split(|letter: char| !letter.is_ascii_digit()).next();
            digits.and_then(|digits| digits.parse().ok()).context("no number in EXPLAIN ANALYZE")
        };
        Ok(Cost {
            ranges: number(after("ranges").or_else(|_| after("gets"))?)?,
            regions: after("regions")?.to_owned(),
            examined: number(after("ran")?)?,
            rows: number(after("rows")?)?,
            is_sorted: lines.iter().any(|line| line.starts_with("SortExec")),
        })
    }

    fn shown(&self, text: &str) -> String {
        text.replace(&format!("lab:{}_", self.page), "")
    }
}

impl Answer {
    fn lines(&self) -> Vec<String> {
        if self.columns.is_empty() {
            return self.tag.iter().cloned().collect();
        }
        if self.columns == ["plan"] {
            return self.rows.iter().map(|row| row[0].clone()).collect();
        }
        let first = &self.rows[..self.rows.len().min(SHOWN_ROWS)];
        let mut lines = aligned(&self.columns, first);
        if self.rows.len() > SHOWN_ROWS {
            lines.push(format!("... {} more", self.rows.len() - SHOWN_ROWS));
        }
        lines
    }
}
