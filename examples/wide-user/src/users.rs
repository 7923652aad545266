//! Writes and reads of users.

use halite::RowKey;
use halite::{
    BlockingCluster, BlockingTable, Bytes, Error, Get, Put, Result, Ring, RingValue, Row, block_on,
    declare_tables,
};

/// Orders of a user that are retained.
pub const RING_ORDERS: u32 = 10;
/// Family of the description of a user.
const INFO: &str = "i";
/// Family of the ring of orders, and the beginning of its columns.
const ORDERS: &str = "o";
const RING: &str = "r";

/// The table. Both families are read together; orders are written often and the description seldom,
/// and a family is flushed and compacted on its own.
pub const TABLES: &[&str] = &[UserKey::CREATE_TABLE];

/// Key of `users`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "users",
    salt(16, by = "user_id"),
    columns = "name STRING FAMILY i QUALIFIER n, last_orders MAP(BYTES, BYTES) FAMILY o PREFIX 'r'",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (page: user_id = ?)
      SPLIT BY SALT"
)]
pub struct UserKey<'a> {
    pub user_id: &'a str,
}

/// Order of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Id, greater than those of all earlier orders of the user.
    pub id: u64,
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    pub cents: u64,
}

/// User as a page shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name; empty if it was never set.
    pub name: String,
    pub order_count: u64,
    /// Last orders, at most [`RING_ORDERS`], the newest first.
    pub last_orders: Vec<Order>,
}

/// Users on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Users {
    table: BlockingTable,
    ring: Ring,
}

impl Users {
    /// Opens the table of a namespace, and creates it if it does not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let table = cluster.table(&format!("{namespace}:{}", UserKey::TABLE))?;
        Ok(Self { table, ring: Ring::new(ORDERS, RING, RING_ORDERS)? })
    }

    /// Sets the name of a user.
    pub fn rename(&self, user_id: &str, name: &str) -> Result<()> {
        self.table.put(Put::new(key(user_id)?).add(INFO, "n", name))
    }

    /// Adds an order to a user. Returns `false` if the newest order has this id or a greater one:
    /// ids of one user ascend, so the order was added before, as after a lost reply. An order that
    /// comes after a later one is refused too, and is in the ring only if it was added before.
    pub fn add_order(&self, user_id: &str, order: &Order) -> Result<bool> {
        let value = [order.at_ms.to_be_bytes(), order.cents.to_be_bytes()].concat();
        let table = &**self.table.inner();
        block_on(self.ring.push(table, key(user_id)?, order.id, &value))
    }

    /// Returns a user with their last orders: one get of one row.
    pub fn page(&self, user_id: &str) -> Result<User> {
        let row: Row = self.table.get(Get::new(key(user_id)?))?;
        let name = String::from_utf8_lossy(row.value(INFO, "n").unwrap_or_default()).into_owned();
        let values = self.ring.values(&row)?;
        // The newest order knows how many were before it.
        let order_count = values.first().map_or(0, |newest| newest.sequence + 1);
        let last_orders =
            values.iter().map(|value| order(user_id, value)).collect::<Result<_>>()?;
        Ok(User { name, order_count, last_orders })
    }
}

fn order(user_id: &str, value: &RingValue) -> Result<Order> {
    let bytes: &[u8] = &value.value;
    let words = bytes.split_first_chunk::<8>().zip(bytes.last_chunk::<8>());
    match words.filter(|_| bytes.len() == 16) {
        Some(((at_ms, _), cents)) => Ok(Order {
            id: value.id,
            at_ms: i64::from_be_bytes(*at_ms),
            cents: u64::from_be_bytes(*cents),
        }),
        None => Err(Error::corrupt(format!(
            "user {user_id}: order {} has {} bytes, not 16; delete the user's family {ORDERS} and \
             add the orders again",
            value.id,
            bytes.len()
        ))),
    }
}

fn key(user_id: &str) -> Result<Bytes> {
    Ok(UserKey { user_id }.encode()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

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

        let table = &**users.table.inner();
        block_on(users.ring.push(table, key("ada").unwrap(), 13, b"short")).unwrap();
        let error = users.page("ada").unwrap_err().to_string();
        assert!(error.contains("user ada: order 13 has 5 bytes, not 16; delete"), "{error}");
    }
}
