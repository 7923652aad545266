//! The descriptor of `hbase:meta`, and the declared replicas of tables.

use halite_engine::Engine;
use halite_types::schema::family_attribute as fam;
use halite_types::{FamilyDescriptor, TableDescriptor, TableName};
use halite_wire::convert::schema::with_defaults;

use crate::base::names::{is_meta, meta_table};

/// HBase's endpoint for multi-row changes of `hbase:meta`, as its descriptor specifies it.
const META_ENDPOINT: &str =
    "|org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint|536870911|";

/// Returns the descriptor of `hbase:meta` (HBase 2.6:
/// `FSTableDescriptors.createMetaTableDescriptorBuilder`) with the attributes that clients have
/// added.
pub(crate) fn meta_descriptor(engine: &Engine) -> TableDescriptor {
    let mut table = own_meta_descriptor();
    table.attributes.extend(engine.meta_attributes());
    table
}

/// Returns the declared number of replicas of the `hbase:meta` region. Only one exists, and it
/// serves the requests for all.
pub(crate) fn meta_replicas(engine: &Engine) -> u32 {
    meta_descriptor(engine).region_replication()
}

/// Returns the declared number of replicas of the regions of any table.
pub(crate) fn replicas(engine: &Engine, name: &TableName) -> u32 {
    if is_meta(name) {
        meta_replicas(engine)
    } else {
        engine.descriptor(name).map_or(1, |table| table.region_replication())
    }
}

/// Returns the fixed descriptor of `hbase:meta`.
pub(crate) fn own_meta_descriptor() -> TableDescriptor {
    let family = |name: &'static str| {
        let family = FamilyDescriptor::new(name)
            .versions(3)
            .set(fam::IN_MEMORY, true)
            .set(fam::BLOCKSIZE, 8192);
        family.set(fam::BLOOMFILTER, "ROWCOL").set(fam::DATA_BLOCK_ENCODING, "ROW_INDEX_V1")
    };
    let mut table =
        TableDescriptor::new(meta_table()).set("IS_META", true).set("coprocessor$1", META_ENDPOINT);
    table.set_family(family("info"));
    table.set_family(family("rep_barrier").versions(i32::MAX.cast_unsigned()));
    table.set_family(family("table"));
    with_defaults(table)
}

#[cfg(test)]
mod tests {
    use halite_wire::convert::schema::to_proto;
    use halite_wire::proto as pb;

    use super::*;

    #[test]
    fn meta_descriptor_matches_hbase() {
        let schema = to_proto(&own_meta_descriptor());
        let families: Vec<_> =
            schema.column_families.iter().map(|family| &family.name[..]).collect();
        assert_eq!(families, [&b"info"[..], b"rep_barrier", b"table"]);
        assert!(
            schema
                .attributes
                .contains(&pb::BytesBytesPair { first: "IS_META".into(), second: "true".into() })
        );
    }
}
