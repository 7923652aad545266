//! What a get or scan asks of the stores: checked, and turned into filters and scanners.

use bytes::Bytes;
use halite_types::{Error, Result, Scan, Selection};

use super::snapshot::{Family, RegionSnapshot};
use crate::env::Rng;
use crate::scan::filter::FilterState;
use crate::scan::{Matcher, Merge, Source, StoreLimits, StoreScanner, UserQuery};

/// Whether a scan can be answered.
pub(crate) fn check_scan(scan: &Scan) -> Result<()> {
    check_selection(&scan.selection)?;
    let names_columns = scan.selection.columns.values().any(|columns| columns.as_ref().is_some_and(|columns| !columns.is_empty()));
    if scan.raw && names_columns {
        return Err(Error::invalid("a raw scan returns every cell of its families; name families instead of columns"));
    }
    Ok(())
}

/// Whether a get or scan can be answered.
pub(crate) fn check_selection(selection: &Selection) -> Result<()> {
    if selection.max_versions == 0 {
        return Err(Error::invalid("0 versions are asked for; ask for at least 1"));
    }
    Ok(())
}

/// The filter of a get or scan, ready for its first row.
pub(crate) fn filter_state(rng: &dyn Rng, selection: &Selection, reversed: bool) -> Result<Option<FilterState>> {
    let Some(filter) = &selection.filter else { return Ok(None) };
    let mut state = FilterState::new(filter)?;
    state.set_seed(rng.next_u64());
    state.set_reversed(reversed);
    Ok(Some(state))
}

/// The stores a selection reads, in family order, with the columns it wants of each. A time range of a family that is not
/// there is no matter, as in HBase.
pub(crate) fn wanted_stores(snapshot: &RegionSnapshot, selection: &Selection) -> Result<Vec<(usize, Option<Vec<Bytes>>)>> {
    if selection.columns.is_empty() {
        return Ok((0..snapshot.families.len()).map(|index| (index, None)).collect());
    }
    let mut stores = Vec::with_capacity(selection.columns.len());
    for (family, columns) in &selection.columns {
        let columns = columns.as_ref().filter(|columns| !columns.is_empty()).map(|columns| columns.iter().cloned().collect());
        stores.push((snapshot.family_index(family)?, columns));
    }
    Ok(stores)
}

/// What a get or scan wants of one family.
pub(crate) struct UserRead<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) family: &'a Family,
    pub(crate) columns: Option<Vec<Bytes>>,
    pub(crate) raw: bool,
    pub(crate) single_row: bool,
    pub(crate) now: i64,
    /// Bytes of a row that may be put together.
    pub(crate) row_bytes_max: Option<u64>,
}

impl UserRead<'_> {
    /// A scanner that shows it.
    pub(crate) fn scanner(self, sources: Vec<Source>) -> StoreScanner {
        let query = UserQuery {
            columns: self.columns,
            time_range: self.selection.time_range_of(&self.family.name),
            max_versions: self.selection.max_versions,
            raw: self.raw,
            has_filter: self.selection.filter.is_some(),
        };
        let limits = StoreLimits { limit: self.selection.family_limit, offset: self.selection.family_offset, row_bytes_max: self.row_bytes_max };
        StoreScanner::new(Merge::new(sources), Matcher::for_read(query, self.family.retention(self.now)), limits, self.single_row)
    }
}
