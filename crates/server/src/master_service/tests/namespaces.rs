//! Namespaces made, changed, listed and dropped.

use halite_types::{Delete, Put, Row, Scan, Tier};
use halite_wire::proto as pb;
use halite_wire::service::{
    MasterCreateNamespace, MasterDeleteNamespace, MasterGetNamespaceDescriptor, MasterListNamespaceDescriptors, MasterListNamespaces,
    MasterModifyNamespace,
};
use prost::Message as _;

use super::rig::{Rig, class};

fn descriptor(name: &str, settings: &[(&str, &str)]) -> pb::NamespaceDescriptor {
    let pair = |(name, value): &(&str, &str)| pb::NameStringPair { name: (*name).to_owned(), value: (*value).to_owned() };
    pb::NamespaceDescriptor { name: name.to_owned().into(), configuration: settings.iter().map(pair).collect() }
}

fn create(name: &str, settings: &[(&str, &str)]) -> pb::CreateNamespaceRequest {
    pb::CreateNamespaceRequest { namespace_descriptor: descriptor(name, settings), ..Default::default() }
}

fn delete(name: &str) -> pb::DeleteNamespaceRequest {
    pb::DeleteNamespaceRequest { namespace_name: name.to_owned(), ..Default::default() }
}

fn stored(rig: &Rig) -> Vec<Row> {
    let table = rig.context.engine.table(&"hbase:namespace".parse().unwrap()).unwrap();
    table.scan(Scan::all(), Tier::Disk).flat_map(|rows| rows.unwrap()).collect()
}

/// The rows of `hbase:namespace`.
fn rows_read(rig: &Rig) -> Vec<String> {
    stored(rig).iter().map(|row| String::from_utf8(row.key().to_vec()).unwrap()).collect()
}

/// The descriptors in `hbase:namespace`.
fn rows(rig: &Rig) -> Vec<pb::NamespaceDescriptor> {
    stored(rig).iter().map(|row| pb::NamespaceDescriptor::decode(row.value("info", "d").unwrap()).unwrap()).collect()
}

#[test]
fn a_namespace_is_made_changed_and_dropped() {
    let rig = Rig::new();
    rig.finish(rig.ask::<MasterCreateNamespace>(&create("ns", &[("k", "1")])).unwrap().proc_id).unwrap();
    let names = rig.ask::<MasterListNamespaces>(&pb::ListNamespacesRequest {}).unwrap().namespace_name;
    assert_eq!(names, ["default", "hbase", "ns"]);
    let modify = pb::ModifyNamespaceRequest { namespace_descriptor: descriptor("ns", &[("k", "2")]), ..Default::default() };
    rig.finish(rig.ask::<MasterModifyNamespace>(&modify).unwrap().proc_id).unwrap();
    let get = pb::GetNamespaceDescriptorRequest { namespace_name: "ns".to_owned() };
    let told = rig.ask::<MasterGetNamespaceDescriptor>(&get).unwrap().namespace_descriptor;
    assert_eq!(told, descriptor("ns", &[("k", "2")]));
    assert_eq!(rows(&rig), [descriptor("default", &[]), descriptor("hbase", &[]), descriptor("ns", &[("k", "2")])]);
    rig.finish(rig.ask::<MasterDeleteNamespace>(&delete("ns")).unwrap().proc_id).unwrap();
    assert_eq!(class(rig.ask::<MasterGetNamespaceDescriptor>(&get)), "NamespaceNotFoundException");
    assert_eq!(rows(&rig).len(), 2);
    assert_eq!(rig.ask::<MasterListNamespaceDescriptors>(&pb::ListNamespaceDescriptorsRequest {}).unwrap().namespace_descriptor.len(), 2);
}

#[test]
fn refusals_have_the_classes_of_hbase() {
    let rig = Rig::new();
    rig.finish(rig.ask::<MasterCreateNamespace>(&create("ns", &[])).unwrap().proc_id).unwrap();
    rig.create("ns:t", &["f"], &[]);
    assert_eq!(class(rig.ask::<MasterCreateNamespace>(&create("ns", &[]))), "NamespaceExistException");
    assert_eq!(class(rig.ask::<MasterCreateNamespace>(&create("n-s", &[]))), "DoNotRetryIOException");
    assert_eq!(class(rig.ask::<MasterCreateNamespace>(&create("n", &[("hbase.namespace.quota.maxtables", "0")]))), "ConstraintException");
    assert_eq!(class(rig.ask::<MasterCreateNamespace>(&create("n", &[("hbase.namespace.quota.maxregions", "few")]))), "DoNotRetryIOException");
    let modify = pb::ModifyNamespaceRequest { namespace_descriptor: descriptor("gone", &[]), ..Default::default() };
    assert_eq!(class(rig.ask::<MasterModifyNamespace>(&modify)), "NamespaceNotFoundException");
    assert_eq!(class(rig.ask::<MasterDeleteNamespace>(&delete("gone"))), "NamespaceNotFoundException");
    assert_eq!(class(rig.ask::<MasterDeleteNamespace>(&delete("hbase"))), "ConstraintException");
    let refused = rig.ask::<MasterDeleteNamespace>(&delete("ns")).unwrap_err();
    assert_eq!(refused.message(), "Only empty namespaces can be removed. Namespace ns has 1 tables");
}

#[test]
fn the_table_of_namespaces_is_mended_when_a_client_has_written_there_or_dropped_it() {
    let rig = Rig::new();
    let table = rig.context.engine.table(&"hbase:namespace".parse().unwrap()).unwrap();
    let ops = vec![Put::new("odd").add("info", "d", "x").into(), Delete::new("default").into()];
    table.apply(ops).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
    drop(table);
    assert_eq!(rows_read(&rig), ["hbase", "odd"]);
    let rig = rig.restarted();
    assert_eq!(rows(&rig), [descriptor("default", &[]), descriptor("hbase", &[])]);
    rig.context.engine.disable_table(&"hbase:namespace".parse().unwrap()).unwrap();
    rig.finish(rig.ask::<MasterCreateNamespace>(&create("ns", &[])).unwrap().proc_id).unwrap();
    rig.context.engine.drop_table(&"hbase:namespace".parse().unwrap()).unwrap();
    rig.finish(rig.ask::<MasterCreateNamespace>(&create("ns2", &[])).unwrap().proc_id).unwrap();
    assert_eq!(rows_read(&rig), ["default", "hbase", "ns", "ns2"]);
}
