//! `TableSchema`, `TableName` and `NamespaceDescriptor`: descriptors with all their attributes.
//!
//! A descriptor is converted unchanged, including unknown attributes. HBase adds the defaults of a
//! table when it stores it, and returns them from then on: [`with_defaults`].

use bytes::Bytes;
use halite_types::schema::{
    DEFAULT_NAMESPACE, TABLE_DEFAULTS, check_namespace, family_attribute as fam,
};
use halite_types::{Attributes, Error, FamilyDescriptor, Result, TableDescriptor, TableName};

use crate::proto as pb;

/// Returns the descriptor with the attributes that HBase would add; existing attributes are kept.
#[must_use]
pub fn with_defaults(mut table: TableDescriptor) -> TableDescriptor {
    fill(&mut table.attributes, TABLE_DEFAULTS);
    let families: Vec<_> = table.families().cloned().map(family_with_defaults).collect();
    families.into_iter().for_each(|family| table.set_family(family));
    table
}

/// Returns the same for one family.
#[must_use]
pub fn family_with_defaults(mut family: FamilyDescriptor) -> FamilyDescriptor {
    fill(&mut family.attributes, fam::DEFAULTS);
    family
}

fn fill(attributes: &mut Attributes, defaults: &[(&str, &str)]) {
    for (name, value) in defaults {
        attributes.entry((*name).to_string()).or_insert_with(|| (*value).to_string());
    }
}

/// Returns the message of a descriptor.
pub fn to_proto(table: &TableDescriptor) -> pb::TableSchema {
    pb::TableSchema {
        table_name: Some(table_name_to_proto(table.name())),
        attributes: attributes_to_proto(&table.attributes),
        column_families: table.families().map(family_to_proto).collect(),
        configuration: configuration_to_proto(&table.configuration),
    }
}

/// Returns the descriptor of a message. [`TableDescriptor::check`] checks its values.
///
/// # Errors
/// `InvalidRequest` for a missing or invalid table name, or an attribute that is not text.
pub fn from_proto(proto: &pb::TableSchema) -> Result<TableDescriptor> {
    let name = proto
        .table_name
        .as_ref()
        .ok_or_else(|| Error::invalid("a table schema has no table name; set it"))?;
    let name = table_name_from_proto(name)?;
    let at = |error: Error| error.at(format!("table {name}"));
    let mut table = TableDescriptor::new(name.clone());
    table.attributes = attributes(&proto.attributes).map_err(at)?;
    table.configuration = configuration(&proto.configuration);
    for family in &proto.column_families {
        table.set_family(family_from_proto(family).map_err(at)?);
    }
    Ok(table)
}

/// Returns the message of a family.
pub fn family_to_proto(family: &FamilyDescriptor) -> pb::ColumnFamilySchema {
    pb::ColumnFamilySchema {
        name: family.name().clone(),
        attributes: attributes_to_proto(&family.attributes),
        configuration: configuration_to_proto(&family.configuration),
    }
}

/// Returns the family of a message. [`FamilyDescriptor::check`] checks its values.
///
/// # Errors
/// `InvalidRequest` for an attribute that is not text.
pub fn family_from_proto(proto: &pb::ColumnFamilySchema) -> Result<FamilyDescriptor> {
    let mut family = FamilyDescriptor::new(proto.name.clone());
    family.attributes = attributes(&proto.attributes)?;
    family.configuration = configuration(&proto.configuration);
    Ok(family)
}

/// Returns the message of a table name, which always contains the namespace.
pub fn table_name_to_proto(name: &TableName) -> pb::TableName {
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    pb::TableName { namespace: bytes(name.namespace()), qualifier: bytes(name.qualifier()) }
}

/// Returns the table name of a message. A missing namespace is the default one.
///
/// # Errors
/// `InvalidRequest` for an invalid table name.
pub fn table_name_from_proto(proto: &pb::TableName) -> Result<TableName> {
    let (namespace, qualifier) = (text(&proto.namespace)?, text(&proto.qualifier)?);
    TableName::new(if namespace.is_empty() { DEFAULT_NAMESPACE } else { namespace }, qualifier)
}

/// Returns the message of a namespace with its settings.
pub fn namespace_to_proto(name: &str, settings: &Attributes) -> pb::NamespaceDescriptor {
    pb::NamespaceDescriptor {
        name: Bytes::copy_from_slice(name.as_bytes()),
        configuration: configuration_to_proto(settings),
    }
}

/// Returns a namespace's name and settings.
///
/// # Errors
/// `InvalidRequest` for an invalid namespace name.
pub fn namespace_from_proto(proto: &pb::NamespaceDescriptor) -> Result<(String, Attributes)> {
    let name = text(&proto.name)?;
    check_namespace(name)?;
    Ok((name.to_string(), configuration(&proto.configuration)))
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::invalid(format!("{} is not UTF-8 text", super::display_bytes(bytes))))
}

fn attributes(pairs: &[pb::BytesBytesPair]) -> Result<Attributes> {
    let of_pair = |pair: &pb::BytesBytesPair| {
        Ok((text(&pair.first)?.to_string(), text(&pair.second)?.to_string()))
    };
    pairs
        .iter()
        .map(|pair| of_pair(pair).map_err(|error: Error| error.at("an attribute")))
        .collect()
}

fn attributes_to_proto(attributes: &Attributes) -> Vec<pb::BytesBytesPair> {
    let bytes = |text: &String| Bytes::copy_from_slice(text.as_bytes());
    attributes
        .iter()
        .map(|(name, value)| pb::BytesBytesPair { first: bytes(name), second: bytes(value) })
        .collect()
}

fn configuration(pairs: &[pb::NameStringPair]) -> Attributes {
    pairs.iter().map(|pair| (pair.name.clone(), pair.value.clone())).collect()
}

fn configuration_to_proto(settings: &Attributes) -> Vec<pb::NameStringPair> {
    settings
        .iter()
        .map(|(name, value)| pb::NameStringPair { name: name.clone(), value: value.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn table_without_attributes_has_hbase_defaults() {
        let table = TableDescriptor::new("t1".parse().unwrap())
            .family(FamilyDescriptor::new("f").versions(3));
        let shown = with_defaults(table);
        let family = shown.find_family(b"f").unwrap();
        assert_eq!(
            (
                family.attributes.len(),
                family.attributes["VERSIONS"].as_str(),
                family.attributes["BLOOMFILTER"].as_str()
            ),
            (12, "3", "ROW")
        );
        assert_eq!(shown.attributes["IS_META"], "false");
        shown.check().unwrap();
        assert_eq!(with_defaults(shown.clone()), shown);
    }

    #[test]
    fn invalid_names_are_rejected_and_missing_namespace_is_default() {
        let name = |namespace: &'static [u8], qualifier: &'static [u8]| {
            table_name_from_proto(&pb::TableName {
                namespace: Bytes::from_static(namespace),
                qualifier: Bytes::from_static(qualifier),
            })
        };
        assert_eq!(name(b"", b"t").unwrap(), name(b"default", b"t").unwrap());
        assert!(
            name(b"ns", b"").is_err()
                && name(b"ns", b"\xff").is_err()
                && name(b"a b", b"t").is_err()
        );
        assert!(from_proto(&pb::TableSchema::default()).is_err());
        assert!(namespace_from_proto(&pb::NamespaceDescriptor::default()).is_err());
    }

    #[test]
    fn non_utf8_attribute_is_rejected_by_name() {
        let pair = pb::BytesBytesPair {
            first: Bytes::from_static(b"A"),
            second: Bytes::from_static(b"\xff"),
        };
        let proto = pb::ColumnFamilySchema {
            name: Bytes::from_static(b"f"),
            attributes: vec![pair],
            configuration: Vec::new(),
        };
        assert!(family_from_proto(&proto).unwrap_err().message().contains("\\xFF is not UTF-8"));
    }

    fn any_attributes() -> impl Strategy<Value = Attributes> {
        prop::collection::btree_map("[A-Za-z._]{1,12}", ".{0,12}", 0..4)
    }

    proptest! {
        #[test]
        fn descriptors_round_trip_through_messages(
            table_attributes in any_attributes(), settings in any_attributes(),
            families in prop::collection::vec(("[a-z]{1,5}", any_attributes(), any_attributes()), 0..4)
        ) {
            let mut table = TableDescriptor::new("ns:t".parse().unwrap());
            (table.attributes, table.configuration) = (table_attributes, settings.clone());
            for (name, attributes, configuration) in families {
                let mut family = FamilyDescriptor::new(name);
                (family.attributes, family.configuration) = (attributes, configuration);
                table.set_family(family);
            }
            prop_assert_eq!(from_proto(&to_proto(&table)).unwrap(), table);
            let namespace = ("ns_1".to_string(), settings);
            prop_assert_eq!(namespace_from_proto(&namespace_to_proto(&namespace.0, &namespace.1)).unwrap(), namespace);
        }
    }
}
