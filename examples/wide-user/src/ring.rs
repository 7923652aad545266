//! Ring of the last orders: its columns and their bytes.

use halite::{Error, Result, Row};

use crate::users::ORDERS;

/// Orders of a user that are retained.
pub const RING_ORDERS: u64 = 10;
/// Column of the number of all orders, which determines the next place of the ring.
pub(crate) const COUNT: &str = "n";
/// Beginning of the columns of the ring, followed by the place in one byte.
const PLACE: u8 = b'r';
/// Sequence, id, time, amount.
const ORDER_BYTES: usize = 32;

/// Order of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Id, greater than those of all earlier orders of the user.
    pub id: u64,
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// Amount in cents.
    pub cents: u64,
}

/// Returns the column of the order with this sequence, counted from 0.
pub(crate) fn column(sequence: u64) -> [u8; 2] {
    [PLACE, u8::try_from(sequence % RING_ORDERS).unwrap_or(0)]
}

/// Returns the bytes of an order.
pub(crate) fn encode(sequence: u64, order: &Order) -> Vec<u8> {
    let (id, at_ms) = (order.id.to_be_bytes(), order.at_ms.to_be_bytes());
    [sequence.to_be_bytes(), id, at_ms, order.cents.to_be_bytes()].concat()
}

/// Returns the orders of a row, the newest first.
pub(crate) fn orders(row: &Row) -> Result<Vec<Order>> {
    let mut orders = Vec::new();
    for cell in row {
        if cell.family() == ORDERS.as_bytes() && cell.qualifier().first() == Some(&PLACE) {
            orders.push(decode(cell.value())?);
        }
    }
    orders.sort_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
    Ok(orders.into_iter().map(|(_, order)| order).collect())
}

/// Returns the number of all orders of a row.
pub(crate) fn count(row: &Row) -> Result<u64> {
    let Some(value) = row.value(ORDERS, COUNT) else { return Ok(0) };
    let bytes = value.try_into().map_err(|_| damaged("the number of orders", value))?;
    Ok(u64::from_be_bytes(bytes))
}

fn decode(value: &[u8]) -> Result<(u64, Order)> {
    let bytes: &[u8; ORDER_BYTES] = value.try_into().map_err(|_| damaged("an order", value))?;
    let number = |at: usize| {
        bytes[at * 8..].first_chunk().map_or(0, |number: &[u8; 8]| u64::from_be_bytes(*number))
    };
    let order = Order { id: number(1), at_ms: number(2).cast_signed(), cents: number(3) };
    Ok((number(0), order))
}

fn damaged(what: &str, value: &[u8]) -> Error {
    Error::corrupt(format!("{what} has {} bytes; write the user again", value.len()))
}
