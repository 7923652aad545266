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
    /// Only of this host.
    pub host: Option<String>,
    /// Only of this event.
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
    ///
    /// # Errors
    /// As [`declare_tables`].
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
    ///
    /// # Errors
    /// As [`halite::BlockingTable::batch`].
    pub fn write(&self, lines: &[Line]) -> Result<()> {
        self.places.iter().try_for_each(|place| place.write(lines))
    }

    /// Writes lines to one table.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_to(&self, layout: Layout, lines: &[Line]) -> Result<()> {
        self.place(layout)?.write(lines)
    }

    /// Returns the lines that a question asks for, from one table. Every table answers every
    /// question; how many rows it reads depends on its key.
    ///
    /// # Errors
    /// As [`halite::rowkey::Scatter::next`].
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

#[cfg(test)]
mod tests {
    use super::*;

    const T0: i64 = 1_710_460_800_000;

    fn line(host: &str, event: &str, second: i64, sequence: u32) -> Line {
        let message = format!("{host} {event} {second} {sequence}");
        let (host, event) = (host.to_owned(), event.to_owned());
        Line { host, event, at_ms: T0 + second * 1_000, sequence, message }
    }

    #[test]
    fn k30_a_quarter_of_an_hour_is_a_row_with_900_columns() {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let logs = Logs::open(&store, "logs").unwrap();
        let lines: Vec<_> = (0..900).map(|second| line("web-1", "http", second, 0)).collect();
        logs.write(&lines).unwrap();
        let host = Some("web-1".to_owned());
        let all = Question { host, event: Some("http".to_owned()), at_ms: T0..T0 + 900_000 };
        for (layout, rows) in [(Layout::Host, 900), (Layout::Code, 900), (Layout::Quarter, 1)] {
            let found = logs.read(layout, &all).unwrap();
            assert_eq!((found.lines.len(), found.examined), (900, rows), "{layout:?}");
            assert!(found.lines.iter().eq(lines.iter().rev()));
        }
    }

    #[test]
    fn names_of_another_program_are_found_by_their_codes() {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let reader = Logs::open(&store, "logs").unwrap();
        let of =
            |host: &str| Question { host: Some(host.to_owned()), event: None, at_ms: 0..i64::MAX };
        let everything = Question { at_ms: 0..i64::MAX, ..Question::default() };
        assert_eq!(reader.read(Layout::Code, &of("web-1")).unwrap(), Found::default());
        let writer = Logs::open(&store, "logs").unwrap();
        let lines = [line("web-1", "http", 2, 0), line("web-10", "http.error", 1, 0)];
        writer.write(&lines).unwrap();
        assert_eq!(reader.read(Layout::Code, &everything).unwrap().lines, lines);
        assert_eq!(reader.read(Layout::Code, &of("web-1")).unwrap().lines, lines[..1]);
        assert_eq!(reader.read(Layout::Code, &of("web-2")).unwrap(), Found::default());
    }
}
