//! Events of the store in the hidden table `hbase:halite_heat`, beside the columns of load:
//!
//! ```text
//! row        name of the hidden table, 0x00, group (u8: 254 flushes and compactions, 255 others),
//!            number of the event (u64, big-endian)
//! family h   m time in milliseconds since 1970, d duration in milliseconds, b bytes (u64, big-endian)
//!            k kind, t table, r region, x text (UTF-8), y row key; those that the event has
//! ```
//!
//! No layer of columns has these numbers, so that readers of columns pass events over. Flushes and
//! compactions live for a day, others for five weeks. An event is written when the next column
//! ends, once the hidden table exists: events alone do not create it.

use halite_types::{Bytes, Durability, ErrorKind, Put, ReadTier, Result, Row, RowOp, Scan};

use super::store::{FAMILY, apply, times_name};
use crate::catalog::layout;
use crate::engine::Engine;
use crate::events::{Event, EventKind, MAX_EVENTS};

const FREQUENT: u8 = 254;
const OTHERS: u8 = 255;

const DAY_MS: u64 = 86_400_000;
/// Lifetimes of the two groups.
const FREQUENT_MS: u64 = DAY_MS;
const OTHERS_MS: u64 = 35 * DAY_MS;

impl Engine {
    /// Stores the events since the last call. A failure leaves them for the next one.
    pub(super) fn store_new_events(&self) {
        let stored = self.heat.recorded.lock().stored_event;
        let events = self.shared.events.since(stored);
        let Some(newest) = events.last().map(|event| event.number) else { return };
        let result = match self.find_table(&layout::heat_table()) {
            Ok(table) => apply(&table, events.iter().map(put_of).collect()),
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return,
            Err(error) => Err(error),
        };
        let mut recorded = self.heat.recorded.lock();
        match result {
            Ok(()) => recorded.stored_event = newest,
            Err(error) => recorded.failures.1 = Some(error),
        }
    }

    /// Brings back the newest events of earlier processes.
    pub(super) fn restore_events(&self) {
        let mut events = Vec::new();
        for group in [FREQUENT, OTHERS] {
            if let Err(error) = self.read_events(group, &mut events) {
                self.heat.recorded.lock().failures.0 = Some(error);
            }
        }
        // Events of this process have higher numbers, and are not stored yet.
        self.heat.recorded.lock().stored_event = self.shared.events.restore(events);
    }

    fn read_events(&self, group: u8, events: &mut Vec<Event>) -> Result<()> {
        let table = match self.find_table(&layout::heat_table()) {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return Ok(()),
            found => found?,
        };
        let newest_first = Scan::range(row_of(group, 0), row_of(group, u64::MAX)).reverse(true);
        let mut scanner = table.scan(newest_first.limit(MAX_EVENTS), ReadTier::Disk);
        loop {
            let rows = scanner.next_rows()?;
            if rows.is_empty() || self.shared.scheduler.is_closing() {
                return Ok(());
            }
            events.extend(rows.iter().filter_map(event_of));
        }
    }
}

fn row_of(group: u8, number: u64) -> Vec<u8> {
    let mut row = times_name().to_string().into_bytes();
    row.extend_from_slice(&[0, group]);
    row.extend_from_slice(&number.to_be_bytes());
    row
}

fn put_of(event: &Event) -> RowOp {
    let (group, lives_ms) =
        if event.kind.is_frequent() { (FREQUENT, FREQUENT_MS) } else { (OTHERS, OTHERS_MS) };
    let number = |number: u64| Bytes::copy_from_slice(&number.to_be_bytes());
    let table = event.table.as_ref().map(|table| Bytes::from(table.to_string()));
    let fields = [
        ("m", Some(number(event.time_ms))),
        ("d", event.duration_ms.map(number)),
        ("b", event.bytes.map(number)),
        ("k", Some(Bytes::from_static(event.kind.name().as_bytes()))),
        ("t", table),
        ("r", event.region.clone().map(Bytes::from)),
        ("x", Some(Bytes::from(event.text.clone()))),
        ("y", event.key.clone()),
    ];
    let mut put =
        Put::new(row_of(group, event.number)).durability(Durability::AsyncWal).ttl_ms(lives_ms);
    for (qualifier, value) in fields {
        if let Some(value) = value {
            put = put.add(FAMILY, qualifier, value);
        }
    }
    RowOp::Put(put)
}

/// Returns the event of a row; `None` if the row is not one.
fn event_of(row: &Row) -> Option<Event> {
    let (_, number) = row.key().split_last_chunk::<8>()?;
    let text = |qualifier| std::str::from_utf8(row.value(FAMILY, qualifier)?).ok();
    let count =
        |qualifier| Some(u64::from_be_bytes(row.value(FAMILY, qualifier)?.try_into().ok()?));
    Some(Event {
        number: u64::from_be_bytes(*number),
        time_ms: count("m")?,
        kind: EventKind::from_name(text("k")?)?,
        table: text("t").and_then(|name| name.parse().ok()),
        region: text("r").map(str::to_owned),
        key: row.value(FAMILY, "y").map(Bytes::copy_from_slice),
        text: text("x")?.to_owned(),
        duration_ms: count("d"),
        bytes: count("b"),
    })
}
