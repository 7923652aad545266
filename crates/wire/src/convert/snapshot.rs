//! `SnapshotDescription`: name and type of a snapshot.

use halite_types::{Error, Result, SnapshotDescriptor, SnapshotType};

use crate::proto as pb;
use pb::snapshot_description::Type;

/// Layout version of snapshots in HBase since 0.99, which clients see as the version of each.
const LAYOUT_VERSION: i32 = 2;

/// Returns the message of a snapshot.
pub fn to_proto(snapshot: &SnapshotDescriptor) -> pb::SnapshotDescription {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    pb::SnapshotDescription {
        name: snapshot.name.clone(),
        table: Some(snapshot.table.to_string()),
        creation_time: Some(snapshot.created_ms),
        r#type: Some(type_to_proto(snapshot.kind).into()),
        version: Some(LAYOUT_VERSION),
        owner: Some(snapshot.owner.clone()).filter(|owner| !owner.is_empty()),
        ttl: Some(signed(snapshot.ttl_seconds)),
        max_file_size: Some(signed(snapshot.max_file_bytes)).filter(|bytes| *bytes > 0),
        ..pb::SnapshotDescription::default()
    }
}

/// Returns the snapshot of a message that names a table. Messages that only identify the snapshot,
/// for deletion or queries, do not.
///
/// A time to live or size below 0 means none, as in HBase. [`SnapshotDescriptor::check`] checks the
/// name.
///
/// # Errors
/// `InvalidRequest` for an invalid table name or type.
pub fn from_proto(proto: &pb::SnapshotDescription) -> Result<SnapshotDescriptor> {
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let table = proto
        .table()
        .parse()
        .map_err(|error: Error| error.at(format!("snapshot {:?}", proto.name)))?;
    Ok(SnapshotDescriptor {
        created_ms: proto.creation_time(),
        kind: type_from_proto(proto)?,
        ttl_seconds: positive(proto.ttl()),
        max_file_bytes: positive(proto.max_file_size()),
        owner: proto.owner().to_string(),
        ..SnapshotDescriptor::new(proto.name.clone(), table)
    })
}

fn type_to_proto(kind: SnapshotType) -> Type {
    match kind {
        SnapshotType::Flush => Type::Flush,
        SnapshotType::SkipFlush => Type::Skipflush,
        SnapshotType::Disabled => Type::Disabled,
    }
}

fn type_from_proto(proto: &pb::SnapshotDescription) -> Result<SnapshotType> {
    let number = proto.r#type.unwrap_or(Type::Flush.into());
    Ok(match Type::try_from(number) {
        Ok(Type::Flush) => SnapshotType::Flush,
        Ok(Type::Skipflush) => SnapshotType::SkipFlush,
        Ok(Type::Disabled) => SnapshotType::Disabled,
        Err(_) => {
            let text = format!(
                "snapshot {:?}: unknown type {number}: expected 0 (DISABLED), 1 (FLUSH) or 2 \
                 (SKIPFLUSH)",
                proto.name
            );
            return Err(Error::invalid(text));
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn snapshot_request_uses_defaults_for_absent_fields() {
        let request = pb::SnapshotDescription {
            name: "s".into(),
            table: Some("ns:t".into()),
            ttl: Some(-1),
            ..pb::SnapshotDescription::default()
        };
        assert_eq!(
            from_proto(&request).unwrap(),
            SnapshotDescriptor::new("s", "ns:t".parse().unwrap())
        );
    }

    #[test]
    fn snapshot_without_table_or_type_is_rejected_by_name() {
        let request = pb::SnapshotDescription {
            name: "s".into(),
            table: Some("t".into()),
            ..pb::SnapshotDescription::default()
        };
        for wrong in [
            pb::SnapshotDescription { table: None, ..request.clone() },
            pb::SnapshotDescription { r#type: Some(3), ..request },
        ] {
            assert!(
                from_proto(&wrong).unwrap_err().message().starts_with("snapshot \"s\": "),
                "{wrong:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_snapshot_round_trips_through_message(
            name in "[a-z]{1,8}", created_ms in any::<i64>(), numbers in any::<[u32; 2]>(), owner in "[a-z]{0,5}", kind in 0..3usize
        ) {
            let kind = [SnapshotType::Flush, SnapshotType::SkipFlush, SnapshotType::Disabled][kind];
            let [ttl, size] = numbers.map(u64::from);
            let snapshot = SnapshotDescriptor { created_ms, ..SnapshotDescriptor::new(name, "ns:t".parse().unwrap()) };
            let snapshot = snapshot.kind(kind).ttl_seconds(ttl).max_file_bytes(size).owner(owner);
            prop_assert_eq!(from_proto(&to_proto(&snapshot)).unwrap(), snapshot);
        }
    }
}
