//! Rows that a page reads: a scan and its shell syntax.

use bytes::Bytes;
use halite::{Filter, Scan, TimeRange};

use crate::statement::quoted;

/// Scan of a page. Options that are not set have the defaults of the shell.
#[derive(Clone, Debug, Default)]
pub struct ScanSpec {
    start: Option<Bytes>,
    stop: Option<Bytes>,
    prefix: Option<Bytes>,
    limit: Option<usize>,
    versions: Option<u32>,
    columns: Vec<(Bytes, Option<Bytes>)>,
    filter: Option<(String, Filter)>,
    times: Option<TimeRange>,
    reversed: bool,
    raw: bool,
}

impl ScanSpec {
    /// Selects all rows.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects rows from `start` on, inclusive.
    pub fn from_row(start: impl Into<Bytes>) -> Self {
        Self { start: Some(start.into()), ..Self::default() }
    }

    /// Selects rows whose keys begin with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        Self { prefix: Some(prefix.into()), ..Self::default() }
    }

    /// Selects only rows before `stop`, exclusive.
    #[must_use]
    pub fn to(mut self, stop: impl Into<Bytes>) -> Self {
        self.stop = Some(stop.into());
        self
    }

    /// Limits the number of rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Sets the maximum number of versions per column.
    #[must_use]
    pub fn versions(mut self, versions: u32) -> Self {
        self.versions = Some(versions);
        self
    }

    /// Selects a family, or a column as `family:qualifier`. Can be called several times.
    #[must_use]
    pub fn column(mut self, column: &str) -> Self {
        let (family, qualifier) = column
            .split_once(':')
            .map_or((column, None), |(family, qualifier)| (family, Some(qualifier)));
        self.columns.push((
            Bytes::copy_from_slice(family.as_bytes()),
            qualifier.map(|qualifier| Bytes::copy_from_slice(qualifier.as_bytes())),
        ));
        self
    }

    /// Selects only cells that pass a filter in HBase's filter language, such as
    /// `PrefixFilter('a')`.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid filter.
    pub fn filter(mut self, text: &str) -> anyhow::Result<Self> {
        self.filter = Some((text.to_owned(), Filter::parse_bytes(text.as_bytes())?));
        Ok(self)
    }

    /// Selects only cells with a timestamp of at least `min` and less than `max`.
    ///
    /// # Errors
    /// Returns an error if the bounds are reversed.
    pub fn times(mut self, min: i64, max: i64) -> anyhow::Result<Self> {
        self.times = Some(TimeRange::new(min, max)?);
        Ok(self)
    }

    /// Scans from the last row to the first: the start row is then the greatest row, as in the
    /// shell.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.reversed = true;
        self
    }

    /// Includes delete markers and the cells that they delete.
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// Returns the scan.
    pub(crate) fn scan(&self) -> Scan {
        let mut scan = self
            .prefix
            .clone()
            .map_or_else(Scan::all, Scan::prefix)
            .reverse(self.reversed)
            .raw(self.raw);
        // In reverse the shell's STARTROW is the greater end, and a Scan still has the lesser one
        // first.
        if let Some(start) = &self.start {
            scan = if self.reversed {
                scan.stop_inclusive(start.clone())
            } else {
                scan.start(start.clone())
            };
        }
        if let Some(stop) = &self.stop {
            scan = if self.reversed {
                scan.start_exclusive(stop.clone())
            } else {
                scan.stop(stop.clone())
            };
        }
        if let Some(rows) = self.limit {
            scan = scan.limit(rows);
        }
        if let Some(versions) = self.versions {
            scan = scan.versions(versions);
        }
        if let Some((_, filter)) = &self.filter {
            scan = scan.filter(filter.clone());
        }
        if let Some(times) = self.times {
            scan = scan.time_range(times);
        }
        self.columns.iter().fold(scan, |scan, (family, qualifier)| match qualifier {
            Some(qualifier) => scan.column(family.clone(), qualifier.clone()),
            None => scan.family(family.clone()),
        })
    }

    /// Returns the options in shell syntax: `, {STARTROW => 'a', LIMIT => 3}`; empty for all rows.
    pub(crate) fn options(&self) -> String {
        let mut parts = Vec::new();
        if !self.columns.is_empty() {
            let columns: Vec<_> = self
                .columns
                .iter()
                .map(|(family, qualifier)| column_name(family, qualifier.as_ref()))
                .collect();
            parts.push(format!("COLUMNS => [{}]", columns.join(", ")));
        }
        for (name, key) in
            [("ROWPREFIXFILTER", &self.prefix), ("STARTROW", &self.start), ("STOPROW", &self.stop)]
        {
            parts.extend(key.as_ref().map(|key| format!("{name} => {}", quoted(key))));
        }
        parts.extend(
            self.times.map(|times| format!("TIMERANGE => [{}, {}]", times.min(), times.max())),
        );
        parts.extend(self.filter.as_ref().map(|(text, _)| format!("FILTER => \"{text}\"")));
        parts.extend(self.versions.map(|versions| format!("VERSIONS => {versions}")));
        parts.extend(self.reversed.then(|| "REVERSED => true".to_owned()));
        parts.extend(self.raw.then(|| "RAW => true".to_owned()));
        parts.extend(self.limit.map(|rows| format!("LIMIT => {rows}")));
        if parts.is_empty() { String::new() } else { format!(", {{{}}}", parts.join(", ")) }
    }
}

fn column_name(family: &[u8], qualifier: Option<&Bytes>) -> String {
    let mut name = family.to_vec();
    if let Some(qualifier) = qualifier {
        name.push(b':');
        name.extend_from_slice(qualifier);
    }
    quoted(&name)
}
