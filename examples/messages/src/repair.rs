//! Repair of messages whose sender stopped between the writes.
//!
//! Three tables are three writes, and a program may stop after the first. The outbox is written
//! first, so it contains every message that any table contains; a repair copies from there what the
//! other two lack. It runs when a sender restarts, or every few minutes. Copied cells are equal to
//! those that the sender writes, so both may run at the same time.

use halite::{BlockingTable, Bytes, Get, Put, Result, Row, RowOp, Scan, TimeRange};

use crate::keys::VERSIONS;
use crate::{Mailbox, Message};

/// Messages compared at once.
const REPAIR_ROWS: usize = 500;

impl Mailbox {
    /// Completes messages and edits that were written since a time, in milliseconds since 1970.
    /// Returns the number of cells that were missing.
    ///
    /// The time range makes the scan skip store files that contain only older cells.
    ///
    /// # Errors
    /// As [`BlockingTable::scan`] and [`BlockingTable::batch`]. What was copied before remains.
    pub fn repair(&self, since_ms: i64) -> Result<u64> {
        let scan = Scan::all().versions(VERSIONS).time_range(TimeRange::new(since_ms, i64::MAX)?);
        let mut missing = 0;
        let mut rows = self.outbox.scan(scan);
        loop {
            let sent = rows.by_ref().take(REPAIR_ROWS).collect::<Result<Vec<Row>>>()?;
            if sent.is_empty() {
                return Ok(missing);
            }
            let messages = sent.iter().map(Message::from_outbox).collect::<Result<Vec<_>>>()?;
            let keys = |key: fn(&Message) -> Result<halite::rowkey::KeyBuf>| {
                messages.iter().map(|message| key(message).map(Bytes::from)).collect()
            };
            let (inbox, convo): (Result<Vec<_>>, Result<Vec<_>>) =
                (keys(Message::inbox_key), keys(Message::conversation_key));
            missing += copy_missing(&self.inbox, &sent, inbox?, since_ms)?;
            missing += copy_missing(&self.convo, &sent, convo?, since_ms)?;
        }
    }
}

/// Writes the cells of rows that a table lacks under the rows' keys there. Returns their number.
fn copy_missing(
    table: &BlockingTable,
    sent: &[Row],
    keys: Vec<Bytes>,
    since_ms: i64,
) -> Result<u64> {
    let range = TimeRange::new(since_ms, i64::MAX)?;
    let get = |key: &Bytes| Get::new(key.clone()).versions(VERSIONS).time_range(range);
    let present = table.get_all(keys.iter().map(get).collect())?;
    let mut missing = 0;
    let mut puts: Vec<RowOp> = Vec::new();
    for ((row, there), key) in sent.iter().zip(&present).zip(keys) {
        let is_missing = |cell: &halite::CellRef<'_>| {
            !there.iter().any(|other| other.timestamp() == cell.timestamp())
        };
        let mut put = Put::new(key);
        let mut cells = 0;
        for cell in row.iter().filter(is_missing) {
            put = put.add_at(cell.family(), cell.qualifier(), cell.timestamp(), cell.value());
            cells += 1;
        }
        if cells > 0 {
            puts.push(put.into());
        }
        missing += cells;
    }
    table.batch(puts)?.into_iter().try_for_each(|result| result.map(drop))?;
    Ok(missing)
}
