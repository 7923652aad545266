//! State of a running shell: cluster, variables, output, and the source of confirmations.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use halite::{BlockingCluster, BlockingTable};
use halite_types::{Bytes, Cluster, Error, TableDescriptor, TableName};

use super::value::Value;

/// Reason why the evaluation of a statement ended early.
#[derive(Debug)]
pub(crate) enum Interrupt {
    /// Error with a message: problem, location and fix.
    Problem(String),
    /// A command failed and has already reported the error.
    Reported,
    /// `exit` was called.
    Exit(u8),
    /// The output can no longer be written.
    Output(io::Error),
}

impl Interrupt {
    pub(crate) fn problem(text: impl Into<String>) -> Self {
        Self::Problem(text.into())
    }
}

impl From<Error> for Interrupt {
    fn from(error: Error) -> Self {
        Self::Problem(error.to_string())
    }
}

impl From<io::Error> for Interrupt {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) type EvalResult<T = Value> = Result<T, Interrupt>;

/// Source of answers to questions such as "drop these tables (y/n)?"; returns `None` at the end of
/// the input.
pub(crate) type ConfirmationInput = Box<dyn FnMut() -> io::Result<Option<String>>>;

/// Running shell.
pub(crate) struct Session<'a> {
    cluster: BlockingCluster,
    out: Box<dyn Write + 'a>,
    confirmation_input: ConfirmationInput,
    /// `true` if a user types the commands and can confirm a doubtful one.
    pub(crate) interactive: bool,
    /// Columns of the terminal; `None` if output is redirected, which is then not padded.
    pub(crate) width: Option<usize>,
    /// Time zone of printed timestamps.
    pub(crate) zone: jiff::tz::TimeZone,
    pub(crate) variables: BTreeMap<String, Value>,
    /// Session of SQL, once a statement has run.
    #[cfg(feature = "sql")]
    pub(super) sql: Option<super::sql::SqlRunner>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        cluster: BlockingCluster,
        out: impl Write + 'a,
        confirmation_input: ConfirmationInput,
    ) -> Self {
        Self {
            cluster,
            out: Box::new(out),
            confirmation_input,
            interactive: false,
            width: None,
            zone: jiff::tz::TimeZone::UTC,
            variables: BTreeMap::new(),
            #[cfg(feature = "sql")]
            sql: None,
        }
    }

    /// Returns the cluster, for administrative calls.
    pub(crate) fn cluster(&self) -> &BlockingCluster {
        &self.cluster
    }

    /// Returns the same cluster for calls of futures.
    pub(crate) fn async_cluster(&self) -> &Arc<dyn Cluster> {
        self.cluster.cluster()
    }

    /// Returns a table, to read and write it.
    ///
    /// # Errors
    /// As [`BlockingCluster::table`].
    pub(crate) fn table(&self, name: &TableName) -> halite_types::Result<BlockingTable> {
        self.cluster.table(name)
    }

    /// Creates a table with these split keys.
    pub(crate) fn create_table(
        &self,
        table: TableDescriptor,
        splits: &[Bytes],
    ) -> halite_types::Result<()> {
        let splits: Vec<&[u8]> = splits.iter().map(|split| &split[..]).collect();
        self.cluster.create_table(table, &splits)
    }

    /// Prints a line.
    pub(crate) fn print_line(&mut self, line: impl AsRef<[u8]>) -> EvalResult<()> {
        self.out.write_all(line.as_ref())?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// Prints text without a line end.
    pub(crate) fn print(&mut self, text: impl AsRef<[u8]>) -> EvalResult<()> {
        Ok(self.out.write_all(text.as_ref())?)
    }

    /// Returns the output.
    #[cfg(feature = "sql")]
    pub(super) fn output(&mut self) -> &mut dyn Write {
        &mut *self.out
    }

    pub(crate) fn flush(&mut self) -> EvalResult<()> {
        Ok(self.out.flush()?)
    }

    /// Asks for a confirmation; no answer means no.
    pub(crate) fn confirm(&mut self, question: &str) -> EvalResult<bool> {
        self.print_line(question)?;
        self.flush()?;
        let answer = (self.confirmation_input)()?.unwrap_or_default();
        Ok(answer.trim_start().starts_with(['y', 'Y']))
    }
}
