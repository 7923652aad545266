//! What a get or scan asks of the stores: checked, and turned into filters and scanners.

use bytes::Bytes;
use halite_types::{Error, Result, Scan, Selection};

use super::snapshot::RegionSnapshot;
use crate::env::Rng;
use crate::scan::filter::FilterState;
use crate::scan::{Matcher, Merge, Retention, Source, StoreLimits, StoreScanner, UserQuery};

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

/// The stores a selection reads, in family order, with the columns it wants of each.
pub(crate) fn wanted_stores(snapshot: &RegionSnapshot, selection: &Selection) -> Result<Vec<(usize, Option<Vec<Bytes>>)>> {
    for family in selection.family_time_ranges.keys() {
        snapshot.family_index(family)?;
    }
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

/// A scanner that shows of one family what a get or scan wants of it.
pub(crate) fn user_scanner(
    sources: Vec<Source>,
    selection: &Selection,
    family: &[u8],
    columns: Option<Vec<Bytes>>,
    raw: bool,
    retention: Retention,
    single_row: bool,
) -> StoreScanner {
    let query = UserQuery {
        columns,
        time_range: selection.time_range_of(family),
        max_versions: selection.max_versions,
        raw,
        has_filter: selection.filter.is_some(),
    };
    let limits = StoreLimits { limit: selection.family_limit, offset: selection.family_offset };
    StoreScanner::new(Merge::new(sources), Matcher::for_read(query, retention), limits, single_row)
}
