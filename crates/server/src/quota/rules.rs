//! Whose limits there are, as `hbase:quota` says, and which of them hold for a call.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use halite_types::TableName;
use halite_wire::proto as pb;

use super::limiter::Limiter;

type Limiters<K> = HashMap<K, Arc<Limiter>>;

/// One quota as it is stored: its row and qualifier, and what it says.
pub(crate) struct Stored {
    pub(crate) row: String,
    pub(crate) qualifier: String,
    pub(crate) quotas: pb::Quotas,
}

/// All limits of requests.
#[derive(Debug, Default)]
pub(super) struct Rules {
    users: HashMap<String, OfUser>,
    tables: Limiters<TableName>,
    namespaces: Limiters<String>,
    /// All region servers together, which is this one.
    server: Option<Arc<Limiter>>,
    /// Whether a call that the server itself has room for may exceed the limits of others.
    may_exceed: bool,
}

#[derive(Debug, Default)]
struct OfUser {
    own: Option<Arc<Limiter>>,
    tables: Limiters<TableName>,
    namespaces: Limiters<String>,
    /// Only the user's own limits hold.
    bypasses_globals: bool,
}

/// The limits that hold for a call.
#[derive(Default)]
pub(super) struct Applying {
    /// In the order in which they are asked: of the user, the table, the namespace, and the server.
    pub(super) limiters: Vec<Arc<Limiter>>,
    /// The server's, if the others may be exceeded while it has room.
    pub(super) instead: Option<Arc<Limiter>>,
}

impl Rules {
    /// What is stored. Limits that were there before keep what was used of them.
    pub(super) fn new(stored: &[Stored], may_exceed: bool, before: &Self) -> Self {
        let mut rules = Self { may_exceed, ..Self::default() };
        for Stored { row, qualifier, quotas } in stored {
            rules.add(row, qualifier, quotas);
        }
        rules.keep(before);
        rules
    }

    fn add(&mut self, row: &str, qualifier: &str, quotas: &pb::Quotas) {
        let limiter = quotas.throttle.as_ref().and_then(Limiter::new).map(Arc::new);
        let (Some((kind, name)), subject) = (row.split_once('.'), qualifier.split_once('.').map(|(_, subject)| subject)) else { return };
        match (kind, subject) {
            ("t", None) => put(&mut self.tables, name.parse().ok(), limiter),
            ("n", None) => put(&mut self.namespaces, Some(name.to_owned()), limiter),
            ("r", None) if name == "all" => self.server = limiter,
            ("u", subject) => {
                let user = self.users.entry(name.to_owned()).or_default();
                match subject.map(|subject| (subject, subject.strip_suffix(':'))) {
                    None => (user.own, user.bypasses_globals) = (limiter, quotas.bypass_globals()),
                    Some((_, Some(namespace))) => put(&mut user.namespaces, Some(namespace.to_owned()), limiter),
                    Some((table, None)) => put(&mut user.tables, table.parse().ok(), limiter),
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, before: &Self) {
        keep(&mut self.tables, &before.tables);
        keep(&mut self.namespaces, &before.namespaces);
        keep_one(&mut self.server, before.server.as_ref());
        for (name, user) in &mut self.users {
            let Some(before) = before.users.get(name) else { continue };
            keep_one(&mut user.own, before.own.as_ref());
            keep(&mut user.tables, &before.tables);
            keep(&mut user.namespaces, &before.namespaces);
        }
    }

    /// Whether nothing is limited.
    pub(super) fn is_empty(&self) -> bool {
        let of_users = self.users.values().all(|user| user.own.is_none() && user.tables.is_empty() && user.namespaces.is_empty());
        of_users && self.tables.is_empty() && self.namespaces.is_empty() && self.server.is_none()
    }

    /// What holds for a user's call to a table (HBase: `RegionServerRpcQuotaManager.getQuota`).
    pub(super) fn applying(&self, user: &str, table: &TableName) -> Applying {
        let user = self.users.get(short_name(user));
        let of_user = user.and_then(|user| user.tables.get(table).or_else(|| user.namespaces.get(table.namespace())).or(user.own.as_ref()));
        if user.is_some_and(|user| user.bypasses_globals) {
            return Applying { limiters: of_user.cloned().into_iter().collect(), instead: None };
        }
        let others = [of_user, self.tables.get(table), self.namespaces.get(table.namespace())];
        let mut limiters: Vec<_> = others.into_iter().flatten().cloned().collect();
        match &self.server {
            Some(server) if self.may_exceed => Applying { limiters, instead: Some(Arc::clone(server)) },
            server => {
                limiters.extend(server.clone());
                Applying { limiters, instead: None }
            }
        }
    }
}

/// The name of a Kerberos principal without host and realm, as HBase shortens it.
fn short_name(user: &str) -> &str {
    user.split(['/', '@']).next().unwrap_or(user)
}

fn put<K: Hash + Eq>(limiters: &mut Limiters<K>, key: Option<K>, limiter: Option<Arc<Limiter>>) {
    if let (Some(key), Some(limiter)) = (key, limiter) {
        limiters.insert(key, limiter);
    }
}

fn keep<K: Hash + Eq>(limiters: &mut Limiters<K>, before: &Limiters<K>) {
    for (key, limiter) in limiters {
        if let Some(before) = before.get(key) {
            before.change(limiter);
            *limiter = Arc::clone(before);
        }
    }
}

fn keep_one(limiter: &mut Option<Arc<Limiter>>, before: Option<&Arc<Limiter>>) {
    if let (Some(limiter), Some(before)) = (limiter, before) {
        before.change(limiter);
        *limiter = Arc::clone(before);
    }
}

#[cfg(test)]
mod tests {
    use pb::TimeUnit;

    use super::*;
    use crate::quota::limiter::Use;

    fn stored(row: &str, qualifier: &str, limit: u64) -> Stored {
        let writes = pb::TimedQuota { time_unit: TimeUnit::Hours.into(), soft_limit: Some(limit), ..Default::default() };
        let throttle = Some(pb::Throttle { write_num: Some(writes), ..Default::default() });
        Stored { row: row.to_owned(), qualifier: qualifier.to_owned(), quotas: pb::Quotas { throttle, ..Default::default() } }
    }

    /// How many writes the first limit leaves.
    fn writes(rules: &Rules, user: &str, table: &str) -> Vec<usize> {
        let put = Use { writes: 1, write_size: 1, ..Use::default() };
        let count = |limiter: &Arc<Limiter>| (0..100).take_while(|_| limiter.check(&put, 0).map(|()| limiter.take(&put)).is_ok()).count();
        rules.applying(user, &table.parse().unwrap()).limiters.iter().map(count).collect()
    }

    #[test]
    fn the_nearest_limit_of_a_user_holds_and_those_of_table_namespace_and_server_beside() {
        let all = || {
            vec![
                stored("u.bob", "s", 1),
                stored("u.bob", "s.ns:t", 2),
                stored("u.bob", "s.ns:", 3),
                stored("t.ns:t", "s", 4),
                stored("n.ns", "s", 5),
                stored("r.all", "s", 6),
                stored("r.other", "s", 7),
            ]
        };
        let of = |user: &str, table: &str| writes(&Rules::new(&all(), false, &Rules::default()), user, table);
        assert_eq!(of("bob", "ns:t"), [2, 4, 5, 6]);
        assert_eq!(of("bob@REALM", "ns:u"), [3, 5, 6]);
        assert_eq!(of("bob/host@REALM", "u"), [1, 6]);
        assert_eq!(of("ann", "u"), [6]);
        let mut own = all();
        own[0].quotas.bypass_globals = Some(true);
        assert_eq!(writes(&Rules::new(&own, false, &Rules::default()), "bob", "ns:t"), [2]);
        let exceeding = Rules::new(&all(), true, &Rules::default()).applying("ann", &"u".parse().unwrap());
        assert!(exceeding.limiters.is_empty() && exceeding.instead.is_some());
    }

    #[test]
    fn what_was_used_stays_used_when_other_limits_change() {
        let before = Rules::new(&[stored("t.t", "s", 4)], false, &Rules::default());
        assert_eq!(writes(&before, "ann", "t"), [4]);
        let after = Rules::new(&[stored("t.t", "s", 6), stored("t.u", "s", 1)], false, &before);
        assert_eq!((writes(&after, "ann", "t"), writes(&after, "ann", "u")), (vec![2], vec![1]));
        assert!(!after.is_empty() && Rules::new(&[], true, &after).is_empty());
    }
}
