//! Checks of a scan before any request is sent, because servers would return retriable exceptions.

use halite_types::{Error, ErrorKind, Filter, Result, Scan};

/// Rejects a batch limit with a filter that decides on whole rows, as HBase's client does
/// (`Scan.setBatch`). Its server answers with an `IOException`, which clients retry.
pub(super) fn validate(scan: &Scan) -> Result<()> {
    match &scan.selection.filter {
        Some(filter) if scan.batch.is_some() && has_filter_row(filter) => {
            let text = format!(
                "a batch limit cuts rows, and {filter} decides over whole rows; leave one of them \
                 out"
            );
            Err(Error::new(ErrorKind::IncompatibleFilter, text))
        }
        _ => Ok(()),
    }
}

/// Returns `true` if the filter's class does so in HBase (`Filter.hasFilterRow`).
fn has_filter_row(filter: &Filter) -> bool {
    match filter {
        Filter::SingleColumnValue { .. }
        | Filter::DependentColumn { .. }
        | Filter::Page(_)
        | Filter::RandomRow(_)
        | Filter::FilterAll
        | Filter::WhileMatch(_)
        | Filter::Skip(_) => true,
        Filter::All(filters) | Filter::One(filters) => filters.iter().any(has_filter_row),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_limit_with_whole_row_filter_is_rejected() {
        let scan = |filter: &str| Scan::all().batch(2).filter(filter.parse().unwrap());
        for filter in ["PageFilter(2)", "PrefixFilter('a') OR SKIP ValueFilter(=, 'binary:v')"] {
            assert_eq!(
                validate(&scan(filter)).unwrap_err().kind(),
                ErrorKind::IncompatibleFilter,
                "{filter}"
            );
            validate(&Scan { batch: None, ..scan(filter) }).unwrap();
        }
        validate(&scan("PrefixFilter('a') AND ValueFilter(=, 'binary:v')")).unwrap();
    }
}
