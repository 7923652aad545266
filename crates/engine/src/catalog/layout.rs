//! Directory layout: HBase's layout below the root, and Halite's own files next to it.
//! `docs/formats/directory.md` contains a diagram.
//!
//! ```text
//! hbase.id  hbase.version                                   in HBase's format
//! data/<namespace>/<table>/.tabledesc/.tableinfo.<sequence>.<length>
//! data/<namespace>/<table>/<region>/.regioninfo
//! data/<namespace>/<table>/<region>/<family>/<store file>
//! data/<namespace>/<table>/<region>/.tmp/<store file>       being written
//! archive/data/<namespace>/<table>/<region>/<family>/<store file>
//!                                                           required by links and snapshots only
//! staging/<token>                                           to be bulk-loaded
//! halite/MANIFEST                                           list of the live files
//! halite/LOCK
//! halite/wal/<number>.wal  halite/wal/<number>.nonces  halite/wal/<number>.<offset>.torn
//! halite/oplog/<number>                                     sampled operations; never needed
//! ```

use halite_types::cell::MAX_ROW_BYTES;
use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE};
use halite_types::{
    Bytes, Error, FamilyDescriptor, RegionInfo, Result, TableDescriptor, TableName,
};
use md5::{Digest, Md5};

use super::LinkTarget;
use crate::env::Env;

/// Store id, in HBase's format.
pub(crate) const ID: &str = "hbase.id";
/// Layout version, in HBase's format.
pub(crate) const VERSION: &str = "hbase.version";
/// Manifest.
pub(crate) const MANIFEST: &str = "halite/MANIFEST";
/// Next manifest while it is being written.
pub(crate) const MANIFEST_TEMPORARY: &str = "halite/MANIFEST.tmp";
/// Lock file.
pub(crate) const LOCK: &str = "halite/LOCK";
/// Copies of the newest manifest generations, separate from the manifest.
pub(crate) const MANIFESTS: &str = "manifests";
/// Halite's own directory.
pub(crate) const HALITE: &str = "halite";
/// Directory of the log of sampled operations.
#[cfg(feature = "heat")]
pub(crate) const OPERATION_LOG: &str = "halite/oplog";
/// Directory of the tables.
pub(crate) const DATA: &str = "data";
/// Directory for files to be bulk-loaded, if their owner has no better location.
pub(crate) const STAGING: &str = "staging";
/// Directory of store files that only links and snapshots require; its structure is that of the
/// root.
pub(crate) const ARCHIVE: &str = "archive";

/// Qualifier of [`meta_overlay_table`] on disk, which still has its original name.
const META_OVERLAY: &str = "meta_additions";

/// Qualifier of the hidden table of the history of the tables' load.
const HEAT: &str = "halite_heat";

/// Returns the hidden table of rows that clients have written to `hbase:meta`.
pub(crate) fn meta_overlay_table() -> TableName {
    TableName::new(SYSTEM_NAMESPACE, META_OVERLAY).expect("a legal name")
}

/// Returns the hidden table of the history of the tables' load.
#[cfg(feature = "heat")]
pub(crate) fn heat_table() -> TableName {
    TableName::new(SYSTEM_NAMESPACE, HEAT).expect("a legal name")
}

/// Returns `true` if a table is used by the engine itself and hidden.
pub(crate) fn is_hidden(name: &TableName) -> bool {
    name.namespace() == SYSTEM_NAMESPACE && [META_OVERLAY, HEAT].contains(&name.qualifier())
}

/// Returns a table's directory.
pub(crate) fn table_directory(table: &TableName) -> String {
    format!("{DATA}/{}/{}", table.namespace(), table.qualifier())
}

/// Returns a region's directory.
pub(crate) fn region_directory(table: &TableName, encoded_name: &str) -> String {
    format!("{}/{encoded_name}", table_directory(table))
}

/// Returns the directory in which a region's files are created.
pub(crate) fn temporary_directory(table: &TableName, encoded_name: &str) -> String {
    format!("{}/.tmp", region_directory(table, encoded_name))
}

/// Returns a store's directory. Family names are restricted to valid directory names. If a name is
/// not UTF-8, its bytes except ASCII letters and digits are written as `%NN`.
pub(crate) fn family_directory(table: &TableName, encoded_name: &str, family: &[u8]) -> String {
    format!("{}/{}", region_directory(table, encoded_name), family_directory_name(family))
}

/// Returns the directories of a region that its table requires, without the region's own.
pub(crate) fn required_directories(
    info: &RegionInfo,
    descriptor: &TableDescriptor,
) -> impl Iterator<Item = String> {
    let families = descriptor.families().map(FamilyDescriptor::name);
    let families = families.map(|family| family_directory(&info.table, &info.encoded_name, family));
    std::iter::once(temporary_directory(&info.table, &info.encoded_name)).chain(families)
}

/// Returns the name of a family's directory.
pub(crate) fn family_directory_name(family: &[u8]) -> String {
    match std::str::from_utf8(family) {
        Ok(text) => text.to_owned(),
        Err(_) => family
            .iter()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(*byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect(),
    }
}

/// Returns the name of a link to a file, as in HBase's `HFileLink`:
/// `[namespace=]table=region-file`.
pub(crate) fn link_name(table: &TableName, encoded_name: &str, file: &str) -> String {
    let namespace = table.namespace();
    let namespace =
        if namespace == DEFAULT_NAMESPACE { String::new() } else { format!("{namespace}=") };
    format!("{namespace}{}={encoded_name}-{file}", table.qualifier())
}

/// Returns `true` if a file with this name is a link, or a reference made through a link's name.
pub(crate) fn is_link_name(name: &str) -> bool {
    // Names of namespaces, tables and store files do not contain it.
    name.contains('=')
}

/// Maximum bytes of a file name on common file systems.
pub(crate) const MAX_FILE_NAME_BYTES: usize = 255;
/// Bytes of a region's encoded name and of a store file's name.
const NAME_BYTES: usize = 32;
/// Digits of the largest sequence id.
const SEQUENCE_DIGITS: usize = 20;
/// Bytes after the table in the longest name that contains it: a reference through a link to a
/// bulk-loaded file, `table=region-file_SeqId_1_.region`.
const MAX_TABLE_SUFFIX_BYTES: usize =
    (1 + NAME_BYTES) + (1 + NAME_BYTES + LOADED.len() + SEQUENCE_DIGITS + 1) + (1 + NAME_BYTES);
/// Maximum bytes of a table's name, including its namespace and a separator.
pub(crate) const MAX_TABLE_NAME_BYTES: usize = MAX_FILE_NAME_BYTES - MAX_TABLE_SUFFIX_BYTES;
/// Maximum bytes of a namespace's name, which leaves room for a table name of one letter.
pub(crate) const MAX_NAMESPACE_NAME_BYTES: usize = MAX_TABLE_NAME_BYTES - 2;

/// Returns the name of a bulk-loaded file, as in HBase, which reads the sequence id of its cells
/// from the name.
pub(crate) fn loaded_name(name: &str, sequence: u64) -> String {
    format!("{name}{LOADED}{sequence}_")
}

const LOADED: &str = "_SeqId_";

/// Returns `true` if a file with this name was bulk-loaded: it may not have been written by this
/// store.
pub(crate) fn is_loaded_name(name: &str) -> bool {
    let number = name
        .split_once(LOADED)
        .and_then(|(name, number)| number.strip_suffix('_').filter(|_| is_new_name(name)));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns the name of a file without the sequence id that a bulk load or an import added.
pub(crate) fn plain_name(name: &str) -> &str {
    name.split_once(LOADED).map_or(name, |(name, _)| name)
}

/// Returns the sequence id in the name of a bulk-loaded file.
pub(crate) fn loaded_sequence_of(name: &str) -> Option<u64> {
    name.split_once(LOADED).filter(|_| is_loaded_name(name))?.1.strip_suffix('_')?.parse().ok()
}

/// Returns the target file of a link or a reference with this name in a region of `table`.
pub(crate) fn target_of(name: &str, table: &TableName) -> Option<LinkTarget> {
    if !is_link_or_reference(name) {
        return None;
    }
    let link = |name: &str| {
        let (of, at) = name.rsplit_once('=')?;
        let (region, file) = at.split_once('-')?;
        let (namespace, of) = of.split_once('=').unwrap_or((DEFAULT_NAMESPACE, of));
        Some(LinkTarget {
            table: TableName::new(namespace, of).ok()?,
            region: region.to_owned(),
            name: file.to_owned(),
            whole: true,
        })
    };
    // A table's name may also contain dots; the part after the last one in the name of a reference
    // is a region.
    match name.rsplit_once('.').filter(|(_, region)| is_new_name(region)) {
        Some((file, region)) if is_link_name(file) => link(file)
            .filter(|target| target.region == region)
            .map(|target| LinkTarget { whole: false, ..target }),
        Some((file, region)) => Some(LinkTarget {
            table: table.clone(),
            region: region.to_owned(),
            name: file.to_owned(),
            whole: false,
        }),
        None => link(name),
    }
}

fn is_new_name(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns `true` if a file with this name is a link or a reference: it contains no cells, and only
/// a store creates it.
pub(crate) fn is_link_or_reference(name: &str) -> bool {
    let is_file = |name: &str| is_new_name(name) || is_loaded_name(name);
    let is_link = |name: &str| {
        name.rsplit_once('=')
            .and_then(|(_, at)| at.split_once('-'))
            .is_some_and(|(region, file)| is_new_name(region) && is_file(file))
    };
    // A table's name may also contain dots, so the last one counts.
    let is_reference = |name: &str| {
        name.rsplit_once('.')
            .is_some_and(|(file, region)| (is_file(file) || is_link(file)) && is_new_name(region))
    };
    is_link(name) || is_reference(name)
}

/// Returns lower-case hexadecimal digits, two per byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string");
        out
    })
}

/// Returns a name for a new store file, as in HBase: a random UUID without dashes.
pub(crate) fn new_file_name(env: &Env) -> String {
    hex(&random_uuid(env))
}

/// Returns a random (version 4) UUID.
pub(crate) fn random_uuid(env: &Env) -> [u8; 16] {
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&env.rng.next_u64().to_be_bytes());
    uuid[8..].copy_from_slice(&env.rng.next_u64().to_be_bytes());
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

/// Returns a UUID in its usual text form.
pub(crate) fn uuid_text(uuid: &[u8; 16]) -> String {
    let hex = hex(uuid);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Maximum bytes of a region's name excluding its table and first row: commas, a time, a replica
/// number, the encoded name.
const REGION_NAME_BYTES: usize = 64;

/// Returns the maximum bytes of a region's first row in the table: the region's name is a row of
/// `hbase:meta`.
pub(crate) fn max_region_start_bytes(table: &TableName) -> usize {
    MAX_ROW_BYTES.saturating_sub(REGION_NAME_BYTES + table.to_string().len())
}

/// Checks that a region of the table may start at a row.
///
/// # Errors
/// `InvalidRequest` if the row is empty, or longer than [`max_region_start_bytes`].
pub(crate) fn check_region_start(table: &TableName, start: &[u8]) -> Result<()> {
    halite_types::op::check_row(start)?;
    let most = max_region_start_bytes(table);
    if start.len() <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "table {table}: a split key has {} bytes; give at most {most}, since the region's name is \
         a row, too",
        start.len()
    )))
}

/// Returns a new region with its encoded name.
pub(crate) fn new_region(
    table: &TableName,
    start: Bytes,
    end: Bytes,
    region_id: u64,
) -> RegionInfo {
    let mut region =
        RegionInfo { table: table.clone(), start, end, region_id, encoded_name: String::new() };
    region.encoded_name = hex(&Md5::digest(region.name_prefix()));
    region
}

/// Returns the encoded name of a replica's primary region, from the replica's full name:
/// `table,start,id_0001.encoded.`
pub(crate) fn primary_of(full_name: &[u8]) -> Option<String> {
    let encoded = RegionInfo::encoded_name_in(full_name)?;
    let prefix = full_name.get(..full_name.len().checked_sub(encoded.len() + 2)?)?;
    let (prefix, number) = prefix.split_last_chunk::<4>()?;
    let is_number = number.iter().all(u8::is_ascii_hexdigit);
    let prefix = prefix
        .strip_suffix(b"_")
        .filter(|prefix| is_number && prefix.last().is_some_and(u8::is_ascii_digit))?;
    Some(hex(&Md5::digest(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replica_name_maps_to_its_primary_region() {
        let region =
            new_region(&"t1".parse().unwrap(), Bytes::from_static(b"a_0002"), Bytes::new(), 17);
        let named =
            |number: &str| format!("t1,a_0002,17{number}.33b36c58f0da118f6c22fc0c24d60bf4.");
        assert_eq!(primary_of(named("_0001").as_bytes()), Some(region.encoded_name.clone()));
        for name in [
            &named("")[..],
            &named("_001"),
            &named("_000G"),
            "t1,a,_0001.33b36c58f0da118f6c22fc0c24d60bf4.",
            "odd",
        ] {
            assert_eq!(primary_of(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn links_and_references_are_distinguished_from_files() {
        let hex = "0123456789abcdef0123456789abcdef";
        let plain = link_name(&"t.x".parse().unwrap(), hex, hex);
        let spaced = link_name(&"ns:t-1".parse().unwrap(), hex, hex);
        assert_eq!(
            (plain.as_str(), spaced.as_str()),
            (&*format!("t.x={hex}-{hex}"), &*format!("ns=t-1={hex}-{hex}"))
        );
        for name in [plain.clone(), spaced, format!("{hex}.{hex}"), format!("{plain}.{hex}")] {
            assert!(is_link_or_reference(&name), "{name}");
        }
        let loaded = loaded_name(hex, 12);
        assert!(
            loaded.ends_with("_SeqId_12_")
                && is_loaded_name(&loaded)
                && !is_link_or_reference(&loaded)
        );
        assert!(
            is_link_or_reference(&format!("{loaded}.{hex}"))
                && is_link_or_reference(&link_name(&"t".parse().unwrap(), hex, &loaded))
        );
        assert!(
            !is_loaded_name(hex)
                && !is_loaded_name("x_SeqId_1_")
                && !is_loaded_name(&format!("{hex}_SeqId__"))
        );
        for name in [hex, "t=short-name", "a.b", "data.csv", ""] {
            assert!(!is_link_or_reference(name), "{name}");
            assert_eq!(target_of(name, &"t".parse().unwrap()), None);
        }
        let target = |table: &str, name: &str, whole| {
            Some(LinkTarget {
                table: table.parse().unwrap(),
                region: hex.into(),
                name: name.into(),
                whole,
            })
        };
        let own = "own".parse().unwrap();
        assert_eq!(target_of(&plain, &own), target("t.x", hex, true));
        assert_eq!(target_of(&format!("{plain}.{hex}"), &own), target("t.x", hex, false));
        assert_eq!(target_of(&format!("{hex}.{hex}"), &own), target("own", hex, false));
        assert_eq!(
            target_of(&link_name(&"ns:t".parse().unwrap(), hex, &loaded), &own),
            target("ns:t", &loaded, true)
        );
        assert_eq!((loaded_sequence_of(&loaded), loaded_sequence_of(hex)), (Some(12), None));
    }

    #[test]
    fn region_names_equal_hbases() {
        // A region of the sample root directory: HBase created the name of its directory.
        let table = "t1".parse().unwrap();
        let region = new_region(&table, Bytes::from_static(b"k"), Bytes::new(), 1_700_000_000_000);
        assert_eq!(
            region.full_name(),
            [b"t1,k,1700000000000.".as_slice(), region.encoded_name.as_bytes(), b"."].concat()
        );
        assert_eq!(region.encoded_name, hex(&Md5::digest(b"t1,k,1700000000000")));
        assert_eq!(region.encoded_name.len(), 32);
    }
}
