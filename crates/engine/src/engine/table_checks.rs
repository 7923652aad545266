//! Checks of a table before it is created or altered: name, families, attributes and split keys.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use halite_types::hbase_names;
use halite_types::key::to_string_binary;
use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, family_attribute as fam};
use halite_types::suggest::did_you_mean;
use halite_types::{
    Error, ErrorKind, FamilyDescriptor, MergeOperator, Result, TableDescriptor, TableName,
};
use prost::Message as _;

use super::namespaces::{check_exists, check_name as check_namespace_name};
use crate::catalog::messages::TableSchema;
use crate::catalog::{Catalog, layout, meta};
use crate::compaction::StorePolicy;
use crate::hfile::{CodecSettings, Compression};
use crate::options::Options;
use crate::region::{FlushPolicy, SplitPolicy};
use crate::store::CacheSettings;

/// Maximum bytes of a table's descriptor. The manifest contains all of them and is rewritten at
/// every change.
const MAX_DESCRIPTOR_BYTES: usize = 1 << 20;

/// Checks that a table with this name can be created.
pub(super) fn check_is_new(catalog: &Catalog, name: &TableName) -> Result<()> {
    if catalog.tables.contains_key(name) || *name == meta::table_name() {
        return Err(Error::new(
            ErrorKind::TableExists,
            format!("table {name} exists already; choose another name or drop it first"),
        ));
    }
    check_exists(&catalog.namespaces, name.namespace())?;
    check_name_bytes(name)
}

/// Tables that a server maintains for HBase clients, and their families. The server cannot store
/// its rows in other families.
const SERVED: [(&str, &[&[u8]]); 2] = [("namespace", &[b"info"]), ("quota", &[b"q", b"u"])];

/// Checks that a table has the families that a server needs in a table with this name.
pub(super) fn check_served_families(table: &TableDescriptor) -> Result<()> {
    let name = table.name();
    let served = SERVED
        .iter()
        .find(|(served, _)| name.namespace() == SYSTEM_NAMESPACE && name.qualifier() == *served);
    let Some((_, families)) = served
        .filter(|(_, families)| families.iter().any(|family| table.find_family(family).is_none()))
    else {
        return Ok(());
    };
    let families: Vec<_> = families.iter().map(|family| to_string_binary(family)).collect();
    Err(Error::invalid(format!(
        "table {name}: a server keeps its own rows in a table of this name, in {}; choose another \
         name, or leave it to the server to make it",
        families.join(" and ")
    )))
}

/// Checks the name of a table to create, whose namespace may not exist yet.
pub(super) fn check_name(name: &TableName) -> Result<()> {
    check_namespace_name(name.namespace())?;
    check_name_bytes(name)
}

/// Checks the length of a table name. A name that is too long for link names would work until a
/// snapshot of the table is cloned.
fn check_name_bytes(name: &TableName) -> Result<()> {
    let namespace =
        if name.namespace() == DEFAULT_NAMESPACE { 0 } else { name.namespace().len() + 1 };
    let (bytes, most) = (namespace + name.qualifier().len(), layout::MAX_TABLE_NAME_BYTES);
    if bytes <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "table {name}: its name, with its namespace, has {bytes} bytes; at most {most} are \
         allowed, so that the names of links to its files fit on the disk; choose a shorter one"
    )))
}

/// Checks that the manifest has room for the descriptor of a table.
pub(super) fn check_descriptor_bytes(descriptor: &TableDescriptor) -> Result<()> {
    let bytes = TableSchema::from(descriptor).encoded_len();
    if bytes <= MAX_DESCRIPTOR_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "table {}: its descriptor has {bytes} bytes; at most {MAX_DESCRIPTOR_BYTES} are allowed, \
         shorten its attributes",
        descriptor.name()
    )))
}

/// Checks that the directory names of the families fit and are unique. A directory is named after
/// its family. If the name is not UTF-8, each byte except ASCII letters and digits takes three
/// characters.
pub(super) fn check_family_directories(descriptor: &TableDescriptor) -> Result<()> {
    let mut taken = BTreeMap::new();
    for family in descriptor.families() {
        let directory = layout::family_directory_name(family.name());
        let (table, name) = (descriptor.name(), to_string_binary(family.name()));
        if directory.len() > layout::MAX_FILE_NAME_BYTES {
            return Err(Error::invalid(format!(
                "table {table}: the directory of family {name} would have a name over {} bytes; \
                 choose a shorter family name, or one that is text",
                layout::MAX_FILE_NAME_BYTES
            )));
        }
        if let Some(other) = taken.insert(directory, family.name()) {
            return Err(Error::invalid(format!(
                "table {table}: the families {} and {name} would have one directory; choose \
                 another name for one of them",
                to_string_binary(other)
            )));
        }
    }
    Ok(())
}

/// Rejects attributes that would appear to be in effect and are not: codecs that are not written,
/// encryption, coprocessors. An unchanged attribute is accepted, since the store may be from an
/// earlier version.
pub(super) fn check_promises(new: &TableDescriptor, old: Option<&TableDescriptor>) -> Result<()> {
    let refuse = |what: String| {
        Err(Error::new(ErrorKind::Unsupported, format!("table {}: {what}", new.name())))
    };
    for family in new.families() {
        let before = old.and_then(|table| table.find_family(family.name()));
        let name = to_string_binary(family.name());
        check_codecs(family, before)
            .and_then(|()| check_codec_settings(new, family, old.zip(before)))
            .and_then(|()| check_store_policy(new, family, old.zip(before)))
            .and_then(|()| check_cache_settings(new, family, old.zip(before)))
            .map_err(|error| error.at(format_args!("table {}: family {name}", new.name())))?;
        check_merge(family, before)
            .map_err(|error| error.at(format_args!("table {}: family {name}", new.name())))?;
        let encoding = |family: &FamilyDescriptor| {
            family.attributes.get(fam::INDEX_BLOCK_ENCODING).cloned().unwrap_or_default()
        };
        let asked = encoding(family);
        if asked.eq_ignore_ascii_case("PREFIX_TREE")
            && before.is_none_or(|before| encoding(before) != asked)
        {
            return refuse(format!(
                "family {name}: INDEX_BLOCK_ENCODING PREFIX_TREE is not built in: HBase declares \
                 it without an encoder, and writes indexes without entries; choose NONE"
            ));
        }
        let cipher = family.attributes.get("ENCRYPTION").filter(|cipher| !cipher.is_empty());
        if cipher.is_some()
            && cipher != before.and_then(|before| before.attributes.get("ENCRYPTION"))
        {
            return refuse(format!(
                "family {name} asks for ENCRYPTION, and files are not encrypted; leave it out, and \
                 put the store on an encrypted disk"
            ));
        }
    }
    check_policies(new, old)
        .and_then(|()| check_setting_names(new, old))
        .map_err(|error| error.at(format_args!("table {}", new.name())))?;
    let is_new = |(name, class): &(&String, &String)| {
        old.is_none_or(|table| table.attributes.get(*name) != Some(*class))
    };
    match new
        .attributes
        .iter()
        .filter(is_new)
        .find(|(name, class)| is_foreign_coprocessor(name, class))
    {
        Some((name, class)) => refuse(format!(
            "{name} names {class:?}, and no class of Java's can be loaded; leave it out"
        )),
        None => Ok(()),
    }
}

/// Checks the policies of a table. Those of `old`, the table until now, may be invalid too.
fn check_policies(new: &TableDescriptor, old: Option<&TableDescriptor>) -> Result<()> {
    if old.is_none_or(|old| FlushPolicy::check(old).is_ok()) {
        FlushPolicy::check(new)?;
    }
    match old.map(SplitPolicy::check) {
        Some(Err(_)) => Ok(()),
        Some(Ok(())) | None => SplitPolicy::check(new),
    }
}

/// Checks that no new setting misspells one that would have an effect. HBase accepts any name.
fn check_setting_names(new: &TableDescriptor, old: Option<&TableDescriptor>) -> Result<()> {
    let names = |table: &TableDescriptor| -> BTreeSet<String> {
        let of_families =
            table.families().flat_map(|family| [&family.attributes, &family.configuration]);
        let of_table = [&table.attributes, &table.configuration];
        of_table
            .into_iter()
            .chain(of_families)
            .flat_map(|settings| settings.keys())
            .filter(|name| name.contains('.'))
            .cloned()
            .collect()
    };
    let known = old.map(names).unwrap_or_default();
    for name in names(new).difference(&known) {
        if let Some(near) = hbase_names::nearest_of_tables(name) {
            return Err(Error::invalid(format!(
                "there is no setting {name}{}; it would have no effect",
                did_you_mean(Some(near))
            )));
        }
    }
    Ok(())
}

/// Checks the codecs of a family. `before` is the family until now.
fn check_codecs(family: &FamilyDescriptor, before: Option<&FamilyDescriptor>) -> Result<()> {
    for attribute in fam::CODECS {
        let codec = family.attributes.get(attribute);
        if codec == before.and_then(|before| before.attributes.get(attribute)) {
            continue;
        }
        if let Some(codec) = codec.and_then(|name| Compression::from_name(name)) {
            codec.check_written(attribute)?;
        }
    }
    Ok(())
}

/// Checks that a family's cells are merged as until now: those that it has are contributions to one
/// operator, or to none.
fn check_merge(family: &FamilyDescriptor, before: Option<&FamilyDescriptor>) -> Result<()> {
    let Some(before) = before else { return Ok(()) };
    let (old, new) = (before.merge_operator(), family.merge_operator());
    if old == new {
        return Ok(());
    }
    let name = |operator: Option<MergeOperator>| operator.map_or("none", MergeOperator::name);
    Err(Error::invalid(format!(
        "MERGE is {} and cannot become {}: its cells have another meaning; add another family, or \
         drop this one first",
        name(old),
        name(new)
    )))
}

/// Checks the settings of the codecs of a family. Those of `before` may be invalid too.
fn check_codec_settings(
    table: &TableDescriptor,
    family: &FamilyDescriptor,
    before: Option<(&TableDescriptor, &FamilyDescriptor)>,
) -> Result<()> {
    match before.map(|(table, family)| CodecSettings::new(table, family)) {
        Some(Err(_)) => Ok(()),
        Some(Ok(_)) | None => CodecSettings::new(table, family).map(drop),
    }
}

/// Checks the compaction policy of a family. That of `before` may be invalid too.
fn check_store_policy(
    table: &TableDescriptor,
    family: &FamilyDescriptor,
    before: Option<(&TableDescriptor, &FamilyDescriptor)>,
) -> Result<()> {
    match before.map(|(table, family)| StorePolicy::new(table, family)) {
        Some(Err(_)) => Ok(()),
        Some(Ok(_)) | None => StorePolicy::new(table, family).map(drop),
    }
}

/// Checks the cache settings of a family. Those of `before` may be invalid too.
fn check_cache_settings(
    table: &TableDescriptor,
    family: &FamilyDescriptor,
    before: Option<(&TableDescriptor, &FamilyDescriptor)>,
) -> Result<()> {
    match before.map(|(table, family)| CacheSettings::check(table, family)) {
        Some(Err(_)) => Ok(()),
        Some(Ok(())) | None => CacheSettings::check(table, family),
    }
}

/// Returns `true` if an attribute names a coprocessor that is not built into the server:
/// `path|class|priority|arguments`.
fn is_foreign_coprocessor(attribute: &str, value: &str) -> bool {
    const BUILT_IN: [&str; 2] = ["AggregateImplementation", "MultiRowMutationEndpoint"];
    let class = value.split('|').nth(1).unwrap_or(value).trim();
    let name = class.strip_prefix("org.apache.hadoop.hbase.coprocessor.");
    attribute.to_ascii_lowercase().starts_with("coprocessor$")
        && name.is_none_or(|name| !BUILT_IN.contains(&name))
}

/// Checks that a table may be created with this number of regions.
pub(super) fn check_region_count(options: &Options, name: &TableName, count: usize) -> Result<()> {
    let most = options.max_regions_per_table;
    if most > 0 && count > most {
        return Err(Error::invalid(format!(
            "table {name}: {count} regions at once are over the limit of {most}; give fewer split \
             keys, or raise max_regions_per_table (max-regions-per-table of a server)"
        )));
    }
    Ok(())
}

/// Returns the start keys of the regions: the empty key and the split keys, in order.
pub(super) fn region_starts(table: &TableName, splits: Vec<Bytes>) -> Result<Vec<Bytes>> {
    let mut starts = BTreeSet::from([Bytes::new()]);
    for split in splits {
        if split.is_empty() {
            return Err(Error::invalid(format!(
                "table {table}: a split key is empty; the first region begins there anyway, leave \
                 it out"
            )));
        }
        layout::check_region_start(table, &split)?;
        if !starts.insert(split.clone()) {
            return Err(Error::invalid(format!(
                "table {table}: split key {} is given twice",
                to_string_binary(&split)
            )));
        }
    }
    Ok(starts.into_iter().collect())
}
