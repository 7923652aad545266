//! Writes and reads of the five tables.

use std::ops::Range;
use std::sync::Arc;

use halite::{BlockingCluster, Bytes, Error, Result, declare_tables};

use crate::Line;
use crate::key::{Layout, TABLES};
use crate::place::Place;

/// Logs under five keys, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Logs {
    places: Arc<[Place]>,
}

/// What lines are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub host: Option<String>,
    pub event: Option<String>,
    /// Times, from the first (inclusive) to the last (exclusive), in milliseconds since 1970.
    pub at_ms: Range<i64>,
}

/// Lines that a table returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Lines, newest first, then by host, event and sequence.
    pub lines: Vec<Line>,
    /// Rows that the table returned for them.
    pub examined: u64,
}

impl Logs {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        Self::open_tables(cluster, namespace, TABLES)
    }

    /// Opens tables with the names of [`TABLES`] and other keys of the same fields.
    ///
    /// # Errors
    /// As [`declare_tables`]; `InvalidRequest` if one of the tables is missing.
    pub fn open_tables(cluster: &BlockingCluster, namespace: &str, tables: &str) -> Result<Self> {
        let declared = declare_tables(cluster, namespace, tables)?;
        let place = |layout: Layout| {
            let found = declared.iter().find(|table| table.name.qualifier() == layout.table());
            let table = found
                .ok_or_else(|| Error::invalid(format!("{} is not declared", layout.table())))?;
            Place::open(cluster, namespace, layout, table.declaration.key.clone())
        };
        let places = Layout::ALL.into_iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(Self { places: places.into() })
    }

    /// Writes lines to all tables, `by_time` first: what a writer that stops leaves incomplete is
    /// missing in the others, where [`Self::repair`] adds it. Writing a line again has no effect.
    pub fn write(&self, lines: &[Line]) -> Result<()> {
        self.places.iter().try_for_each(|place| place.write(lines))
    }

    /// Writes lines to one table.
    pub fn write_to(&self, layout: Layout, lines: &[Line]) -> Result<()> {
        self.place(layout)?.write(lines)
    }

    /// Returns the lines that a question asks for, from one table. Every table answers every
    /// question; how many rows it reads depends on its key.
    pub fn read(&self, layout: Layout, question: &Question) -> Result<Found> {
        self.place(layout)?.read(question)
    }

    /// Returns the row of a line in a table.
    ///
    /// # Errors
    /// `InvalidRequest` for a line that its key cannot represent.
    pub fn row(&self, layout: Layout, line: &Line) -> Result<Bytes> {
        self.place(layout)?.row(line)
    }

    fn place(&self, layout: Layout) -> Result<&Place> {
        let found = self.places.iter().find(|place| place.layout == layout);
        found.ok_or_else(|| Error::invalid(format!("{} is not open", layout.table())))
    }
}
