//! Descriptors as clients of this server see them.

use halite_types::schema::family_attribute as fam;
use halite_types::{FamilyDescriptor, TableDescriptor, TableName};
use halite_wire::convert::schema::{to_proto, with_defaults};
use halite_wire::proto as pb;

use super::names::{is_meta, meta_table};

/// The attribute that HBase 2.5 and later write into every table: how store files are told from leftovers.
pub(crate) const TRACKER: &str = "hbase.store.file-tracker.impl";
/// The tracker of tables that name none.
pub(crate) const TRACKER_DEFAULT: &str = "DEFAULT";
/// HBase's endpoint for changes of several rows of `hbase:meta`, as its descriptor names it.
const META_ENDPOINT: &str = "|org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint|536870911|";

/// The descriptor as clients see it, defaults included.
pub(crate) fn schema(table: &TableDescriptor) -> pb::TableSchema {
    to_proto(&with_defaults(table.clone()))
}

/// The descriptor of `hbase:meta` (HBase 2.6: `FSTableDescriptors.createMetaTableDescriptorBuilder`).
fn meta_schema() -> pb::TableSchema {
    let family = |name: &'static str| {
        let family = FamilyDescriptor::new(name).versions(3).set(fam::IN_MEMORY, true).set(fam::BLOCKSIZE, 8192);
        family.set(fam::BLOOMFILTER, "ROWCOL").set(fam::DATA_BLOCK_ENCODING, "ROW_INDEX_V1")
    };
    let mut table = TableDescriptor::new(meta_table()).set("IS_META", true).set("coprocessor$1", META_ENDPOINT);
    table.set_family(family("info"));
    table.set_family(family("rep_barrier").versions(i32::MAX.cast_unsigned()));
    table.set_family(family("table"));
    schema(&table)
}

/// The schema of a table by this name, if it is `hbase:meta`.
pub(crate) fn system_schema(name: &TableName) -> Option<pb::TableSchema> {
    is_meta(name).then(meta_schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_is_described_as_hbase_describes_it() {
        let schema = system_schema(&meta_table()).unwrap();
        let families: Vec<_> = schema.column_families.iter().map(|family| &family.name[..]).collect();
        assert_eq!(families, [&b"info"[..], b"rep_barrier", b"table"]);
        assert!(schema.attributes.contains(&pb::BytesBytesPair { first: "IS_META".into(), second: "true".into() }));
        assert!(system_schema(&"t".parse().unwrap()).is_none());
    }
}
