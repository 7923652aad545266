//! Descriptors of tables and families, from messages and back, with HBase's defaults filled in.

use bytes::Bytes;
use halite_types::schema::family_attribute as fam;
use halite_types::{Attributes, FamilyDescriptor, TableDescriptor, TableName};
use halite_wire::proto as pb;

use super::names::{meta_table, table_name, table_name_message};
use crate::call::Fault;

/// What every family has that does not say otherwise (HBase 2.6: `ColumnFamilyDescriptorBuilder`).
const FAMILY_DEFAULTS: [(&str, &str); 12] = [
    (fam::BLOOMFILTER, "ROW"),
    (fam::IN_MEMORY, "false"),
    (fam::VERSIONS, "1"),
    (fam::KEEP_DELETED_CELLS, "FALSE"),
    (fam::DATA_BLOCK_ENCODING, "NONE"),
    (fam::INDEX_BLOCK_ENCODING, "NONE"),
    (fam::COMPRESSION, "NONE"),
    (fam::TTL, "2147483647"),
    (fam::MIN_VERSIONS, "0"),
    (fam::BLOCKCACHE, "true"),
    (fam::BLOCKSIZE, "65536"),
    (fam::REPLICATION_SCOPE, "0"),
];

/// The attribute that HBase 2.5 and later write into every table: how store files are told from leftovers.
pub(crate) const TRACKER: &str = "hbase.store.file-tracker.impl";
/// The tracker of tables that name none.
pub(crate) const TRACKER_DEFAULT: &str = "DEFAULT";
/// Whether the table is `hbase:meta`.
const IS_META: &str = "IS_META";

/// The descriptor in a request.
pub(crate) fn descriptor(schema: &pb::TableSchema) -> Result<TableDescriptor, Fault> {
    let name = schema.table_name.as_ref().ok_or_else(|| Fault::do_not_retry("the table schema names no table"))?;
    let mut table = TableDescriptor::new(table_name(name)?);
    table.attributes = attributes(&schema.attributes);
    table.configuration = configuration(&schema.configuration);
    schema.column_families.iter().for_each(|family| table.set_family(family_descriptor(family)));
    Ok(table)
}

/// The family in a request.
pub(crate) fn family_descriptor(schema: &pb::ColumnFamilySchema) -> FamilyDescriptor {
    let mut family = FamilyDescriptor::new(Bytes::clone(&schema.name));
    family.attributes = attributes(&schema.attributes);
    family.configuration = configuration(&schema.configuration);
    family
}

/// The descriptor as clients see it, defaults included.
pub(crate) fn schema(table: &TableDescriptor) -> pb::TableSchema {
    let mut filled = with_defaults(table.clone());
    filled.attributes.entry(IS_META.to_owned()).or_insert_with(|| "false".to_owned());
    message(&filled)
}

fn message(table: &TableDescriptor) -> pb::TableSchema {
    pb::TableSchema {
        table_name: Some(table_name_message(table.name())),
        attributes: pairs(&table.attributes),
        column_families: table.families().map(family_message).collect(),
        configuration: strings(&table.configuration),
    }
}

fn family_message(family: &FamilyDescriptor) -> pb::ColumnFamilySchema {
    pb::ColumnFamilySchema { name: family.name().clone(), attributes: pairs(&family.attributes), configuration: strings(&family.configuration) }
}

/// A descriptor with everything written out that HBase writes out when it stores one.
pub(crate) fn with_defaults(mut table: TableDescriptor) -> TableDescriptor {
    table.attributes.entry(TRACKER.to_owned()).or_insert_with(|| TRACKER_DEFAULT.to_owned());
    let families: Vec<_> = table.families().cloned().collect();
    for mut family in families {
        for (name, value) in FAMILY_DEFAULTS {
            family.attributes.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        table.set_family(family);
    }
    table
}

/// The descriptor of `hbase:meta` (HBase 2.6: `FSTableDescriptors.createMetaTableDescriptorBuilder`).
pub(crate) fn meta_schema() -> pb::TableSchema {
    let family = |name: &'static str| {
        FamilyDescriptor::new(name)
            .versions(3)
            .set(fam::IN_MEMORY, true)
            .set(fam::BLOCKSIZE, 8192)
            .set(fam::BLOOMFILTER, "ROWCOL")
            .set(fam::DATA_BLOCK_ENCODING, "ROW_INDEX_V1")
    };
    let mut table = TableDescriptor::new(meta_table()).set(IS_META, true);
    table.set_family(family("info"));
    table.set_family(family("rep_barrier").versions(i32::MAX.unsigned_abs()));
    table.set_family(family("table"));
    message(&with_defaults(table))
}

/// The schema of a table by this name, if it is `hbase:meta`.
pub(crate) fn system_schema(name: &TableName) -> Option<pb::TableSchema> {
    super::names::is_meta(name).then(meta_schema)
}

fn attributes(pairs: &[pb::BytesBytesPair]) -> Attributes {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    pairs.iter().map(|pair| (text(&pair.first), text(&pair.second))).collect()
}

fn configuration(pairs: &[pb::NameStringPair]) -> Attributes {
    pairs.iter().map(|pair| (pair.name.clone(), pair.value.clone())).collect()
}

fn pairs(attributes: &Attributes) -> Vec<pb::BytesBytesPair> {
    attributes.iter().map(|(name, value)| pb::BytesBytesPair { first: name.clone().into(), second: value.clone().into() }).collect()
}

/// Settings as messages carry them, those of namespaces too.
pub(crate) fn strings(settings: &Attributes) -> Vec<pb::NameStringPair> {
    settings.iter().map(|(name, value)| pb::NameStringPair { name: name.clone(), value: value.clone() }).collect()
}

/// Settings of a message.
pub(crate) fn settings(pairs: &[pb::NameStringPair]) -> Attributes {
    configuration(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_without_attributes_comes_back_with_the_defaults_of_hbase() {
        let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
        let schema = schema(&table);
        let written: Vec<_> = schema.column_families[0].attributes.iter().map(|pair| (&pair.first[..], &pair.second[..])).collect();
        assert_eq!(written.len(), 12);
        assert!(written.contains(&(b"TTL", b"2147483647")) && written.contains(&(b"VERSIONS", b"1")));
        let of_table: Vec<_> = schema.attributes.iter().map(|pair| (&pair.first[..], &pair.second[..])).collect();
        assert_eq!(of_table, [(&b"IS_META"[..], &b"false"[..]), (b"hbase.store.file-tracker.impl", b"DEFAULT")]);
    }

    #[test]
    fn what_a_client_says_survives_and_is_not_overwritten_by_defaults() {
        let table = TableDescriptor::new("ns:t".parse().unwrap())
            .family(FamilyDescriptor::new("f").versions(7).set("MINE", "kept"))
            .set("MAX_FILESIZE", "10737418240");
        let back = descriptor(&schema(&table)).unwrap();
        let family = back.find_family(b"f").unwrap();
        assert_eq!((family.max_versions(), &family.attributes["MINE"][..]), (7, "kept"));
        assert_eq!(back.attributes["MAX_FILESIZE"], "10737418240");
    }

    #[test]
    fn a_schema_without_a_table_is_refused() {
        assert!(descriptor(&pb::TableSchema::default()).is_err());
    }
}
