//! What hides a cell in a family with `NEW_VERSION_BEHAVIOR`, where the order of the writes counts beside that of the
//! timestamps (the role of HBase's `NewVersionBehaviorTracker`, HBASE-15968).
//!
//! A marker hides what was written before it, and nothing that came later, whatever its timestamp. The versions that a
//! column keeps are counted among the cells that were there when a cell was written or any time after: a cell that was
//! once one too many is gone for good, even if those that pushed it out are deleted later.
//!
//! Cells come by timestamp, so for each there is to be known what a reader at any later time would have counted. The
//! time between two markers is a [`Span`], known by the sequence id it ends at; in each span that a cell has lived
//! through, it has a place among the newest cells, or had none.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use halite_types::{CellRef, CellType};

/// What happened between one marker of many versions and the one before it.
#[derive(Clone, Debug)]
struct Span {
    /// The marker at its end hides timestamps up to this.
    hides_to: i64,
    /// Timestamps hidden by markers of one version: the sequence ids of those markers.
    versions: HashMap<i64, BTreeSet<u64>>,
    /// By the sequence id of the marker of one version that ends it, or `u64::MAX`: the cells that were counted in it.
    counted: BTreeMap<u64, BTreeSet<u64>>,
}

impl Span {
    fn new(hides_to: i64) -> Self {
        Self { hides_to, versions: HashMap::new(), counted: BTreeMap::from([(u64::MAX, BTreeSet::new())]) }
    }

    fn add_version(&mut self, timestamp: i64, sequence: u64) {
        self.versions.entry(timestamp).or_default().insert(sequence);
        // Before the marker there was what is counted behind it, as far as it was written before; the rest must not be
        // taken over, for the marker may have taken a version away that pushed another one out.
        let behind = self.counted.range(sequence..).next().map(|(_, cells)| cells.range(..sequence).copied().collect());
        self.counted.insert(sequence, behind.unwrap_or_default());
    }
}

type Spans = BTreeMap<u64, Span>;

/// The markers and cells seen so far of a row.
#[derive(Debug)]
pub(crate) struct NewVersionTracker {
    max_versions: usize,
    /// By the sequence id of the marker that ends each: markers of the whole family, and those with the column's own.
    family: Spans,
    column: Spans,
    last: Option<Last>,
}

/// The cell that was seen last.
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

    /// Called for each row.
    pub(crate) fn reset(&mut self) {
        self.family = no_markers();
        self.column.clear();
        self.last = None;
    }

    /// Remembers a marker.
    pub(crate) fn add(&mut self, marker: CellRef<'_>) {
        self.step(marker);
        let (timestamp, sequence, code) = (marker.timestamp(), marker.sequence(), marker.type_code());
        let spans = if is_of_family(code) { &mut self.family } else { &mut self.column };
        if code == CellType::DeleteFamily.code() || code == CellType::DeleteColumn.code() {
            spans.insert(sequence, Span::new(timestamp));
        } else if let Some((_, span)) = spans.range_mut(sequence..).next() {
            span.add_version(timestamp, sequence);
        }
    }

    /// Whether a cell, which comes after all markers that may hide it, is hidden or was one version too many. To be asked
    /// once of every cell: it counts.
    pub(crate) fn hides(&mut self, cell: CellRef<'_>) -> bool {
        let (timestamp, sequence) = (cell.timestamp(), cell.sequence());
        // A later write of the same version took its place.
        let replaced = self.step(cell);
        for span in self.column.range_mut(sequence..).map(|(_, span)| span) {
            let deleted = span.versions.get(&timestamp).and_then(|markers| markers.range(sequence..).next().copied());
            let until = replaced.unwrap_or(u64::MAX).min(deleted.unwrap_or(u64::MAX));
            for cells in span.counted.range_mut(sequence..=until.max(sequence)).map(|(_, cells)| cells) {
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

    /// On to a cell; the sequence id of the one before if that is the same version, written later.
    fn step(&mut self, cell: CellRef<'_>) -> Option<u64> {
        let code = cell.type_code();
        let same_column = |last: &Last| last.qualifier == cell.qualifier() && is_of_family(last.code) == is_of_family(code);
        match &mut self.last {
            Some(last) if same_column(last) => {
                if !cell.is_delete() && last.code == code && last.timestamp == cell.timestamp() {
                    return Some(last.sequence);
                }
                (last.timestamp, last.code, last.sequence) = (cell.timestamp(), code, cell.sequence());
            }
            _ => {
                self.column = self.family.clone();
                let qualifier = cell.qualifier().to_vec();
                self.last = Some(Last { qualifier, timestamp: cell.timestamp(), code, sequence: cell.sequence() });
            }
        }
        None
    }
}

/// All of time in one span, which no marker ends.
fn no_markers() -> Spans {
    Spans::from([(u64::MAX, Span::new(i64::MIN))])
}
