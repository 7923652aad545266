//! Writers of one user at the same time: no acknowledged order is lost.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use wide_user::{Order, RING_ORDERS};

use super::design::Design;
use crate::recipe::{T0, Verified};

/// User that no item names.
const USER: &str = "contended";
const WRITERS: u64 = 4;
const ORDERS: u64 = 200;

/// Adds orders to one user from several threads, each id once and in ascending order. An order is
/// added or, if a later one was first, refused; those that were added are counted, and the last of
/// them are in the ring.
pub(super) fn verify(design: &dyn Design) -> Result<Verified> {
    let before = design.page(USER)?;
    let first = before.last_orders.first().map_or(0, |order| order.id) + 1;
    let next = AtomicU64::new(first);
    let added: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
    let work = || -> Result<()> {
        loop {
            let id = next.fetch_add(1, Ordering::Relaxed);
            if id >= first + ORDERS {
                return Ok(());
            }
            if design.add_order(USER, &Order { id, at_ms: T0, cents: id })? {
                added.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
            }
        }
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(work)).collect();
        writers.into_iter().try_for_each(|writer| {
            writer.join().unwrap_or_else(|_| anyhow::bail!("a writer panicked"))
        })
    })?;
    let added = added.into_inner().unwrap_or_else(PoisonError::into_inner);
    let after = design.page(USER)?;
    let counted = after.order_count - before.order_count;
    ensure!(
        counted == added.len() as u64,
        "{} orders of {WRITERS} concurrent writers were acknowledged, {counted} were counted",
        added.len()
    );
    let ring: Vec<u64> = after.last_orders.iter().map(|order| order.id).collect();
    let last = added.iter().rev().copied();
    let last: Vec<u64> = last.take(usize::try_from(RING_ORDERS)?).collect();
    ensure!(ring[..last.len()] == last, "the last orders are {ring:?}, and not {last:?}");
    Ok(Verified { queries: 2, rows: 2, examined: 2 })
}
