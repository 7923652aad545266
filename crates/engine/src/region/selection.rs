//! Selection of a get or scan: validation, filters and scanners.

use bytes::Bytes;
use halite_types::{Error, Result, Scan, Selection};

use super::snapshot::{Family, RegionSnapshot};
use crate::env::Rng;
use crate::scan::filter::FilterState;
use crate::scan::{
    CellSource, CellStream, Matcher, MergeRule, StoreLimits, StoreScanner, UserQuery,
};

/// Verifies that a scan is valid.
pub(crate) fn check_scan(scan: &Scan) -> Result<()> {
    check_selection(&scan.selection)?;
    let names_columns = scan
        .selection
        .columns
        .values()
        .any(|columns| columns.as_ref().is_some_and(|columns| !columns.is_empty()));
    if scan.raw && names_columns {
        return Err(Error::invalid(
            "a raw scan returns every cell of its families; name families instead of columns",
        ));
    }
    Ok(())
}

/// Verifies that the selection of a get or scan is valid.
pub(crate) fn check_selection(selection: &Selection) -> Result<()> {
    if selection.max_versions == 0 {
        return Err(Error::invalid("0 versions are requested; request at least 1"));
    }
    Ok(())
}

/// Returns the filter of a get or scan, ready for its first row.
pub(crate) fn filter_state(
    rng: &dyn Rng,
    selection: &Selection,
    reversed: bool,
) -> Result<Option<FilterState>> {
    let Some(filter) = &selection.filter else { return Ok(None) };
    let mut state = FilterState::new(filter)?;
    state.set_seed(rng.next_u64());
    state.set_reversed(reversed);
    Ok(Some(state))
}

/// Returns the stores that a selection reads, in family order, with the selected columns of each. A
/// time range of an unknown family is ignored, as in HBase.
pub(crate) fn selected_stores(
    snapshot: &RegionSnapshot,
    selection: &Selection,
) -> Result<Vec<(usize, Option<Vec<Bytes>>)>> {
    if selection.columns.is_empty() {
        return Ok((0..snapshot.families.len()).map(|index| (index, None)).collect());
    }
    let mut stores = Vec::with_capacity(selection.columns.len());
    for (family, columns) in &selection.columns {
        let columns = columns
            .as_ref()
            .filter(|columns| !columns.is_empty())
            .map(|columns| columns.iter().cloned().collect());
        stores.push((snapshot.family_index(family)?, columns));
    }
    Ok(stores)
}

/// Parameters of a get or scan for one family.
pub(crate) struct UserRead<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) family: &'a Family,
    pub(crate) columns: Option<Vec<Bytes>>,
    pub(crate) raw: bool,
    pub(crate) single_row: bool,
    pub(crate) now: i64,
    /// Maximum bytes of a row that may be assembled.
    pub(crate) max_row_bytes: Option<u64>,
}

impl UserRead<'_> {
    /// Returns a scanner of the selected cells.
    pub(crate) fn scanner(self, sources: Vec<CellSource>) -> StoreScanner {
        let query = UserQuery {
            columns: self.columns,
            time_range: self.selection.time_range_of(&self.family.name),
            max_versions: self.selection.max_versions,
            raw: self.raw,
            has_filter: self.selection.filter.is_some(),
        };
        let limits = StoreLimits {
            limit: self.selection.family_limit,
            offset: self.selection.family_offset,
            max_row_bytes: self.max_row_bytes,
        };
        let retention = self.family.retention(self.now);
        let rule = retention.merge_rule().filter(|_| !self.raw);
        let rule = rule.map(|rule| MergeRule { is_bounded: true, ..rule });
        StoreScanner::new(
            CellStream::new(sources, rule),
            Matcher::for_read(query, retention),
            limits,
            self.single_row,
        )
    }
}
