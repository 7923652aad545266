//! Events of a store, or of a cluster elsewhere, in the form of the page.

use halite::{EventFilter, EventKind, Store};
use halite_types::Result;
use halite_web::{Event, EventQuery, Page};

use super::numbered::{number_before, page_of};

/// Returns the events that a query selects, newest first. The number of the last one continues the
/// list.
///
/// # Errors
/// `InvalidRequest` for a continuation that no answer contained.
pub(super) fn events(store: &Store, query: &EventQuery) -> Result<Page<Event>> {
    let filter = filter_of(query)?;
    Ok(page_of_events(store.engine().events(&filter, query.limit), query.limit))
}

/// Returns the filter of a query.
///
/// # Errors
/// As [`events`].
pub(super) fn filter_of(query: &EventQuery) -> Result<EventFilter> {
    Ok(EventFilter {
        from_ms: query.from,
        to_ms: query.to,
        table: query.table.clone(),
        with_store: query.with_store,
        kinds: query.kinds.iter().filter_map(|kind| EventKind::from_name(kind)).collect(),
        before: number_before(query.next.as_deref())?,
    })
}

pub(super) fn page_of_events(found: Vec<halite::Event>, limit: usize) -> Page<Event> {
    page_of(found, limit, |event| event.number, view)
}

fn view(event: halite::Event) -> Event {
    Event {
        at: event.time_ms,
        kind: event.kind.name().to_owned(),
        table: event.table,
        region: event.region,
        key: event.key,
        text: event.text,
        duration_ms: event.duration_ms,
        bytes: event.bytes,
    }
}
