//! Lists of numbered items, newest first: the number of the last item continues the list.

use halite_types::{Error, Result};
use halite_web::Page;

/// Returns the number below which a list continues; `None` at its start.
///
/// # Errors
/// `InvalidRequest` for a continuation that no answer contained.
pub(super) fn number_before(next: Option<&str>) -> Result<Option<u64>> {
    let number = next.map(str::parse).transpose();
    number.map_err(|_| Error::invalid("next is from an earlier answer"))
}

/// Returns a part of a list in the form of the page. It continues if it is as long as was asked.
pub(super) fn page_of<T, U>(
    found: Vec<T>,
    limit: usize,
    number: impl Fn(&T) -> u64,
    view: impl Fn(T) -> U,
) -> Page<U> {
    let next = found.last().filter(|_| found.len() == limit).map(|last| number(last).to_string());
    Page { items: found.into_iter().map(view).collect(), next }
}
