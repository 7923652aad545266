//! Families added, changed and deleted one at a time.

use halite_wire::proto as pb;
use halite_wire::service::{
    MasterAddColumn, MasterDeleteColumn, MasterModifyColumn, MasterModifyColumnStoreFileTracker,
    MasterModifyTableStoreFileTracker,
};

use crate::testing::test_server::{TestServer, class, name, name_message};

fn family(name: &str, attributes: &[(&str, &str)]) -> pb::ColumnFamilySchema {
    let pair = |(name, value): &(&str, &str)| pb::BytesBytesPair {
        first: (*name).to_owned().into(),
        second: (*value).to_owned().into(),
    };
    pb::ColumnFamilySchema {
        name: name.to_owned().into(),
        attributes: attributes.iter().map(pair).collect(),
        ..Default::default()
    }
}

fn add(table: &str, column_families: pb::ColumnFamilySchema) -> pb::AddColumnRequest {
    pb::AddColumnRequest { table_name: name_message(table), column_families, ..Default::default() }
}

fn modify(table: &str, column_families: pb::ColumnFamilySchema) -> pb::ModifyColumnRequest {
    pb::ModifyColumnRequest {
        table_name: name_message(table),
        column_families,
        ..Default::default()
    }
}

fn delete(table: &str, family: &str) -> pb::DeleteColumnRequest {
    pb::DeleteColumnRequest {
        table_name: name_message(table),
        column_name: family.to_owned().into(),
        ..Default::default()
    }
}

#[test]
fn families_are_added_modified_and_deleted() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    rig.finish(rig.call::<MasterAddColumn>(&add("t", family("g", &[]))).unwrap().proc_id).unwrap();
    rig.finish(
        rig.call::<MasterModifyColumn>(&modify("t", family("g", &[("VERSIONS", "5")])))
            .unwrap()
            .proc_id,
    )
    .unwrap();
    let table = rig.context.engine.descriptor(&name("t")).unwrap();
    assert_eq!((table.family_count(), table.find_family(b"g").unwrap().max_versions()), (2, 5));
    rig.finish(rig.call::<MasterDeleteColumn>(&delete("t", "g")).unwrap().proc_id).unwrap();
    assert_eq!(rig.context.engine.descriptor(&name("t")).unwrap().family_count(), 1);
}

#[test]
fn existing_or_missing_family_is_rejected() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    assert_eq!(
        class(rig.call::<MasterAddColumn>(&add("t", family("f", &[])))),
        "InvalidFamilyOperationException"
    );
    assert_eq!(
        class(rig.call::<MasterModifyColumn>(&modify("t", family("x", &[])))),
        "InvalidFamilyOperationException"
    );
    assert_eq!(
        class(rig.call::<MasterDeleteColumn>(&delete("t", "x"))),
        "InvalidFamilyOperationException"
    );
    assert_eq!(
        class(rig.call::<MasterDeleteColumn>(&delete("t", "f"))),
        "InvalidFamilyOperationException"
    );
    assert_eq!(
        class(rig.call::<MasterAddColumn>(&add("gone", family("f", &[])))),
        "TableNotFoundException"
    );
    assert_eq!(
        class(rig.call::<MasterModifyColumn>(&modify("gone", family("f", &[])))),
        "TableNotFoundException"
    );
    assert_eq!(
        class(rig.call::<MasterDeleteColumn>(&delete("gone", "f"))),
        "TableNotFoundException"
    );
    assert_eq!(
        class(rig.call::<MasterModifyColumn>(&modify("t", family("f", &[("TTL", "0")])))),
        "DoNotRetryIOException"
    );
}

#[test]
fn store_file_tracker_migrates_in_one_call() {
    let rig = TestServer::new();
    rig.create("t", &["f"], &[]);
    let table = |table: &str, tracker: &str| {
        let request = pb::ModifyTableStoreFileTrackerRequest {
            table_name: name_message(table),
            dst_sft: tracker.to_owned(),
            ..Default::default()
        };
        rig.call::<MasterModifyTableStoreFileTracker>(&request)
            .and_then(|response| rig.finish(response.proc_id))
    };
    let of_family = |family: &str, tracker: &str| {
        let family = family.to_owned().into();
        let request = pb::ModifyColumnStoreFileTrackerRequest {
            table_name: name_message("t"),
            family,
            dst_sft: tracker.to_owned(),
            ..Default::default()
        };
        rig.call::<MasterModifyColumnStoreFileTracker>(&request)
            .and_then(|response| rig.finish(response.proc_id))
    };
    table("t", "FILE").unwrap();
    of_family("f", "DEFAULT").unwrap();
    let stored = rig.context.engine.descriptor(&name("t")).unwrap();
    assert_eq!(stored.attributes["hbase.store.file-tracker.impl"], "FILE");
    assert_eq!(
        stored.find_family(b"f").unwrap().configuration["hbase.store.file-tracker.impl"],
        "DEFAULT"
    );
    assert_eq!(class(table("t", "MIGRATION")), "DoNotRetryIOException");
    assert_eq!(class(table("gone", "FILE")), "TableNotFoundException");
    assert_eq!(class(of_family("x", "FILE")), "NoSuchColumnFamilyException");
    rig.disable("t");
    assert_eq!(class(table("t", "DEFAULT")), "TableNotEnabledException");
}
