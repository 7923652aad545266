//! Clients and statements of sampled operations, by their shares.

use std::collections::HashMap;
use std::hash::Hash;

use super::record::{Call, Client};

/// Client or statement, with its part of the operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause<T> {
    /// Client or statement.
    pub what: T,
    /// Operations, as far as the sample tells.
    pub operations: u64,
    /// Part of all operations, 0 to 1.
    pub share: f64,
}

/// Who caused a load, and by which calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Causes {
    /// Clients, in falling order.
    pub clients: Vec<Cause<Client>>,
    /// Statements, in falling order.
    pub statements: Vec<Cause<String>>,
    /// Sampled operations.
    pub sampled: usize,
}

impl Causes {
    /// Returns the most frequent clients and statements of some operations, at most `limit` of
    /// each. A row that a scan returned counts as one operation, as in the heat map.
    #[must_use]
    pub fn of<'c>(calls: impl Iterator<Item = &'c Call>, limit: usize) -> Self {
        let (mut clients, mut statements) = (HashMap::new(), HashMap::new());
        let mut sampled = 0;
        for call in calls {
            let amount = call.weight.saturating_mul(call.rows.max(1));
            *clients.entry(&call.client).or_insert(0_u64) += amount;
            *statements.entry(&*call.statement).or_insert(0_u64) += amount;
            sampled += 1;
        }
        let client = |client: &Client| (client.address.clone(), client.user.clone());
        Self {
            clients: ranked(clients, limit, client, Client::clone),
            statements: ranked(
                statements,
                limit,
                |text| (*text).to_owned(),
                |text| (*text).to_owned(),
            ),
            sampled,
        }
    }
}

/// Returns the largest amounts in falling order, those of equal amounts in the order of `by`.
#[expect(clippy::cast_precision_loss, reason = "a share of counts far below 2^52")]
fn ranked<K: Eq + Hash + Copy, O: Ord, T>(
    amounts: HashMap<K, u64>,
    limit: usize,
    by: impl Fn(K) -> O,
    what: impl Fn(K) -> T,
) -> Vec<Cause<T>> {
    let total = amounts.values().sum::<u64>().max(1) as f64;
    let mut all: Vec<(K, u64)> = amounts.into_iter().collect();
    all.sort_by_cached_key(|(key, amount)| (std::cmp::Reverse(*amount), by(*key)));
    let cause = |(key, operations): (K, u64)| Cause {
        what: what(key),
        operations,
        share: operations as f64 / total,
    };
    all.into_iter().take(limit).map(cause).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::CallKind;
    use super::*;

    fn call(address: &str, statement: &str, weight: u64, rows: u64) -> Call {
        Call {
            time_ms: 0,
            kind: CallKind::Put,
            weight,
            table: "t".into(),
            row: Box::default(),
            stop: None,
            cells: 1,
            rows,
            bytes: 10,
            client: Client { address: address.into(), ..Client::default() },
            statement: statement.into(),
        }
    }

    #[test]
    fn shares_are_those_of_operations() {
        let calls =
            [call("a", "put f", 10, 1), call("b", "put f", 20, 1), call("b", "scan", 1, 10)];
        let causes = Causes::of(calls.iter(), 1);
        assert_eq!((causes.sampled, causes.clients.len()), (3, 1));
        assert_eq!((&*causes.clients[0].what.address, causes.clients[0].share), ("b", 0.75));
        assert_eq!((&*causes.statements[0].what, causes.statements[0].operations), ("put f", 30));
        assert_eq!(Causes::of([].iter(), 5), Causes::default());
    }
}
