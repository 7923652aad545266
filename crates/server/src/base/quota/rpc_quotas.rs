//! Request limits of all subjects, as stored in `hbase:quota`, and those that apply to a call.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use halite_types::TableName;
use halite_wire::proto as pb;

use super::quota_limiter::QuotaLimiter;

type Limiters<K> = HashMap<K, Arc<QuotaLimiter>>;

/// One stored quota: its row, qualifier and settings.
pub(crate) struct StoredQuota {
    pub(crate) row: String,
    pub(crate) qualifier: String,
    pub(crate) quotas: pb::Quotas,
}

/// All limits of requests.
#[derive(Debug, Default)]
pub(super) struct RpcQuotas {
    users: HashMap<String, UserQuotas>,
    tables: Limiters<TableName>,
    namespaces: Limiters<String>,
    /// Limit of all region servers together, here of this one.
    server: Option<Arc<QuotaLimiter>>,
    /// `true` if a call within the server limit may exceed the other limits.
    may_exceed: bool,
}

#[derive(Debug, Default)]
struct UserQuotas {
    own: Option<Arc<QuotaLimiter>>,
    tables: Limiters<TableName>,
    namespaces: Limiters<String>,
    /// `true` if only the user's own limits apply.
    bypasses_globals: bool,
}

/// Limits that apply to a call.
#[derive(Default)]
pub(super) struct ApplicableQuotas {
    /// In the order in which they are checked: of the user, the table, the namespace, and the
    /// server.
    pub(super) limiters: Vec<Arc<QuotaLimiter>>,
    /// The server limit, if the other limits may be exceeded while it has room.
    pub(super) instead: Option<Arc<QuotaLimiter>>,
}

impl RpcQuotas {
    /// Returns the stored limits. Limits that existed before keep their usage.
    pub(super) fn new(stored: &[StoredQuota], may_exceed: bool, before: &Self) -> Self {
        let mut rules = Self { may_exceed, ..Self::default() };
        for StoredQuota { row, qualifier, quotas } in stored {
            rules.add(row, qualifier, quotas);
        }
        rules.keep(before);
        rules
    }

    fn add(&mut self, row: &str, qualifier: &str, quotas: &pb::Quotas) {
        let limiter = quotas.throttle.as_ref().and_then(QuotaLimiter::new).map(Arc::new);
        let (Some((kind, name)), subject) =
            (row.split_once('.'), qualifier.split_once('.').map(|(_, subject)| subject))
        else {
            return;
        };
        match (kind, subject) {
            ("t", None) => put(&mut self.tables, name.parse().ok(), limiter),
            ("n", None) => put(&mut self.namespaces, Some(name.to_owned()), limiter),
            ("r", None) if name == "all" => self.server = limiter,
            ("u", subject) => {
                let user = self.users.entry(name.to_owned()).or_default();
                match subject.map(|subject| (subject, subject.strip_suffix(':'))) {
                    None => (user.own, user.bypasses_globals) = (limiter, quotas.bypass_globals()),
                    Some((_, Some(namespace))) => {
                        put(&mut user.namespaces, Some(namespace.to_owned()), limiter);
                    }
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

    /// Returns `true` if there are no limits.
    pub(super) fn is_empty(&self) -> bool {
        let of_users = self
            .users
            .values()
            .all(|user| user.own.is_none() && user.tables.is_empty() && user.namespaces.is_empty());
        of_users && self.tables.is_empty() && self.namespaces.is_empty() && self.server.is_none()
    }

    /// Returns the limits for a user's call to a table (HBase:
    /// `RegionServerRpcQuotaManager.getQuota`).
    pub(super) fn applicable(&self, user: &str, table: &TableName) -> ApplicableQuotas {
        let user = self.users.get(short_name(user));
        let of_user = user.and_then(|user| {
            user.tables
                .get(table)
                .or_else(|| user.namespaces.get(table.namespace()))
                .or(user.own.as_ref())
        });
        if user.is_some_and(|user| user.bypasses_globals) {
            return ApplicableQuotas {
                limiters: of_user.cloned().into_iter().collect(),
                instead: None,
            };
        }
        let others = [of_user, self.tables.get(table), self.namespaces.get(table.namespace())];
        let mut limiters: Vec<_> = others.into_iter().flatten().cloned().collect();
        match &self.server {
            Some(server) if self.may_exceed => {
                ApplicableQuotas { limiters, instead: Some(Arc::clone(server)) }
            }
            server => {
                limiters.extend(server.clone());
                ApplicableQuotas { limiters, instead: None }
            }
        }
    }
}

/// Returns the name of a Kerberos principal without host and realm, HBase's short name.
fn short_name(user: &str) -> &str {
    user.split(['/', '@']).next().unwrap_or(user)
}

fn put<K: Hash + Eq>(
    limiters: &mut Limiters<K>,
    key: Option<K>,
    limiter: Option<Arc<QuotaLimiter>>,
) {
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

fn keep_one(limiter: &mut Option<Arc<QuotaLimiter>>, before: Option<&Arc<QuotaLimiter>>) {
    if let (Some(limiter), Some(before)) = (limiter, before) {
        before.change(limiter);
        *limiter = Arc::clone(before);
    }
}

#[cfg(test)]
mod tests {
    use pb::TimeUnit;

    use super::*;
    use crate::base::quota::quota_limiter::ResourceUsage;

    fn stored(row: &str, qualifier: &str, limit: u64) -> StoredQuota {
        let writes = pb::TimedQuota {
            time_unit: TimeUnit::Hours.into(),
            soft_limit: Some(limit),
            ..Default::default()
        };
        let throttle = Some(pb::Throttle { write_num: Some(writes), ..Default::default() });
        StoredQuota {
            row: row.to_owned(),
            qualifier: qualifier.to_owned(),
            quotas: pb::Quotas { throttle, ..Default::default() },
        }
    }

    /// Returns the number of writes that the first limit leaves.
    fn writes(rules: &RpcQuotas, user: &str, table: &str) -> Vec<usize> {
        let put = ResourceUsage { writes: 1, write_size: 1, ..ResourceUsage::default() };
        let count = |limiter: &Arc<QuotaLimiter>| {
            (0..100)
                .take_while(|_| limiter.check(&put, 0).map(|()| limiter.take(&put)).is_ok())
                .count()
        };
        rules.applicable(user, &table.parse().unwrap()).limiters.iter().map(count).collect()
    }

    #[test]
    fn most_specific_user_quota_applies_besides_other_scopes() {
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
        let of = |user: &str, table: &str| {
            writes(&RpcQuotas::new(&all(), false, &RpcQuotas::default()), user, table)
        };
        assert_eq!(of("bob", "ns:t"), [2, 4, 5, 6]);
        assert_eq!(of("bob@REALM", "ns:u"), [3, 5, 6]);
        assert_eq!(of("bob/host@REALM", "u"), [1, 6]);
        assert_eq!(of("ann", "u"), [6]);
        let mut own = all();
        own[0].quotas.bypass_globals = Some(true);
        assert_eq!(writes(&RpcQuotas::new(&own, false, &RpcQuotas::default()), "bob", "ns:t"), [2]);
        let exceeding = RpcQuotas::new(&all(), true, &RpcQuotas::default())
            .applicable("ann", &"u".parse().unwrap());
        assert!(exceeding.limiters.is_empty() && exceeding.instead.is_some());
    }

    #[test]
    fn usage_survives_quota_reload() {
        let before = RpcQuotas::new(&[stored("t.t", "s", 4)], false, &RpcQuotas::default());
        assert_eq!(writes(&before, "ann", "t"), [4]);
        let after = RpcQuotas::new(&[stored("t.t", "s", 6), stored("t.u", "s", 1)], false, &before);
        assert_eq!((writes(&after, "ann", "t"), writes(&after, "ann", "u")), (vec![2], vec![1]));
        assert!(!after.is_empty() && RpcQuotas::new(&[], true, &after).is_empty());
    }
}
