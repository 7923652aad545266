//! Tables created, changed, listed and dropped.

use halite_wire::proto as pb;
use halite_wire::service::{
    MasterCreateTable, MasterDeleteTable, MasterDisableTable, MasterEnableTable,
    MasterGetProcedureResult, MasterGetSchemaAlterStatus, MasterGetTableDescriptors,
    MasterGetTableNames, MasterGetTableState, MasterListTableNamesByNamespace,
    MasterListTableNamesByState, MasterModifyTable, MasterTruncateTable,
};
use pb::get_procedure_result_response::State;

use crate::testing::test_server::{TestServer, class, name_message, schema};

fn names(request: &pb::GetTableNamesRequest, rig: &TestServer) -> Vec<String> {
    texts(&rig.call::<MasterGetTableNames>(request).unwrap().table_names)
}

fn texts(names: &[pb::TableName]) -> Vec<String> {
    names.iter().map(|name| crate::base::names::table_name(name).unwrap().to_string()).collect()
}

fn create(table: &str, nonce: u64) -> pb::CreateTableRequest {
    pb::CreateTableRequest {
        table_schema: schema(table, &["f"]),
        nonce_group: Some(1),
        nonce: Some(nonce),
        ..Default::default()
    }
}

#[test]
fn created_table_has_splits_and_default_attributes() {
    let rig = TestServer::new();
    rig.create("t1", &["f"], &["b", "c"]);
    assert_eq!(rig.starts("t1"), ["", "b", "c"]);
    let request = pb::GetTableDescriptorsRequest {
        table_names: vec![name_message("t1"), name_message("gone")],
        ..Default::default()
    };
    let described = rig.call::<MasterGetTableDescriptors>(&request).unwrap().table_schema;
    assert_eq!(described.len(), 1);
    assert_eq!(described[0].column_families[0].attributes.len(), 12);
    let stored = rig.context.engine.descriptor(&crate::testing::test_server::name("t1")).unwrap();
    assert_eq!(stored.find_family(b"f").unwrap().attributes["BLOOMFILTER"], "ROW");
    let status = rig
        .call::<MasterGetSchemaAlterStatus>(&pb::GetSchemaAlterStatusRequest {
            table_name: name_message("t1"),
        })
        .unwrap();
    assert_eq!((status.yet_to_update_regions(), status.total_regions()), (0, 3));
}

#[test]
fn repeated_table_name_is_described_once() {
    let rig = TestServer::new();
    for table in ["t", "u"] {
        rig.create(table, &["f"], &[]);
    }
    let table_names = std::iter::once(name_message("u"))
        .chain(std::iter::repeat_n(name_message("t"), 1_000))
        .chain([name_message("u")])
        .collect();
    let described = rig
        .call::<MasterGetTableDescriptors>(&pb::GetTableDescriptorsRequest {
            table_names,
            ..Default::default()
        })
        .unwrap();
    let names: Vec<_> =
        described.table_schema.iter().filter_map(|table| table.table_name.clone()).collect();
    assert_eq!(texts(&names), ["u", "t"]);
}

#[test]
fn invalid_table_name_is_shortened_in_error() {
    let rig = TestServer::new();
    let table_name = pb::TableName { namespace: "".into(), qualifier: "a".repeat(1 << 20).into() };
    let refused = rig
        .call::<MasterDisableTable>(&pb::DisableTableRequest { table_name, ..Default::default() })
        .unwrap_err();
    assert!(refused.message().len() < 200, "{}", refused.message().len());
}

#[test]
fn table_descriptor_size_is_limited() {
    let rig = TestServer::new();
    let attribute = pb::BytesBytesPair { first: "k".into(), second: "v".repeat(2 << 20).into() };
    let table_schema = pb::TableSchema { attributes: vec![attribute], ..schema("t", &["f"]) };
    assert_eq!(
        class(rig.call::<MasterCreateTable>(&pb::CreateTableRequest {
            table_schema,
            ..Default::default()
        })),
        "DoNotRetryIOException"
    );
}

#[test]
fn invalid_table_creation_fails_in_the_call() {
    let rig = TestServer::new();
    rig.create("t1", &["f"], &[]);
    assert_eq!(class(rig.call::<MasterCreateTable>(&create("t1", 0))), "TableExistsException");
    assert_eq!(
        class(rig.call::<MasterCreateTable>(&create("hbase:meta", 0))),
        "TableExistsException"
    );
    assert_eq!(
        class(rig.call::<MasterCreateTable>(&create("nowhere:t", 0))),
        "NamespaceNotFoundException"
    );
    let none = pb::CreateTableRequest { table_schema: schema("t2", &[]), ..Default::default() };
    assert_eq!(class(rig.call::<MasterCreateTable>(&none)), "DoNotRetryIOException");
    assert_eq!(names(&pb::GetTableNamesRequest::default(), &rig), ["t1"]);
}

#[test]
fn create_retried_with_nonce_creates_one_table() {
    let rig = TestServer::new();
    let first = rig.call::<MasterCreateTable>(&create("t1", 77)).unwrap().proc_id;
    assert_eq!(rig.call::<MasterCreateTable>(&create("t1", 77)).unwrap().proc_id, first);
    rig.finish(first).unwrap();
    assert_eq!(class(rig.call::<MasterCreateTable>(&create("t1", 78))), "TableExistsException");
}

#[test]
fn enabling_enabled_table_fails_in_procedure_result() {
    let rig = TestServer::new();
    rig.create("t1", &["f"], &[]);
    let enable = pb::EnableTableRequest { table_name: name_message("t1"), ..Default::default() };
    let id = rig.call::<MasterEnableTable>(&enable).unwrap().proc_id;
    assert_eq!(class(rig.finish(id)), "TableNotDisabledException");
    rig.disable("t1");
    let disable = pb::DisableTableRequest { table_name: name_message("t1"), ..Default::default() };
    assert_eq!(
        class(rig.finish(rig.call::<MasterDisableTable>(&disable).unwrap().proc_id)),
        "TableNotEnabledException"
    );
    rig.finish(rig.call::<MasterEnableTable>(&enable).unwrap().proc_id).unwrap();
    let meta =
        pb::DisableTableRequest { table_name: name_message("hbase:meta"), ..Default::default() };
    assert_eq!(
        class(rig.finish(rig.call::<MasterDisableTable>(&meta).unwrap().proc_id)),
        "ConstraintException"
    );
    let gone = pb::DisableTableRequest { table_name: name_message("gone"), ..Default::default() };
    assert_eq!(
        class(rig.finish(rig.call::<MasterDisableTable>(&gone).unwrap().proc_id)),
        "TableNotFoundException"
    );
}

#[test]
fn drop_and_truncate_require_disabled_table() {
    let rig = TestServer::new();
    rig.create("t1", &["f"], &["m"]);
    rig.put("t1", &["a", "z"]);
    let delete = pb::DeleteTableRequest { table_name: name_message("t1"), ..Default::default() };
    let refused = rig.call::<MasterDeleteTable>(&delete).unwrap_err();
    assert_eq!(refused.message(), "Not DISABLED; tableName=t1, state=ENABLED");
    let truncate = |keep: bool| pb::TruncateTableRequest {
        table_name: name_message("t1"),
        preserve_splits: Some(keep),
        ..Default::default()
    };
    assert_eq!(
        class(rig.call::<MasterTruncateTable>(&truncate(true))),
        "TableNotDisabledException"
    );
    for (keep, starts) in [(true, &["", "m"][..]), (false, &[""][..])] {
        rig.disable("t1");
        rig.finish(rig.call::<MasterTruncateTable>(&truncate(keep)).unwrap().proc_id).unwrap();
        assert_eq!(rig.starts("t1"), starts);
    }
    rig.disable("t1");
    rig.finish(rig.call::<MasterDeleteTable>(&delete).unwrap().proc_id).unwrap();
    assert_eq!(class(rig.call::<MasterDeleteTable>(&delete)), "TableNotFoundException");
}

#[test]
fn table_regex_matches_whole_name() {
    let rig = TestServer::new();
    rig.create("t1", &["f"], &[]);
    rig.create("t2", &["f"], &[]);
    rig.context.engine.create_namespace("ns", halite_types::Attributes::new()).unwrap();
    rig.create("ns:t1", &["f"], &[]);
    let matching = |regex: &str| {
        names(
            &pb::GetTableNamesRequest { regex: Some(regex.to_owned()), ..Default::default() },
            &rig,
        )
    };
    assert_eq!(matching(".*"), ["t1", "t2", "ns:t1"]);
    assert_eq!(matching("t1"), ["t1"]);
    assert_eq!(matching("default:.*"), ["t1", "t2"]);
    assert_eq!(matching(r"ns:\w+"), ["ns:t1"]);
    assert_eq!(matching("t"), Vec::<String>::new());
    let bad = pb::GetTableNamesRequest { regex: Some("(".to_owned()), ..Default::default() };
    assert_eq!(class(rig.call::<MasterGetTableNames>(&bad)), "DoNotRetryIOException");
    let of = |namespace: &str| pb::GetTableNamesRequest {
        namespace: Some(namespace.to_owned()),
        regex: Some(".*".to_owned()),
        ..Default::default()
    };
    assert_eq!((names(&of("ns"), &rig), names(&of(""), &rig).len()), (vec!["ns:t1".to_owned()], 3));
    assert_eq!(class(rig.call::<MasterGetTableNames>(&of("gone"))), "NamespaceNotFoundException");
}

#[test]
fn system_tables_are_listed_on_request() {
    let rig = TestServer::new();
    let all = pb::GetTableNamesRequest { include_sys_tables: Some(true), ..Default::default() };
    assert!(names(&all, &rig).contains(&"hbase:meta".to_owned()));
    let meta = pb::GetTableDescriptorsRequest {
        table_names: vec![name_message("hbase:meta")],
        ..Default::default()
    };
    let schema = &rig.call::<MasterGetTableDescriptors>(&meta).unwrap().table_schema[0];
    assert_eq!(
        schema.column_families.iter().map(|family| &family.name[..]).collect::<Vec<_>>(),
        [&b"info"[..], b"rep_barrier", b"table"]
    );
    let own = pb::ListTableNamesByNamespaceRequest { namespace_name: "hbase".to_owned() };
    assert!(
        texts(&rig.call::<MasterListTableNamesByNamespace>(&own).unwrap().table_name)
            .contains(&"hbase:meta".to_owned())
    );
}

#[test]
fn table_state_is_reported_and_filters_lists() {
    let rig = TestServer::new();
    rig.create("on", &["f"], &[]);
    rig.create("off", &["f"], &[]);
    rig.disable("off");
    let state = |table: &str| {
        rig.call::<MasterGetTableState>(&pb::GetTableStateRequest {
            table_name: name_message(table),
        })
    };
    assert_eq!(state("on").unwrap().table_state.state(), pb::table_state::State::Enabled);
    assert_eq!(state("off").unwrap().table_state.state(), pb::table_state::State::Disabled);
    assert_eq!(class(state("gone")), "TableNotFoundException");
    let by = |is_enabled| {
        texts(
            &rig.call::<MasterListTableNamesByState>(&pb::ListTableNamesByStateRequest {
                is_enabled,
            })
            .unwrap()
            .table_names,
        )
    };
    assert_eq!((by(true), by(false)), (vec!["on".to_owned()], vec!["off".to_owned()]));
}

#[test]
fn modify_replaces_descriptor_and_rejects_family_changes_without_reopen() {
    let rig = TestServer::new();
    rig.create("t1", &["f"], &[]);
    let modify = |table: &str, families: &[&str], reopen: bool| pb::ModifyTableRequest {
        table_name: name_message(table),
        table_schema: schema(table, families),
        reopen_regions: Some(reopen),
        ..Default::default()
    };
    assert_eq!(
        class(rig.call::<MasterModifyTable>(&modify("t1", &["f", "g"], false))),
        "DoNotRetryIOException"
    );
    rig.finish(rig.call::<MasterModifyTable>(&modify("t1", &["f", "g"], true)).unwrap().proc_id)
        .unwrap();
    assert_eq!(
        rig.context
            .engine
            .descriptor(&crate::testing::test_server::name("t1"))
            .unwrap()
            .family_count(),
        2
    );
    assert_eq!(
        class(rig.call::<MasterModifyTable>(&modify("gone", &["f"], true))),
        "TableNotFoundException"
    );
    assert_eq!(
        class(rig.call::<MasterModifyTable>(&modify("t1", &[], true))),
        "DoNotRetryIOException"
    );
    let other = pb::ModifyTableRequest {
        table_name: name_message("t1"),
        table_schema: schema("t2", &["f"]),
        ..Default::default()
    };
    assert_eq!(class(rig.call::<MasterModifyTable>(&other)), "DoNotRetryIOException");
}

#[test]
fn unknown_procedure_is_not_found_without_error() {
    let rig = TestServer::new();
    let result = rig
        .call::<MasterGetProcedureResult>(&pb::GetProcedureResultRequest { proc_id: u64::MAX })
        .unwrap();
    assert_eq!(result.state(), State::NotFound);
}

#[test]
fn meta_accepts_only_attribute_changes() {
    let rig = TestServer::new();
    let described = |rig: &TestServer| {
        let request = pb::GetTableDescriptorsRequest {
            table_names: vec![name_message("hbase:meta")],
            ..Default::default()
        };
        rig.call::<MasterGetTableDescriptors>(&request).unwrap().table_schema.remove(0)
    };
    let modify = |table_schema| pb::ModifyTableRequest {
        table_name: name_message("hbase:meta"),
        table_schema,
        ..Default::default()
    };
    let attribute = pb::BytesBytesPair { first: "REGION_REPLICATION".into(), second: "3".into() };
    let mut schema = described(&rig);
    schema.attributes.push(attribute.clone());
    rig.finish(rig.call::<MasterModifyTable>(&modify(schema)).unwrap().proc_id).unwrap();
    let mut schema = described(&rig);
    assert!(schema.attributes.contains(&attribute));
    assert_eq!(crate::base::schema::meta_replicas(&rig.context.engine), 3);
    schema.column_families.pop();
    assert_eq!(class(rig.call::<MasterModifyTable>(&modify(schema))), "DoNotRetryIOException");
}
