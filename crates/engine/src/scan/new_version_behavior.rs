//! Tracker of hidden cells in a family with `NEW_VERSION_BEHAVIOR` (the role of HBase's
//! `NewVersionBehaviorTracker`, HBASE-15968). In such a family the order of the writes counts in
//! addition to that of the timestamps.
//!
//! A marker hides cells written before it, and no later ones, whatever its timestamp. The versions
//! that a column retains are counted among the cells that existed when a cell was written or any
//! time after. A cell that once exceeded the limit never returns, even if the cells that displaced
//! it are deleted later.
//!
//! Cells arrive by timestamp, so the tracker must know for each cell how a reader at any later time
//! would have counted it. The time between two markers is a [`Span`], identified by the sequence id
//! it ends at. In each span of its lifetime a cell has a rank among the newest cells, or had none.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use halite_types::{CellRef, CellType};

/// Time between a marker of many versions and the one before it.
#[derive(Clone, Debug)]
struct Span {
    /// Timestamp up to which the marker at its end hides cells.
    hides_to: i64,
    /// Timestamps hidden by markers of one version, with the sequence ids of those markers.
    versions: HashMap<i64, BTreeSet<u64>>,
    /// Cells counted in each part of the span, by the sequence id of the marker of one version that
    /// ends it, or `u64::MAX`.
    counted: BTreeMap<u64, BTreeSet<u64>>,
}

impl Span {
    fn new(hides_to: i64) -> Self {
        Self {
            hides_to,
            versions: HashMap::new(),
            counted: BTreeMap::from([(u64::MAX, BTreeSet::new())]),
        }
    }

    fn add_version(&mut self, timestamp: i64, sequence: u64) {
        self.versions.entry(timestamp).or_default().insert(sequence);
        // Before the marker, the cells counted after it existed, as far as they were written before
        // it. The others must not be copied, because the marker may have deleted a version that
        // displaced another one.
        let behind = self
            .counted
            .range(sequence..)
            .next()
            .map(|(_, cells)| cells.range(..sequence).copied().collect());
        self.counted.insert(sequence, behind.unwrap_or_default());
    }
}

type Spans = BTreeMap<u64, Span>;

/// Markers and cells of a row so far.
#[derive(Debug)]
pub(crate) struct NewVersionTracker {
    max_versions: usize,
    /// Spans by the sequence id of the marker that ends each: markers of the whole family, and
    /// those including the column's own.
    family: Spans,
    column: Spans,
    last: Option<Last>,
}

/// Previous cell.
#[derive(Debug)]
struct Last {
    qualifier: Vec<u8>,
    timestamp: i64,
    code: u8,
    sequence: u64,
}

fn is_of_family(code: u8) -> bool {
    code == CellType::DeleteFamily.code() || code == CellType::DeleteFamilyVersion.code()
}

impl NewVersionTracker {
    pub(crate) fn new(max_versions: u32) -> Self {
        let max_versions = usize::try_from(max_versions).unwrap_or(usize::MAX);
        Self { max_versions, family: no_markers(), column: Spans::new(), last: None }
    }

    /// Resets the tracker; called for each row.
    pub(crate) fn reset(&mut self) {
        self.family = no_markers();
        self.column.clear();
        self.last = None;
    }

    /// Records a marker.
    pub(crate) fn add(&mut self, marker: CellRef<'_>) {
        self.step(marker);
        let (timestamp, sequence, code) =
            (marker.timestamp(), marker.sequence_id(), marker.type_code());
        let spans = if is_of_family(code) { &mut self.family } else { &mut self.column };
        if code == CellType::DeleteFamily.code() || code == CellType::DeleteColumn.code() {
            spans.insert(sequence, Span::new(timestamp));
        } else if let Some((_, span)) = spans.range_mut(sequence..).next() {
            span.add_version(timestamp, sequence);
        }
    }

    /// Returns `true` if a cell, which is after all markers that may hide it, is hidden or exceeded
    /// the number of versions. Must be called once for every cell, because it counts.
    pub(crate) fn hides(&mut self, cell: CellRef<'_>) -> bool {
        let (timestamp, sequence) = (cell.timestamp(), cell.sequence_id());
        // A later write of the same version replaced it.
        let replaced = self.step(cell);
        for span in self.column.range_mut(sequence..).map(|(_, span)| span) {
            let deleted = span
                .versions
                .get(&timestamp)
                .and_then(|markers| markers.range(sequence..).next().copied());
            let until = replaced.unwrap_or(u64::MAX).min(deleted.unwrap_or(u64::MAX));
            for cells in
                span.counted.range_mut(sequence..=until.max(sequence)).map(|(_, cells)| cells)
            {
                if cells.len() >= self.max_versions {
                    return true;
                }
                cells.insert(sequence);
            }
            if deleted.is_some() || timestamp <= span.hides_to {
                return true;
            }
        }
        replaced.is_some()
    }

    /// Moves to a cell. Returns the sequence id of the previous one if that is the same version,
    /// written later.
    fn step(&mut self, cell: CellRef<'_>) -> Option<u64> {
        let code = cell.type_code();
        let same_column = |last: &Last| {
            last.qualifier == cell.qualifier() && is_of_family(last.code) == is_of_family(code)
        };
        match &mut self.last {
            Some(last) if same_column(last) => {
                if !cell.is_delete() && last.code == code && last.timestamp == cell.timestamp() {
                    return Some(last.sequence);
                }
                (last.timestamp, last.code, last.sequence) =
                    (cell.timestamp(), code, cell.sequence_id());
            }
            _ => {
                self.column = self.family.clone();
                let qualifier = cell.qualifier().to_vec();
                self.last = Some(Last {
                    qualifier,
                    timestamp: cell.timestamp(),
                    code,
                    sequence: cell.sequence_id(),
                });
            }
        }
        None
    }
}

/// Returns one span of all time, which no marker ends.
fn no_markers() -> Spans {
    Spans::from([(u64::MAX, Span::new(i64::MIN))])
}
