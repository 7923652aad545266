//! Writes and reads of users.

use halite::RowKey;
use halite::{
    BlockingCluster, BlockingTable, Bytes, CheckAndMutate, Error, ErrorKind, Get, Put, Result,
    RowOp, declare_tables,
};

use crate::ring::{COUNT, Order, column, count, encode, orders};

/// Family of the description of a user.
const INFO: &str = "i";
/// Family of the ring of orders.
pub(crate) const ORDERS: &str = "o";
/// Attempts of a write whose row is changed by others meanwhile.
const MAX_ATTEMPTS: usize = 100;

/// The table. Both families are read together; orders are written often and the description seldom,
/// and a family is flushed and compacted on its own.
pub const TABLES: &str = "
CREATE TABLE users (
  name STRING FAMILY i QUALIFIER n,
  order_count U64 FAMILY o QUALIFIER n,
  last_orders MAP(U8, BYTES) FAMILY o PREFIX 'r',
  ROW KEY (SALT(16 BY user_id), user_id STRING)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (page: user_id = ?)
  SPLIT BY SALT;
";

/// Key of `users`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "users", salt(16, by = "user_id"))]
pub struct UserKey<'a> {
    /// User.
    pub user_id: &'a str,
}

/// User as a page shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name; empty if it was never set.
    pub name: String,
    /// Number of all orders.
    pub order_count: u64,
    /// Last orders, at most [`crate::RING_ORDERS`], the newest first.
    pub last_orders: Vec<Order>,
}

/// Users on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Users {
    table: BlockingTable,
}

impl Users {
    /// Opens the table of a namespace, and creates it if it does not exist.
    ///
    /// # Errors
    /// As [`declare_tables`].
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, TABLES)?;
        Ok(Self { table: cluster.table(&format!("{namespace}:{}", UserKey::TABLE))? })
    }

    /// Sets the name of a user.
    ///
    /// # Errors
    /// As [`BlockingTable::put`].
    pub fn rename(&self, user_id: &str, name: &str) -> Result<()> {
        self.table.put(Put::new(key(user_id)?).add(INFO, "n", name))
    }

    /// Adds an order to a user. Returns `false` if the newest order has this id or a greater one:
    /// ids of one user ascend, so the order was added before, as after a lost reply.
    ///
    /// The place in the ring and the number of orders change in one atomic write, on the condition
    /// that no other order was added since they were read.
    ///
    /// # Errors
    /// `Busy` if other writers won every attempt; otherwise as [`BlockingTable::check_and_mutate`].
    pub fn add_order(&self, user_id: &str, order: &Order) -> Result<bool> {
        let row: Bytes = key(user_id)?;
        for _ in 0..MAX_ATTEMPTS {
            let current = self.table.get(Get::new(row.clone()).family(ORDERS))?;
            if orders(&current)?.first().is_some_and(|newest| newest.id >= order.id) {
                return Ok(false);
            }
            let next = count(&current)?;
            let put = Put::new(row.clone()).add(ORDERS, column(next), encode(next, order)).add(
                ORDERS,
                COUNT,
                (next + 1).to_be_bytes(),
            );
            if self.table.check_and_mutate(condition(&row, next, put.into()))? {
                return Ok(true);
            }
        }
        let reason = format!("user {user_id}: {MAX_ATTEMPTS} attempts met other orders; try again");
        Err(Error::new(ErrorKind::Busy, reason))
    }

    /// Returns a user with their last orders: one get of one row.
    ///
    /// # Errors
    /// As [`BlockingTable::get`].
    pub fn page(&self, user_id: &str) -> Result<User> {
        let row = self.table.get(Get::new(key(user_id)?))?;
        let name = String::from_utf8_lossy(row.value(INFO, "n").unwrap_or_default());
        Ok(User { name: name.into_owned(), order_count: count(&row)?, last_orders: orders(&row)? })
    }
}

/// Applies a write if a user still has this number of orders.
fn condition(row: &Bytes, orders: u64, then: RowOp) -> CheckAndMutate {
    if orders == 0 {
        return CheckAndMutate::if_not_exists(row.clone(), ORDERS, COUNT, then);
    }
    CheckAndMutate::if_equals(row.clone(), ORDERS, COUNT, orders.to_be_bytes().to_vec(), then)
}

fn key(user_id: &str) -> Result<Bytes> {
    Ok(UserKey { user_id }.encode()?.into())
}

#[cfg(test)]
mod tests {
    use halite::rowkey::language::{Statement, statements};

    use super::*;

    #[test]
    fn derived_key_is_that_of_the_table() {
        let parsed = statements(TABLES).unwrap();
        let [Statement::CreateTable(table)] = &parsed[..] else { panic!("{parsed:?}") };
        assert_eq!(
            (table.descriptor.name().to_string(), table.key.to_string()),
            (UserKey::TABLE.to_owned(), UserKey::SCHEMA.to_owned())
        );
    }

    #[test]
    fn m16_row_has_name_and_last_ten_orders() {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let users = Users::open(&store, "wide_user").unwrap();
        let order = |id| Order { id, at_ms: 5, cents: 995 };
        assert_eq!(users.page("ada").unwrap(), User::default());
        users.rename("ada", "Ada").unwrap();
        for id in 1..=12 {
            assert!(users.add_order("ada", &order(id)).unwrap());
            assert!(!users.add_order("ada", &order(id)).unwrap(), "it is there already");
        }
        let user = users.page("ada").unwrap();
        assert_eq!((user.name.as_str(), user.order_count), ("Ada", 12));
        assert_eq!(user.last_orders, (3..=12).rev().map(order).collect::<Vec<_>>());
    }
}
