//! Users with a ring of orders: the table equals the model, and the check fails for rings without a
//! condition.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use anyhow::Result;
use halite::{Append, BlockingTable, FamilyDescriptor, Get, Put, Row, TableDescriptor};
use halite_recipes::wide_user::{Design, WIDE_USER};
use halite_recipes::{InProcessTarget, Load, Site, check};
use wide_user::{Order, RING_ORDERS, User, Users};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 400 };
/// User to whom several writers add orders.
const CONTENDED: &str = "contended";
/// Names of the first users.
const NAMES: u64 = 3;

#[test]
fn f7_ring_equals_model_after_crash_and_with_concurrent_writers() {
    let report = backends::check_embedded(&WIDE_USER, LOAD, 120).unwrap();
    // Orders that are delivered twice need no write.
    assert!(report.acknowledged >= 120 - NAMES, "{report:?}");
    assert_eq!(report.at_end.rows, report.at_end.examined);
}

#[test]
fn f7_ring_runs_through_client_and_server() {
    let load = Load { items: 100, ..LOAD };
    check(&WIDE_USER, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 40)).unwrap();
}

/// Mistake in a ring.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// The row is read and written without a condition.
    NoCondition,
    /// The number of orders is written after the order.
    TwoWrites,
    /// An order is refused if the newest one is the same, and not if it is a later one.
    Late,
    /// Orders are appended to one cell, which grows; one that is delivered twice is there twice.
    Append,
}

struct Naive {
    mistake: Mistake,
    table: BlockingTable,
    meeting: Meeting,
}

/// Makes writers of one user wait for each other in pairs, between their read and their write.
#[derive(Default)]
struct Meeting {
    arrived: Mutex<u64>,
    changed: Condvar,
}

impl Meeting {
    /// Maximum wait of a writer without another one, which is the last.
    const LIMIT: Duration = Duration::from_secs(2);

    fn meet(&self) {
        let mut arrived = self.arrived.lock().unwrap();
        *arrived += 1;
        let own = *arrived;
        self.changed.notify_all();
        let is_alone = |arrived: &mut u64| own % 2 == 1 && *arrived == own;
        drop(self.changed.wait_timeout_while(arrived, Self::LIMIT, is_alone).unwrap());
    }
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        Users::open(&site.cluster, &site.namespace)?;
        let name = format!("{}:naive", site.namespace);
        if !site.cluster.table_exists(&name)? {
            let table = TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("o"));
            site.cluster.create_table(table, &[])?;
        }
        let meeting = Meeting::default();
        Ok(Box::new(Self { mistake, table: site.cluster.table(&name)?, meeting }))
    }
}

fn bytes(order: &Order) -> Vec<u8> {
    let Order { id, at_ms, cents } = order;
    [id.to_be_bytes(), at_ms.to_be_bytes(), cents.to_be_bytes()].concat()
}

fn order(bytes: &[u8]) -> Order {
    let number = |at: usize| u64::from_be_bytes(bytes[at * 8..][..8].try_into().unwrap());
    Order { id: number(0), at_ms: number(1).cast_signed(), cents: number(2) }
}

fn user(row: &Row) -> User {
    let appended = row.value("o", "all").unwrap_or_default();
    let mut orders: Vec<Order> = appended.chunks(24).map(order).collect();
    let mut order_count = orders.len() as u64;
    for cell in row {
        match cell.qualifier() {
            b"n" => order_count = u64::from_be_bytes(cell.value().try_into().unwrap()),
            [b'r', _] => orders.push(order(cell.value())),
            _ => {}
        }
    }
    orders.sort_by_key(|order| std::cmp::Reverse(order.id));
    orders.truncate(usize::try_from(RING_ORDERS).unwrap());
    User { name: String::new(), order_count, last_orders: orders }
}

impl Design for Naive {
    fn rename(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }

    fn add_order(&self, name: &str, order: &Order) -> Result<bool> {
        let row = name.as_bytes().to_vec();
        if self.mistake == Mistake::Append {
            self.table.append(Append::new(row).add("o", "all", bytes(order)))?;
            return Ok(true);
        }
        let current = user(&self.table.get(Get::new(row.clone()))?);
        let newest = current.last_orders.first().map_or(0, |newest| newest.id);
        if newest == order.id || newest > order.id && self.mistake != Mistake::Late {
            return Ok(false);
        }
        if self.mistake == Mistake::NoCondition && name == CONTENDED {
            self.meeting.meet();
        }
        let next = current.order_count;
        let place = [b'r', u8::try_from(next % u64::from(RING_ORDERS)).unwrap()];
        let order = Put::new(row.clone()).add("o", place, bytes(order));
        let count = (next + 1).to_be_bytes();
        match self.mistake {
            Mistake::TwoWrites => {
                self.table.put(order)?;
                self.table.put(Put::new(row).add("o", "n", count))?;
            }
            _ => self.table.put(order.add("o", "n", count))?,
        }
        Ok(true)
    }

    fn page(&self, name: &str) -> Result<User> {
        Ok(user(&self.table.get(Get::new(name.as_bytes().to_vec()))?))
    }
}

/// Checks a design and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, batches: u64) -> String {
    let checked = backends::check_embedded(&WIDE_USER.with_design(design), LOAD, batches);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn f7_ring_without_condition_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoCondition), 100);
    assert!(why.contains("concurrent writers were acknowledged"), "{why}");
}

#[test]
fn f7_ring_of_two_writes_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::TwoWrites), 101);
    assert!(why.contains("after a crash at orders"), "{why}");
}

#[test]
fn e05_appended_orders_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::Append), 100);
    assert!(why.contains("orders, the last"), "{why}");
}

#[test]
fn f7_ring_that_takes_late_orders_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::Late), 100);
    assert!(why.contains("orders, the last"), "{why}");
}
