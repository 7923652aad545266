//! Events of a store in the form of the page.

use halite::{EventFilter, EventKind, Store};
use halite_types::{Error, Result};
use halite_web::{Event, EventQuery, Page};

/// Returns the events that a query selects, newest first. The number of the last one continues the
/// list.
///
/// # Errors
/// `InvalidRequest` for a continuation that no answer contained.
pub(super) fn events(store: &Store, query: &EventQuery) -> Result<Page<Event>> {
    let before = query.next.as_deref().map(str::parse).transpose();
    let filter = EventFilter {
        from_ms: query.from,
        to_ms: query.to,
        table: query.table.clone(),
        with_store: query.with_store,
        kinds: query.kinds.iter().filter_map(|kind| EventKind::from_name(kind)).collect(),
        before: before.map_err(|_| Error::invalid("next is from an earlier answer"))?,
    };
    let found = store.engine().events(&filter, query.limit);
    let is_full = found.len() == query.limit;
    let next = found.last().filter(|_| is_full).map(|event| event.number.to_string());
    let items = found.into_iter().map(|event| Event {
        at: event.time_ms,
        kind: event.kind.name().to_owned(),
        table: event.table,
        region: event.region,
        key: event.key,
        text: event.text,
        duration_ms: event.duration_ms,
        bytes: event.bytes,
    });
    Ok(Page { items: items.collect(), next })
}
