//! Namespaces made, changed, listed and dropped.

use halite_types::{
    Delete, FamilyDescriptor, Put, ReadTier, Row, Scan, TableDescriptor, TableName,
};
use halite_wire::proto as pb;
use halite_wire::service::{
    MasterCreateNamespace, MasterCreateTable, MasterDeleteNamespace, MasterGetNamespaceDescriptor,
    MasterListNamespaceDescriptors, MasterListNamespaces, MasterModifyNamespace, MasterSplitRegion,
};
use prost::Message as _;

use crate::testing::test_server::{TestServer, class, name, schema};

fn descriptor(name: &str, settings: &[(&str, &str)]) -> pb::NamespaceDescriptor {
    let pair = |(name, value): &(&str, &str)| pb::NameStringPair {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    pb::NamespaceDescriptor {
        name: name.to_owned().into(),
        configuration: settings.iter().map(pair).collect(),
    }
}

fn create(name: &str, settings: &[(&str, &str)]) -> pb::CreateNamespaceRequest {
    pb::CreateNamespaceRequest {
        namespace_descriptor: descriptor(name, settings),
        ..Default::default()
    }
}

fn delete(name: &str) -> pb::DeleteNamespaceRequest {
    pb::DeleteNamespaceRequest { namespace_name: name.to_owned(), ..Default::default() }
}

fn stored(rig: &TestServer) -> Vec<Row> {
    let table = rig.context.engine.table(&"hbase:namespace".parse().unwrap()).unwrap();
    table.scan(Scan::all(), ReadTier::Disk).flat_map(|rows| rows.unwrap()).collect()
}

/// Returns the rows of `hbase:namespace`.
fn rows_read(rig: &TestServer) -> Vec<String> {
    stored(rig).iter().map(|row| String::from_utf8(row.key().to_vec()).unwrap()).collect()
}

/// Returns the descriptors in `hbase:namespace`.
fn rows(rig: &TestServer) -> Vec<pb::NamespaceDescriptor> {
    stored(rig)
        .iter()
        .map(|row| pb::NamespaceDescriptor::decode(row.value("info", "d").unwrap()).unwrap())
        .collect()
}

#[test]
fn namespace_is_created_modified_and_deleted() {
    let rig = TestServer::new();
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns", &[("k", "1")])).unwrap().proc_id)
        .unwrap();
    let names =
        rig.call::<MasterListNamespaces>(&pb::ListNamespacesRequest {}).unwrap().namespace_name;
    assert_eq!(names, ["default", "hbase", "ns"]);
    let modify = pb::ModifyNamespaceRequest {
        namespace_descriptor: descriptor("ns", &[("k", "2")]),
        ..Default::default()
    };
    rig.finish(rig.call::<MasterModifyNamespace>(&modify).unwrap().proc_id).unwrap();
    let get = pb::GetNamespaceDescriptorRequest { namespace_name: "ns".to_owned() };
    let stored = rig.call::<MasterGetNamespaceDescriptor>(&get).unwrap().namespace_descriptor;
    assert_eq!(stored, descriptor("ns", &[("k", "2")]));
    assert_eq!(
        rows(&rig),
        [descriptor("default", &[]), descriptor("hbase", &[]), descriptor("ns", &[("k", "2")])]
    );
    rig.finish(rig.call::<MasterDeleteNamespace>(&delete("ns")).unwrap().proc_id).unwrap();
    assert_eq!(class(rig.call::<MasterGetNamespaceDescriptor>(&get)), "NamespaceNotFoundException");
    assert_eq!(rows(&rig).len(), 2);
    assert_eq!(
        rig.call::<MasterListNamespaceDescriptors>(&pb::ListNamespaceDescriptorsRequest {})
            .unwrap()
            .namespace_descriptor
            .len(),
        2
    );
}

#[test]
fn namespace_errors_have_hbase_exception_classes() {
    let rig = TestServer::new();
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns", &[])).unwrap().proc_id).unwrap();
    rig.create("ns:t", &["f"], &[]);
    assert_eq!(
        class(rig.call::<MasterCreateNamespace>(&create("ns", &[]))),
        "NamespaceExistException"
    );
    assert_eq!(
        class(rig.call::<MasterCreateNamespace>(&create("n-s", &[]))),
        "DoNotRetryIOException"
    );
    assert_eq!(
        class(rig.call::<MasterCreateNamespace>(&create(
            "n",
            &[("hbase.namespace.quota.maxtables", "0")]
        ))),
        "ConstraintException"
    );
    assert_eq!(
        class(rig.call::<MasterCreateNamespace>(&create(
            "n",
            &[("hbase.namespace.quota.maxregions", "few")]
        ))),
        "DoNotRetryIOException"
    );
    let modify = pb::ModifyNamespaceRequest {
        namespace_descriptor: descriptor("gone", &[]),
        ..Default::default()
    };
    assert_eq!(class(rig.call::<MasterModifyNamespace>(&modify)), "NamespaceNotFoundException");
    assert_eq!(
        class(rig.call::<MasterDeleteNamespace>(&delete("gone"))),
        "NamespaceNotFoundException"
    );
    assert_eq!(class(rig.call::<MasterDeleteNamespace>(&delete("hbase"))), "ConstraintException");
    let refused = rig.call::<MasterDeleteNamespace>(&delete("ns")).unwrap_err();
    assert_eq!(
        refused.message(),
        "Only empty namespaces can be removed. Namespace ns has 1 tables"
    );
}

#[test]
fn namespace_table_is_restored_after_client_changes() {
    let rig = TestServer::new();
    let table = rig.context.engine.table(&"hbase:namespace".parse().unwrap()).unwrap();
    let ops = vec![Put::new("odd").add("info", "d", "x").into(), Delete::new("default").into()];
    table.batch(ops).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
    drop(table);
    assert_eq!(rows_read(&rig), ["hbase", "odd"]);
    let rig = rig.restarted();
    assert_eq!(rows(&rig), [descriptor("default", &[]), descriptor("hbase", &[])]);
    rig.context.engine.disable_table(&"hbase:namespace".parse().unwrap()).unwrap();
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns", &[])).unwrap().proc_id).unwrap();
    rig.context.engine.drop_table(&"hbase:namespace".parse().unwrap()).unwrap();
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns2", &[])).unwrap().proc_id).unwrap();
    assert_eq!(rows_read(&rig), ["default", "hbase", "ns", "ns2"]);
}

#[test]
fn server_starts_with_disabled_or_altered_namespace_table() {
    let table: TableName = "hbase:namespace".parse().unwrap();
    let rig = TestServer::new();
    rig.context.engine.disable_table(&table).unwrap();
    let rig = rig.restarted();
    assert!(!rig.context.engine.is_enabled(&table).unwrap());
    rig.context.engine.enable_table(&table).unwrap();
    let other = TableDescriptor::new(table.clone()).family(FamilyDescriptor::new("x"));
    rig.context.engine.alter_table(other).unwrap();
    let rig = rig.restarted();
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns", &[])).unwrap().proc_id).unwrap();
    rig.context.engine.disable_table(&table).unwrap();
    rig.context.engine.drop_table(&table).unwrap();
    assert_eq!(rows_read(&rig.restarted()), ["default", "hbase", "ns"]);
}

#[test]
fn namespace_settings_are_limited() {
    let rig = TestServer::new();
    let long = "x".repeat(11 << 20);
    assert_eq!(
        class(rig.call::<MasterCreateNamespace>(&create("ns", &[("k", &long)]))),
        "DoNotRetryIOException"
    );
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns", &[("k", "v")])).unwrap().proc_id)
        .unwrap();
    let modify = pb::ModifyNamespaceRequest {
        namespace_descriptor: descriptor("ns", &[("k", &long)]),
        ..Default::default()
    };
    assert_eq!(class(rig.call::<MasterModifyNamespace>(&modify)), "DoNotRetryIOException");
    assert_eq!(rows(&rig.restarted()).pop(), Some(descriptor("ns", &[("k", "v")])));
}

#[test]
fn foreign_rows_in_namespace_table_are_deleted_in_batches() {
    let rig = TestServer::new();
    let table = rig.context.engine.table(&"hbase:namespace".parse().unwrap()).unwrap();
    let ops = (0..1_500)
        .map(|row| Put::new(format!("foreign{row}")).add("info", "x", "x").into())
        .collect();
    table.batch(ops).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
    drop(table);
    let rig = rig.restarted();
    assert!((3..1_000).contains(&rows_read(&rig).len()));
    assert_eq!(rows_read(&rig.restarted()), ["default", "hbase"]);
}

fn new_table(
    rig: &TestServer,
    table: &str,
    regions: u8,
) -> Result<(), halite_wire::exception::Exception> {
    let split_keys = (1..regions).map(|key| vec![key].into()).collect();
    let request = pb::CreateTableRequest {
        table_schema: schema(table, &["f"]),
        split_keys,
        ..Default::default()
    };
    rig.finish(rig.call::<MasterCreateTable>(&request)?.proc_id)
}

#[test]
fn namespace_quota_limits_tables_and_regions() {
    let rig = TestServer::with_quotas();
    let settings =
        [("hbase.namespace.quota.maxtables", "2"), ("hbase.namespace.quota.maxregions", "4")];
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns", &settings)).unwrap().proc_id)
        .unwrap();
    let refused = |result: Result<(), halite_wire::exception::Exception>| {
        let exception = result.unwrap_err();
        assert!(exception.class().ends_with(".QuotaExceededException"), "{}", exception.class());
        exception.message().to_owned()
    };
    let text = "The table ns:a is not allowed to have 5 regions. The total number of regions \
                permitted is only 4, while current region count is 0. This may be transient, \
                please retry later if there are any ongoing split operations in the namespace.";
    assert_eq!(refused(new_table(&rig, "ns:a", 5)), text);
    new_table(&rig, "ns:a", 3).unwrap();
    new_table(&rig, "ns:b", 1).unwrap();
    let text = "The table ns:c cannot be created as it would exceed maximum number of tables \
                allowed  in the namespace.  The total number of tables permitted is 2";
    assert_eq!(refused(new_table(&rig, "ns:c", 1)), text);
    new_table(&rig, "other", 9).unwrap();
    let region = rig.context.engine.regions(&name("ns:b")).unwrap().remove(0);
    let split = pb::SplitTableRegionRequest {
        region_info: halite_wire::convert::region::to_proto(&region),
        split_row: Some("m".into()),
        ..Default::default()
    };
    let descriptor = refused(rig.finish(rig.call::<MasterSplitRegion>(&split).unwrap().proc_id));
    assert_eq!(
        descriptor,
        format!(
            "Region split not possible for :{} as quota limits are exceeded ",
            region.encoded_name
        )
    );
    let rig = TestServer::new();
    rig.finish(rig.call::<MasterCreateNamespace>(&create("ns", &settings)).unwrap().proc_id)
        .unwrap();
    new_table(&rig, "ns:a", 5).unwrap();
}
