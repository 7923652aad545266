//! Encoding of the catalog in the manifest.
//!
//! ```text
//! "HALMAN\r\n" | format version u32 | length of the body u64 | body: protobuf of Catalog
//!              | CRC32C of all before u32
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{Error, ErrorKind, RegionInfo, Result, SnapshotDescriptor, SnapshotType};
use prost::Message;

use super::layout::new_region;
use super::messages::TableSchema;
use super::{
    Catalog, FamilyFiles, FileEntry, LinkTarget, NamespaceEntry, RegionEntry, SnapshotEntry,
    TableEntry,
};

const MAGIC: &[u8; 8] = b"HALMAN\r\n";
/// Format version. Version 2 added snapshots and links, 3 bulk-loaded files, 4 properties, 5
/// generations, 6 the flushed sequence ids of families.
const VERSION: u32 = 6;
const MIN_VERSION: u32 = 1;
const HEADER_BYTES: usize = 8 + 4 + 8;

/// Returns the encoded catalog.
pub(crate) fn encode(catalog: &Catalog) -> Vec<u8> {
    let body = CatalogMessage::from(catalog).encode_to_vec();
    let mut out = Vec::with_capacity(HEADER_BYTES + body.len() + 4);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&(body.len() as u64).to_be_bytes());
    out.extend_from_slice(&body);
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_be_bytes());
    assert_eq!(out.len(), HEADER_BYTES + body.len() + 4, "a manifest has the length it states");
    out
}

/// Returns the decoded catalog.
///
/// # Errors
/// `Corrupt`, `NewerFormat`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Catalog> {
    let damaged = |why: String| {
        Error::corrupt(format!(
            "{why}; nothing has been changed; restore it from a copy, or run \"halite repair\""
        ))
    };
    let Some((checked, crc)) = bytes.split_last_chunk::<4>() else {
        return Err(damaged("it is empty or cut short".into()));
    };
    let (computed, stored) = (crc32c::crc32c(checked), u32::from_be_bytes(*crc));
    if computed != stored {
        return Err(damaged(format!(
            "it is damaged or cut short: CRC32C is {computed:#010x}, the file says {stored:#010x}"
        )));
    }
    let head = checked
        .get(..HEADER_BYTES)
        .filter(|head| head.starts_with(MAGIC))
        .ok_or_else(|| damaged("it is not a manifest".into()))?;
    let version = u32::from_be_bytes(head[8..12].try_into().expect("four bytes"));
    if !(MIN_VERSION..=VERSION).contains(&version) {
        let text = format!(
            "it has format version {version}; this program reads versions {MIN_VERSION} to \
             {VERSION}; open the store with a newer one"
        );
        return Err(Error::new(ErrorKind::NewerFormat, text));
    }
    let message = CatalogMessage::decode(&checked[HEADER_BYTES..])
        .map_err(|error| damaged(format!("it cannot be decoded: {error}")))?;
    Catalog::try_from(message)
}

#[derive(Clone, PartialEq, Message)]
struct CatalogMessage {
    #[prost(bytes = "vec", tag = "1")]
    store_id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    next_region: u64,
    #[prost(message, repeated, tag = "3")]
    namespaces: Vec<NamespaceMessage>,
    #[prost(message, repeated, tag = "4")]
    tables: Vec<TableMessage>,
    #[prost(message, repeated, tag = "5")]
    snapshots: Vec<SnapshotMessage>,
    #[prost(btree_map = "string, bytes", tag = "6")]
    properties: BTreeMap<String, Vec<u8>>,
    #[prost(uint64, tag = "7")]
    generation: u64,
    #[prost(uint64, tag = "8")]
    checkpoint: u64,
}

#[derive(Clone, PartialEq, Message)]
struct NamespaceMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(btree_map = "string, string", tag = "2")]
    settings: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct TableMessage {
    #[prost(message, optional, tag = "1")]
    schema: Option<TableSchema>,
    #[prost(bool, tag = "2")]
    enabled: bool,
    #[prost(uint32, tag = "3")]
    version: u32,
    #[prost(message, repeated, tag = "4")]
    regions: Vec<RegionMessage>,
    #[prost(string, tag = "5")]
    disabled_for: String,
}

#[derive(Clone, PartialEq, Message)]
struct RegionMessage {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(uint64, tag = "2")]
    region_id: u64,
    #[prost(bytes = "vec", tag = "3")]
    start: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    end: Vec<u8>,
    #[prost(uint64, tag = "5")]
    flushed_sequence: u64,
    #[prost(message, repeated, tag = "6")]
    families: Vec<FamilyMessage>,
    #[prost(message, repeated, tag = "7")]
    parents: Vec<ParentMessage>,
}

/// Removed region of the same table.
#[derive(Clone, PartialEq, Message)]
struct ParentMessage {
    #[prost(uint64, tag = "1")]
    region_id: u64,
    #[prost(bytes = "vec", tag = "2")]
    start: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    end: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct FamilyMessage {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    files: Vec<FileMessage>,
    /// Flushed sequence id of the family if it is above the region's.
    #[prost(uint64, optional, tag = "3")]
    flushed_sequence: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct FileMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, optional, tag = "2")]
    target_region: Option<String>,
    #[prost(string, optional, tag = "3")]
    target_name: Option<String>,
    /// Table of the target if it is not the region's own.
    #[prost(string, optional, tag = "4")]
    target_table: Option<String>,
    /// True if the target is linked as a whole.
    #[prost(bool, tag = "5")]
    whole: bool,
    /// Sequence id of a bulk-loaded file.
    #[prost(uint64, optional, tag = "6")]
    loaded_sequence: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct SnapshotMessage {
    #[prost(string, tag = "1")]
    name: String,
    /// Table at the time of the snapshot.
    #[prost(message, optional, tag = "2")]
    table: Option<TableMessage>,
    /// HBase's numbers: 0 for a disabled table, 1 for flushed, 2 for not flushed.
    #[prost(uint32, tag = "3")]
    kind: u32,
    #[prost(int64, tag = "4")]
    created_ms: i64,
    #[prost(uint64, tag = "5")]
    ttl_seconds: u64,
    #[prost(string, tag = "6")]
    owner: String,
    #[prost(uint64, tag = "7")]
    max_file_bytes: u64,
}

impl From<&Catalog> for CatalogMessage {
    fn from(catalog: &Catalog) -> Self {
        let namespace = |(name, entry): (&String, &NamespaceEntry)| NamespaceMessage {
            name: name.clone(),
            settings: entry.settings.clone(),
        };
        Self {
            store_id: catalog.store_id.to_vec(),
            generation: catalog.generation,
            checkpoint: catalog.checkpoint,
            next_region: catalog.next_region,
            namespaces: catalog.namespaces.iter().map(namespace).collect(),
            tables: catalog.tables.values().map(TableMessage::from).collect(),
            snapshots: catalog
                .snapshots
                .values()
                .map(|snapshot| SnapshotMessage::from(&**snapshot))
                .collect(),
            properties: catalog
                .properties
                .iter()
                .map(|(name, value)| (name.clone(), value.to_vec()))
                .collect(),
        }
    }
}

impl From<&TableEntry> for TableMessage {
    fn from(table: &TableEntry) -> Self {
        Self {
            schema: Some((&*table.descriptor).into()),
            enabled: table.enabled,
            disabled_for: table.disabled_for.clone(),
            version: table.version,
            regions: table.regions.iter().map(RegionMessage::from).collect(),
        }
    }
}

impl From<&RegionEntry> for RegionMessage {
    fn from(region: &RegionEntry) -> Self {
        let file = |file: &FileEntry| FileMessage {
            name: file.name.clone(),
            target_region: file.target.as_ref().map(|target| target.region.clone()),
            target_name: file.target.as_ref().map(|target| target.name.clone()),
            target_table: file
                .target
                .as_ref()
                .filter(|target| target.table != region.info.table)
                .map(|target| target.table.to_string()),
            whole: file.target.as_ref().is_some_and(|target| target.whole),
            loaded_sequence: file.loaded_sequence,
        };
        let parent = |parent: &Arc<RegionInfo>| ParentMessage {
            region_id: parent.region_id,
            start: parent.start.to_vec(),
            end: parent.end.to_vec(),
        };
        let family = |(name, files): (&Bytes, &FamilyFiles)| FamilyMessage {
            name: name.to_vec(),
            files: files.iter().map(file).collect(),
            flushed_sequence: region.family_flushed.get(name).copied(),
        };
        debug_assert!(
            region.family_flushed.keys().all(|family| region.families.contains_key(family)),
            "a family with a flushed sequence id is listed, even without files"
        );
        Self {
            number: region.number,
            region_id: region.info.region_id,
            start: region.info.start.to_vec(),
            end: region.info.end.to_vec(),
            flushed_sequence: region.flushed_sequence,
            families: region.families.iter().map(family).collect(),
            parents: region.parents.iter().map(parent).collect(),
        }
    }
}

impl TryFrom<CatalogMessage> for Catalog {
    type Error = Error;

    fn try_from(message: CatalogMessage) -> Result<Self> {
        let store_id = message
            .store_id
            .try_into()
            .map_err(|_| Error::corrupt("the store id is not 16 bytes"))?;
        let namespaces = message
            .namespaces
            .into_iter()
            .map(|n| (n.name, NamespaceEntry { settings: n.settings }))
            .collect();
        let mut tables = BTreeMap::new();
        for table in message.tables {
            let entry = TableEntry::try_from(table)?;
            tables.insert(entry.descriptor.name().clone(), entry);
        }
        let mut snapshots = BTreeMap::new();
        for snapshot in message.snapshots {
            let entry = SnapshotEntry::try_from(snapshot)?;
            snapshots.insert(entry.descriptor.name.clone(), Arc::new(entry));
        }
        let settings = message
            .properties
            .into_iter()
            .map(|(name, value)| (name, Bytes::from(value)))
            .collect();
        let CatalogMessage { generation, checkpoint, next_region, .. } = message;
        Ok(Self {
            store_id,
            generation,
            checkpoint,
            next_region,
            namespaces,
            tables,
            snapshots,
            properties: settings,
        })
    }
}

impl TryFrom<TableMessage> for TableEntry {
    type Error = Error;

    fn try_from(message: TableMessage) -> Result<Self> {
        let schema = message.schema.ok_or_else(|| Error::corrupt("a table has no schema"))?;
        let descriptor = Arc::new(schema.decode_descriptor()?);
        let region = |region: RegionMessage| {
            let info = new_region(
                descriptor.name(),
                region.start.into(),
                region.end.into(),
                region.region_id,
            );
            let (mut families, mut family_flushed) = (BTreeMap::new(), BTreeMap::new());
            for family in region.families {
                let name = Bytes::from(family.name);
                if let Some(flushed) =
                    family.flushed_sequence.filter(|flushed| *flushed > region.flushed_sequence)
                {
                    family_flushed.insert(name.clone(), flushed);
                }
                let files = family
                    .files
                    .into_iter()
                    .map(|file| decode_file(file, &info))
                    .collect::<Result<FamilyFiles>>()?;
                families.insert(name, files);
            }
            let parent = |parent: ParentMessage| {
                new_region(
                    descriptor.name(),
                    parent.start.into(),
                    parent.end.into(),
                    parent.region_id,
                )
            };
            let parents =
                region.parents.into_iter().map(|message| Arc::new(parent(message))).collect();
            Ok(RegionEntry {
                info: Arc::new(info),
                number: region.number,
                flushed_sequence: region.flushed_sequence,
                family_flushed,
                families,
                parents,
            })
        };
        let regions = message.regions.into_iter().map(region).collect::<Result<Vec<_>>>()?;
        let TableMessage { enabled, disabled_for, version, .. } = message;
        Ok(Self { descriptor, enabled, disabled_for, version, regions })
    }
}

fn decode_file(message: FileMessage, region: &RegionInfo) -> Result<FileEntry> {
    let table = match message.target_table {
        None => region.table.clone(),
        Some(name) => name.parse().map_err(|error| {
            Error::corrupt(format!(
                "store file {} refers to a file of another table: {error}",
                message.name
            ))
        })?,
    };
    let target = message.target_region.zip(message.target_name).map(|(region, name)| LinkTarget {
        table,
        region,
        name,
        whole: message.whole,
    });
    Ok(FileEntry { name: message.name, target, loaded_sequence: message.loaded_sequence })
}

impl From<&SnapshotEntry> for SnapshotMessage {
    fn from(snapshot: &SnapshotEntry) -> Self {
        let SnapshotDescriptor {
            name,
            table: _,
            created_ms,
            kind,
            ttl_seconds,
            max_file_bytes,
            owner,
        } = snapshot.descriptor.clone();
        let kind = match kind {
            SnapshotType::Disabled => 0,
            SnapshotType::Flush => 1,
            SnapshotType::SkipFlush => 2,
        };
        Self {
            name,
            table: Some((&snapshot.table).into()),
            kind,
            created_ms,
            ttl_seconds,
            owner,
            max_file_bytes,
        }
    }
}

impl TryFrom<SnapshotMessage> for SnapshotEntry {
    type Error = Error;

    fn try_from(message: SnapshotMessage) -> Result<Self> {
        let table = message
            .table
            .ok_or_else(|| Error::corrupt(format!("snapshot {} has no table", message.name)))?;
        let table = TableEntry::try_from(table)?;
        let kind = match message.kind {
            0 => SnapshotType::Disabled,
            1 => SnapshotType::Flush,
            2 => SnapshotType::SkipFlush,
            other => {
                return Err(Error::corrupt(format!(
                    "snapshot {} is of an unknown kind {other}",
                    message.name
                )));
            }
        };
        let SnapshotMessage { name, created_ms, ttl_seconds, max_file_bytes, owner, .. } = message;
        let of = table.descriptor.name().clone();
        Ok(Self {
            descriptor: SnapshotDescriptor {
                name,
                table: of,
                created_ms,
                kind,
                ttl_seconds,
                max_file_bytes,
                owner,
            },
            table,
        })
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, TableDescriptor, TableName};

    use super::*;

    fn catalog() -> Catalog {
        let name: TableName = "ns:t".parse().unwrap();
        let target = |table: &str, region: &str, name: &str, whole| LinkTarget {
            table: table.parse().unwrap(),
            region: region.into(),
            name: name.into(),
            whole,
        };
        let files = vec![
            FileEntry::local("00ff".into()),
            FileEntry::local("00aa".into())
                .linked("00aa.bb".into(), target("ns:t", "bb", "00aa", false)),
            FileEntry { loaded_sequence: Some(7), ..FileEntry::local("00ee".into()) }
                .linked("u=cc-00ee".into(), target("u", "cc", "00ee", true)),
        ];
        let region = RegionEntry {
            info: Arc::new(new_region(&name, Bytes::from_static(b"a"), Bytes::new(), 17)),
            number: 3,
            flushed_sequence: 99,
            family_flushed: BTreeMap::from([
                (Bytes::from_static(b"f"), 120),
                (Bytes::from_static(b"without files"), 130),
            ]),
            families: BTreeMap::from([
                (Bytes::from_static(b"f"), files),
                (Bytes::from_static(b"without files"), Vec::new()),
            ]),
            parents: [("a", "b"), ("b", "")]
                .map(|(start, end)| Arc::new(new_region(&name, start.into(), end.into(), 16)))
                .to_vec(),
        };
        let descriptor =
            Arc::new(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")));
        let table = TableEntry {
            descriptor,
            enabled: false,
            disabled_for: "space".into(),
            version: 2,
            regions: vec![region],
        };
        let taken = SnapshotDescriptor {
            created_ms: 44,
            ..SnapshotDescriptor::new("s", name.clone())
                .ttl_seconds(5)
                .max_file_bytes(1 << 30)
                .owner("me")
        };
        let snapshot =
            SnapshotEntry { descriptor: taken.kind(SnapshotType::Disabled), table: table.clone() };
        Catalog {
            store_id: [5; 16],
            generation: 8,
            checkpoint: 6,
            next_region: 3,
            namespaces: BTreeMap::from([("ns".into(), NamespaceEntry::default())]),
            tables: BTreeMap::from([(name, table)]),
            snapshots: BTreeMap::from([("s".into(), Arc::new(snapshot))]),
            properties: BTreeMap::from([("switch/x".into(), Bytes::from_static(&[0, 255]))]),
        }
    }

    #[test]
    fn catalog_round_trips() {
        assert_eq!(decode(&encode(&catalog())).unwrap(), catalog());
    }

    #[test]
    fn flipped_bits_and_truncation_are_detected() {
        let whole = encode(&catalog());
        for end in 0..whole.len() {
            assert_eq!(decode(&whole[..end]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bad = whole.clone();
                bad[at] ^= 1 << bit;
                assert_eq!(decode(&bad).unwrap_err().kind(), ErrorKind::Corrupt, "byte {at}");
            }
        }
    }

    /// Returns a manifest with another format version.
    fn with_version(mut bytes: Vec<u8>, version: u8) -> Vec<u8> {
        bytes[11] = version;
        let end = bytes.len() - 4;
        let crc = crc32c::crc32c(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    #[test]
    fn older_format_is_flushed_alike_in_all_families() {
        let mut older = catalog();
        for table in older.tables.values_mut() {
            table.regions[0].family_flushed.clear();
        }
        older.snapshots.clear();
        let read = decode(&with_version(encode(&older), 5)).unwrap();
        assert_eq!(read, older);
        let region = &read.tables.values().next().unwrap().regions[0];
        assert_eq!((region.flushed_sequence_of(b"f"), region.newest_flushed_sequence()), (99, 99));
    }

    #[test]
    fn newer_format_is_rejected_with_its_version() {
        let error = decode(&with_version(encode(&catalog()), 7)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NewerFormat);
        assert!(error.message().contains("format version 7"), "{error}");
    }
}
