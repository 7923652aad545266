//! Clients of frequent rows or prefixes, from the log of sampled operations.

use std::collections::BTreeMap;
use std::ops::Bound;

use halite_heat::HotRow;
use halite_heat::operations::{Call as Logged, Causes};
use halite_types::TableName;

use crate::call::Call;

/// Operations that are examined, at most.
const MAX_OPERATIONS: usize = 100_000;
/// Clients of a row.
const MAX_CLIENTS: usize = 3;

/// Addresses of the clients of each row; `None` if no operations are logged here.
pub(super) struct KeyClients(Option<BTreeMap<Vec<u8>, Vec<String>>>);

impl KeyClients {
    /// Finds the clients of rows, or of prefixes, in a span of time. A scan is an operation on its
    /// first row.
    pub(super) fn of(
        call: &Call,
        table: &TableName,
        span: (i64, i64),
        keys: &[HotRow],
        are_prefixes: bool,
    ) -> Self {
        let logged = call.site.extension().logged_calls(table, span, MAX_OPERATIONS);
        Self(logged.ok().map(|logged| of_calls(&logged.calls, keys, are_prefixes)))
    }

    pub(super) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the addresses, the most frequent first.
    pub(super) fn get(&self, key: &[u8]) -> Vec<String> {
        self.0.as_ref().and_then(|known| known.get(key)).cloned().unwrap_or_default()
    }
}

fn of_calls(
    calls: &[Logged],
    keys: &[HotRow],
    are_prefixes: bool,
) -> BTreeMap<Vec<u8>, Vec<String>> {
    let mut found: BTreeMap<&[u8], Vec<&Logged>> =
        keys.iter().map(|key| (key.row.as_slice(), Vec::new())).collect();
    for call in calls {
        // Prefixes are those of one length or of as many fields: none begins with another.
        let up_to = (Bound::Unbounded, Bound::Included(&*call.row));
        let before = found.range_mut::<[u8], _>(up_to).next_back();
        if let Some((key, calls)) = before
            && (**key == *call.row || are_prefixes && call.row.starts_with(key))
        {
            calls.push(call);
        }
    }
    let addresses = |calls: Vec<&Logged>| {
        let mut addresses: Vec<String> = Vec::new();
        for client in Causes::of(calls.into_iter(), MAX_CLIENTS).clients {
            let address = client.what.address.to_string();
            // Several users may have one.
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    };
    found.into_iter().map(|(key, calls)| (key.to_vec(), addresses(calls))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_heat::operations::{CallKind, Client};

    use super::*;

    fn call(row: &str, address: &str) -> Logged {
        Logged {
            time_ms: 0,
            kind: CallKind::Put,
            weight: 1,
            table: "t".into(),
            row: row.as_bytes().into(),
            stop: None,
            cells: 1,
            rows: 1,
            bytes: 1,
            client: Client { address: address.into(), ..Client::default() },
            statement: Arc::default(),
        }
    }

    #[test]
    fn clients_of_rows_and_prefixes_are_ordered_by_their_operations() {
        let calls = [call("ab1", "x"), call("ab2", "y"), call("ab2", "x"), call("b", "z")];
        let key = |row: &str| HotRow { row: row.as_bytes().into(), ..HotRow::default() };
        let keys = [key("ab1"), key("ab"), key("c")];
        let of = |are_prefixes| of_calls(&calls, &keys, are_prefixes);
        assert_eq!(of(false)[&b"ab1"[..]], ["x"]);
        assert!(of(false)[&b"ab"[..]].is_empty() && of(false)[&b"c"[..]].is_empty());
        let prefixes = of_calls(&calls, &[key("ab"), key("c")], true);
        assert_eq!(prefixes[&b"ab"[..]], ["x", "y"]);
        assert!(prefixes[&b"c"[..]].is_empty());
    }
}
