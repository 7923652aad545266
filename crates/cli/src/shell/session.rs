//! What a running shell holds: the store, the variables, where output goes and answers come from.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use halite_types::{Admin, Attributes, Cluster, ClusterStatus, Error, Fut, Table, TableDescriptor, TableName, block_on};

use super::value::Value;

/// Why the evaluation of a statement ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Something is wrong; the text says what, where and the mend.
    Problem(String),
    /// A command has failed and has said so already.
    Reported,
    /// `exit` was called.
    Exit(u8),
    /// Output cannot be written any more.
    Output(io::Error),
}

impl Stop {
    pub(crate) fn problem(text: impl Into<String>) -> Self {
        Self::Problem(text.into())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Problem(error.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) type Outcome<T = Value> = Result<T, Stop>;

/// Where the answer to a question such as "drop these tables (y/n)?" comes from; `None` at the end of the input.
pub(crate) type Answers = Box<dyn FnMut() -> io::Result<Option<String>>>;

/// A running shell.
pub(crate) struct Session<'a> {
    cluster: Arc<dyn Cluster>,
    admin: Arc<dyn Admin>,
    out: Box<dyn Write + 'a>,
    answers: Answers,
    /// Whether a person types the commands, who can be asked before something doubtful is done.
    pub(crate) interactive: bool,
    /// Columns of the terminal; `None` if output goes elsewhere, which is then not padded.
    pub(crate) width: Option<usize>,
    /// The zone timestamps are shown in.
    pub(crate) zone: jiff::tz::TimeZone,
    pub(crate) variables: BTreeMap<String, Value>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(cluster: Arc<dyn Cluster>, out: impl Write + 'a, answers: Answers) -> Self {
        let admin = cluster.admin();
        Self {
            cluster,
            admin,
            out: Box::new(out),
            answers,
            interactive: false,
            width: None,
            zone: jiff::tz::TimeZone::UTC,
            variables: BTreeMap::new(),
        }
    }

    pub(crate) fn table(&self, name: &TableName) -> Arc<dyn Table> {
        self.cluster.table(name)
    }

    /// Makes an administrative call and waits for it.
    pub(crate) fn ask<T>(&self, call: impl FnOnce(&dyn Admin) -> Fut<'_, T>) -> halite_types::Result<T> {
        block_on(call(&*self.admin))
    }

    /// All tables.
    pub(crate) fn tables(&self) -> halite_types::Result<Vec<Arc<TableDescriptor>>> {
        self.ask(|admin| admin.list_tables())
    }

    /// All namespaces with their settings.
    pub(crate) fn namespaces(&self) -> halite_types::Result<Vec<(String, Attributes)>> {
        self.ask(|admin| admin.list_namespaces())
    }

    /// Figures of every region and of the whole.
    pub(crate) fn status(&self) -> halite_types::Result<ClusterStatus> {
        self.ask(|admin| admin.cluster_status())
    }

    /// Prints a line.
    pub(crate) fn say(&mut self, line: impl AsRef<[u8]>) -> Outcome<()> {
        self.out.write_all(line.as_ref())?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// Prints without ending the line.
    pub(crate) fn print(&mut self, text: impl AsRef<[u8]>) -> Outcome<()> {
        Ok(self.out.write_all(text.as_ref())?)
    }

    pub(crate) fn flush(&mut self) -> Outcome<()> {
        Ok(self.out.flush()?)
    }

    /// Asks a yes-or-no question; no answer is a no.
    pub(crate) fn confirm(&mut self, question: &str) -> Outcome<bool> {
        self.say(question)?;
        self.flush()?;
        let answer = (self.answers)()?.unwrap_or_default();
        Ok(answer.trim_start().starts_with(['y', 'Y']))
    }
}
