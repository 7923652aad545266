//! Space limits exceeded by tables, and the operations disallowed in them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use halite_types::{RowOp, TableName};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use pb::SpaceViolationPolicy;

use super::rpc_quotas::StoredQuota;
use crate::base::call::CallError;

/// Usage of a table relative to the limit that applies to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpaceUsage {
    used: u64,
    limit: u64,
    policy: SpaceViolationPolicy,
}

impl SpaceUsage {
    fn is_violated(&self) -> bool {
        self.used > self.limit
    }
}

/// Tables with a space limit, and their usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpaceQuotas(HashMap<TableName, SpaceUsage>);

/// Returns `true` if a stored quota is a space limit.
pub(super) fn has_limits(stored: &[StoredQuota]) -> bool {
    stored.iter().any(|stored| stored.quotas.space.is_some())
}

impl SpaceQuotas {
    /// Returns the usage of tables with these sizes. A limit of the table takes precedence over
    /// that of its namespace (HBase: `QuotaObserverChore`).
    pub(super) fn new(stored: &[StoredQuota], sizes: &BTreeMap<TableName, u64>) -> Self {
        let limit_of = |row: String| {
            stored.iter().find(|stored| stored.row == row).and_then(|stored| stored.quotas.space)
        };
        let mut tables = HashMap::new();
        for (name, size) in sizes {
            let (limit, used) = match (
                limit_of(format!("t.{name}")),
                limit_of(format!("n.{}", name.namespace())),
            ) {
                (Some(limit), _) => (limit, *size),
                (None, Some(limit)) => (
                    limit,
                    sizes
                        .iter()
                        .filter(|(other, _)| other.namespace() == name.namespace())
                        .map(|(_, size)| size)
                        .sum(),
                ),
                (None, None) => continue,
            };
            tables.insert(
                name.clone(),
                SpaceUsage { used, limit: limit.soft_limit(), policy: limit.violation_policy() },
            );
        }
        Self(tables)
    }

    /// Returns the tables to disable.
    pub(super) fn to_disable(&self) -> BTreeSet<TableName> {
        let is_to = |standing: &SpaceUsage| {
            standing.is_violated() && standing.policy == SpaceViolationPolicy::Disable
        };
        self.0
            .iter()
            .filter(|(_, standing)| is_to(standing))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Checks that an operation is allowed in a table (HBase: the classes of `quotas.policies`).
    ///
    /// # Errors
    /// `SpaceLimitingException` with the name of the policy.
    pub(super) fn check(&self, table: &TableName, op: &RowOp) -> Result<(), CallError> {
        let Some(standing) = self.0.get(table).filter(|standing| standing.is_violated()) else {
            return Ok(());
        };
        let policy = standing.policy;
        let text = match policy {
            SpaceViolationPolicy::Disable => {
                "This table is disabled due to violating a space quota.".to_owned()
            }
            _ => match refused(op, policy == SpaceViolationPolicy::NoInserts) {
                Some(what) => format!("{what}s are disallowed due to a space quota."),
                None => return Ok(()),
            },
        };
        Err(CallError::new(
            ExceptionKind::SpaceLimiting,
            format!("{} {text}", policy.as_str_name()),
        ))
    }

    /// Checks that a bulk load of `bytes` of store files is allowed.
    ///
    /// # Errors
    /// `SpaceLimitingException` if the limit would be exceeded.
    pub(super) fn check_load(
        &self,
        table: &TableName,
        bytes: u64,
        paths: &[String],
    ) -> Result<(), CallError> {
        match self.0.get(table) {
            Some(standing) if standing.used.saturating_add(bytes) > standing.limit => {
                let paths = paths.join(", ");
                let text = format!(
                    "BulkLoadVerifying Bulk load of [{paths}] is disallowed because the file(s) \
                     exceed the limits of a space quota."
                );
                Err(CallError::new(ExceptionKind::SpaceLimiting, text))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the disallowed part of an operation, by the name of Java's class.
fn refused(op: &RowOp, deletes_may: bool) -> Option<&'static str> {
    match op {
        RowOp::Put(_) => Some("Put"),
        RowOp::Delete(_) => (!deletes_may).then_some("Delete"),
        RowOp::Increment(_) => Some("Increment"),
        RowOp::Append(_) => Some("Append"),
        RowOp::Mutate(ops) => ops.ops.iter().find_map(|op| refused(op, deletes_may)),
        RowOp::CheckAndMutate(check) => refused(&check.then, deletes_may),
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{CheckAndMutate, Delete, Increment, Put};

    use super::*;

    fn limit(row: &str, bytes: u64, policy: SpaceViolationPolicy) -> StoredQuota {
        let space = Some(pb::SpaceQuota {
            soft_limit: Some(bytes),
            violation_policy: Some(policy.into()),
            remove: None,
        });
        StoredQuota {
            row: row.to_owned(),
            qualifier: "s".to_owned(),
            quotas: pb::Quotas { space, ..Default::default() },
        }
    }

    fn table(name: &str) -> TableName {
        name.parse().unwrap()
    }

    fn result_text(result: Result<(), CallError>) -> String {
        result.map_or_else(
            |fault| format!("{}: {}", fault.exception().class(), fault.exception().message()),
            |()| "ok".to_owned(),
        )
    }

    #[test]
    fn space_violation_policy_determines_rejected_operations() {
        let put: RowOp = Put::new("r").add("f", "q", "v").into();
        let delete: RowOp = Delete::new("r").into();
        let count: RowOp = Increment::new("r").add("f", "q", 1).into();
        let swap: RowOp =
            CheckAndMutate::if_not_exists("r", "f", "q", Put::new("r").add("f", "q", "v")).into();
        let sizes = BTreeMap::from([(table("t"), 11)]);
        let of = |policy| SpaceQuotas::new(&[limit("t.t", 10, policy)], &sizes);
        let prefix = "org.apache.hadoop.hbase.quotas.SpaceLimitingException";
        let inserts = of(SpaceViolationPolicy::NoInserts);
        assert_eq!(
            result_text(inserts.check(&table("t"), &put)),
            format!("{prefix}: NO_INSERTS Puts are disallowed due to a space quota.")
        );
        assert_eq!(
            result_text(inserts.check(&table("t"), &count)),
            format!("{prefix}: NO_INSERTS Increments are disallowed due to a space quota.")
        );
        assert_eq!(
            result_text(inserts.check(&table("t"), &swap)),
            format!("{prefix}: NO_INSERTS Puts are disallowed due to a space quota.")
        );
        assert_eq!(
            (
                result_text(inserts.check(&table("t"), &delete)),
                result_text(inserts.check(&table("u"), &put))
            ),
            ("ok".into(), "ok".into())
        );
        let writes = of(SpaceViolationPolicy::NoWritesCompactions);
        assert_eq!(
            result_text(writes.check(&table("t"), &delete)),
            format!("{prefix}: NO_WRITES_COMPACTIONS Deletes are disallowed due to a space quota.")
        );
        assert!(writes.to_disable().is_empty());
        let off = of(SpaceViolationPolicy::Disable);
        assert!(
            result_text(off.check(&table("t"), &delete))
                .ends_with("DISABLE This table is disabled due to violating a space quota.")
        );
        assert_eq!(off.to_disable(), BTreeSet::from([table("t")]));
    }

    #[test]
    fn table_space_quota_overrides_namespace_quota() {
        let sizes = BTreeMap::from([(table("ns:a"), 6), (table("ns:b"), 6), (table("c"), 100)]);
        let stored = [
            limit("n.ns", 10, SpaceViolationPolicy::NoWrites),
            limit("t.ns:b", 7, SpaceViolationPolicy::NoWrites),
        ];
        let space = SpaceQuotas::new(&stored, &sizes);
        let put: RowOp = Put::new("r").add("f", "q", "v").into();
        assert!(space.check(&table("ns:a"), &put).is_err(), "both together are too much");
        assert!(
            space.check(&table("ns:b"), &put).is_ok() && space.check(&table("c"), &put).is_ok()
        );
        assert!(space.check_load(&table("ns:b"), 1, &[]).is_ok());
        let text = result_text(space.check_load(&table("ns:b"), 2, &["/x".to_owned()]));
        assert!(
            text.ends_with(
                "Bulk load of [/x] is disallowed because the file(s) exceed the limits of a space \
                 quota."
            ),
            "{text}"
        );
    }
}
