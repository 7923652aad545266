//! The manifest: the one truth about which tables, regions and store files are live. Drawn in
//! `docs/formats/manifest.md`.
//!
//! Every change writes the whole catalog to a new file, syncs it and renames it over the old one. So a change is there
//! or it is not, every bit of the catalog is under one checksum, and there is no tail that could be torn. A catalog of
//! a thousand regions has some hundred kilobytes, and changes (flushes, compactions, table changes) are rare events.
//!
//! ```text
//! "HALMAN\r\n" | format version u32 | length of the body u64 | body: protobuf of Catalog | CRC32C of all before u32
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use halite_types::{Attributes, Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};
use prost::Message;

use super::layout::{HALITE, MANIFEST, MANIFEST_TEMPORARY, new_region};
use super::messages::TableSchema;
use crate::env::Env;

const MAGIC: &[u8; 8] = b"HALMAN\r\n";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 8 + 4 + 8;

/// Everything that is live.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Catalog {
    /// Marks every file of this store as its own.
    pub(crate) store_id: [u8; 16],
    /// The number the next region gets in the log.
    pub(crate) next_region: u64,
    pub(crate) namespaces: BTreeMap<String, NamespaceEntry>,
    pub(crate) tables: BTreeMap<TableName, TableEntry>,
}

/// A namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NamespaceEntry {
    pub(crate) settings: Attributes,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableEntry {
    pub(crate) descriptor: Arc<TableDescriptor>,
    pub(crate) enabled: bool,
    /// Counts the changes of the descriptor, for the name of HBase's file.
    pub(crate) version: u32,
    /// By start key.
    pub(crate) regions: Vec<RegionEntry>,
}

/// A region.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RegionEntry {
    pub(crate) info: Arc<RegionInfo>,
    /// Its number in the log; never used again.
    pub(crate) number: u64,
    /// Everything up to this sequence id is in store files.
    pub(crate) flushed_sequence: u64,
    pub(crate) families: BTreeMap<Bytes, FamilyFiles>,
}

/// The store files of one family of a region.
pub(crate) type FamilyFiles = Vec<FileEntry>;

/// A store file, or a reference to one of another region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// The name in the store's own directory.
    pub(crate) name: String,
    /// For a reference: the region whose directory holds the file itself, and the file's name there.
    pub(crate) target: Option<(String, String)>,
}

impl Catalog {
    /// The table, or the error that it does not exist.
    pub(crate) fn table(&self, name: &TableName) -> Result<&TableEntry> {
        self.tables.get(name).ok_or_else(|| no_table(name))
    }

    /// As [`Catalog::table`], to change it.
    pub(crate) fn table_mut(&mut self, name: &TableName) -> Result<&mut TableEntry> {
        self.tables.get_mut(name).ok_or_else(|| no_table(name))
    }

    /// The region of that number.
    pub(crate) fn region_mut(&mut self, table: &TableName, number: u64) -> Result<&mut RegionEntry> {
        let regions = &mut self.table_mut(table)?.regions;
        regions
            .iter_mut()
            .find(|region| region.number == number)
            .ok_or_else(|| Error::new(ErrorKind::NoSuchRegion, format!("table {table} has no such region any more")))
    }

    /// A number for a new region.
    pub(crate) fn take_region_number(&mut self) -> u64 {
        self.next_region += 1;
        self.next_region
    }
}

/// The error that a table does not exist.
pub(crate) fn no_table(name: &TableName) -> Error {
    Error::new(ErrorKind::NoSuchTable, format!("table {name} does not exist; create it, or list the tables there are"))
}

/// The manifest file and what it says.
pub(crate) struct Manifest {
    env: Env,
    catalog: Mutex<Arc<Catalog>>,
    fate: Arc<Fate>,
}

/// Whether it is known which manifest the next opening will find. A sync of the new name that failed leaves the old one
/// or the new one: from then on nothing changes any more, and no file that either of them names is removed.
#[derive(Debug, Default)]
pub(crate) struct Fate(OnceLock<Error>);

impl Fate {
    /// The failure that made it unknown, if there was one.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Whether files that the manifest does not name may be removed.
    pub(crate) fn is_known(&self) -> bool {
        self.0.get().is_none()
    }
}

impl Manifest {
    /// Reads the manifest; `None` if there is none yet.
    ///
    /// # Errors
    /// `Corrupt`, `NewerFormat`, or the file system's.
    pub(crate) fn load(env: &Env) -> Result<Option<Self>> {
        let name = format!("{}/{MANIFEST}", env.fs.root());
        let failed = |error| Error::io(format!("reading the manifest {name}"), error);
        if !env.fs.exists(MANIFEST).map_err(failed)? {
            return Ok(None);
        }
        let file = env.fs.open(MANIFEST).map_err(failed)?;
        let length = usize::try_from(file.len().map_err(failed)?).map_err(|_| Error::corrupt(format!("manifest {name} is larger than memory")))?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        let catalog = decode(&bytes).map_err(|error| error.at(format!("manifest {name}")))?;
        Ok(Some(Self { env: env.clone(), catalog: Mutex::new(Arc::new(catalog)), fate: Arc::default() }))
    }

    /// Writes the first manifest of a new store.
    pub(crate) fn create(env: &Env, catalog: Catalog) -> Result<Self> {
        let manifest = Self { env: env.clone(), catalog: Mutex::new(Arc::new(catalog)), fate: Arc::default() };
        let first = manifest.current();
        manifest.write(&first)?;
        Ok(manifest)
    }

    /// The catalog as it is now.
    pub(crate) fn current(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.lock().expect("nothing panics while it holds the catalog"))
    }

    /// Whether the manifest on the disk is known.
    pub(crate) fn fate(&self) -> &Arc<Fate> {
        &self.fate
    }

    /// Changes the catalog: when this returns, the change is durable; when it fails, nothing has changed, or [`Fate`] is
    /// unknown and everything stops.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Catalog) -> Result<T>) -> Result<T> {
        let mut current = self.catalog.lock().expect("nothing panics while it holds the catalog");
        self.fate.check()?;
        let mut next = Catalog::clone(&current);
        let answer = change(&mut next)?;
        self.write(&next)?;
        *current = Arc::new(next);
        Ok(answer)
    }

    fn write(&self, catalog: &Catalog) -> Result<()> {
        let fs = &self.env.fs;
        let failed = |error| Error::io(format!("writing the manifest {}/{MANIFEST}", fs.root()), error);
        if fs.exists(MANIFEST_TEMPORARY).map_err(failed)? {
            fs.remove_file(MANIFEST_TEMPORARY).map_err(failed)?;
        }
        let mut file = fs.create(MANIFEST_TEMPORARY).map_err(failed)?;
        file.write_all(&encode(catalog)).map_err(failed)?;
        file.sync().map_err(failed)?;
        drop(file);
        fs.rename(MANIFEST_TEMPORARY, MANIFEST).map_err(failed)?;
        fs.sync_dir(HALITE).map_err(|error| {
            let error = failed(error);
            let text =
                format!("{}; it is not known whether the change is durable: close the store, mend the cause and open it again", error.message());
            let error = Error::new(ErrorKind::Stopped, text).with_source(error);
            self.fate.0.get_or_init(|| error).clone()
        })
    }
}

fn encode(catalog: &Catalog) -> Vec<u8> {
    let body = CatalogMessage::from(catalog).encode_to_vec();
    let mut out = Vec::with_capacity(HEADER_BYTES + body.len() + 4);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&(body.len() as u64).to_be_bytes());
    out.extend_from_slice(&body);
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_be_bytes());
    out
}

fn decode(bytes: &[u8]) -> Result<Catalog> {
    let damaged = |why: String| Error::corrupt(format!("{why}; restore it from a copy, the store files are untouched"));
    let Some((checked, crc)) = bytes.split_last_chunk::<4>() else { return Err(damaged("it is empty or cut short".into())) };
    let (computed, stored) = (crc32c::crc32c(checked), u32::from_be_bytes(*crc));
    if computed != stored {
        return Err(damaged(format!("it is damaged or cut short: CRC32C is {computed:#010x}, the file says {stored:#010x}")));
    }
    let head = checked.get(..HEADER_BYTES).filter(|head| head.starts_with(MAGIC)).ok_or_else(|| damaged("it is not a manifest".into()))?;
    let version = u32::from_be_bytes(head[8..12].try_into().expect("four bytes"));
    if version != VERSION {
        let text = format!("it has format version {version}; this program reads version {VERSION}; open the store with a newer one");
        return Err(Error::new(ErrorKind::NewerFormat, text));
    }
    let message = CatalogMessage::decode(&checked[HEADER_BYTES..]).map_err(|error| damaged(format!("it cannot be decoded: {error}")))?;
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
}

#[derive(Clone, PartialEq, Message)]
struct FamilyMessage {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    files: Vec<FileMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct FileMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, optional, tag = "2")]
    target_region: Option<String>,
    #[prost(string, optional, tag = "3")]
    target_name: Option<String>,
}

impl From<&Catalog> for CatalogMessage {
    fn from(catalog: &Catalog) -> Self {
        let namespace = |(name, entry): (&String, &NamespaceEntry)| NamespaceMessage { name: name.clone(), settings: entry.settings.clone() };
        Self {
            store_id: catalog.store_id.to_vec(),
            next_region: catalog.next_region,
            namespaces: catalog.namespaces.iter().map(namespace).collect(),
            tables: catalog.tables.values().map(TableMessage::from).collect(),
        }
    }
}

impl From<&TableEntry> for TableMessage {
    fn from(table: &TableEntry) -> Self {
        Self {
            schema: Some((&*table.descriptor).into()),
            enabled: table.enabled,
            version: table.version,
            regions: table.regions.iter().map(RegionMessage::from).collect(),
        }
    }
}

impl From<&RegionEntry> for RegionMessage {
    fn from(region: &RegionEntry) -> Self {
        let file = |file: &FileEntry| FileMessage {
            name: file.name.clone(),
            target_region: file.target.as_ref().map(|target| target.0.clone()),
            target_name: file.target.as_ref().map(|target| target.1.clone()),
        };
        let family = |(name, files): (&Bytes, &FamilyFiles)| FamilyMessage { name: name.to_vec(), files: files.iter().map(file).collect() };
        Self {
            number: region.number,
            region_id: region.info.region_id,
            start: region.info.start.to_vec(),
            end: region.info.end.to_vec(),
            flushed_sequence: region.flushed_sequence,
            families: region.families.iter().map(family).collect(),
        }
    }
}

impl TryFrom<CatalogMessage> for Catalog {
    type Error = Error;

    fn try_from(message: CatalogMessage) -> Result<Self> {
        let store_id = message.store_id.try_into().map_err(|_| Error::corrupt("the store id is not 16 bytes"))?;
        let namespaces = message.namespaces.into_iter().map(|n| (n.name, NamespaceEntry { settings: n.settings })).collect();
        let mut tables = BTreeMap::new();
        for table in message.tables {
            let entry = TableEntry::try_from(table)?;
            tables.insert(entry.descriptor.name().clone(), entry);
        }
        Ok(Self { store_id, next_region: message.next_region, namespaces, tables })
    }
}

impl TryFrom<TableMessage> for TableEntry {
    type Error = Error;

    fn try_from(message: TableMessage) -> Result<Self> {
        let schema = message.schema.ok_or_else(|| Error::corrupt("a table has no schema"))?;
        let descriptor = Arc::new(schema.decode_descriptor()?);
        let region = |region: RegionMessage| {
            let info = new_region(descriptor.name(), region.start.into(), region.end.into(), region.region_id);
            let family = |family: FamilyMessage| (Bytes::from(family.name), family.files.into_iter().map(FileEntry::from).collect());
            let families = region.families.into_iter().map(family).collect();
            RegionEntry { info: Arc::new(info), number: region.number, flushed_sequence: region.flushed_sequence, families }
        };
        Ok(Self { enabled: message.enabled, version: message.version, regions: message.regions.into_iter().map(region).collect(), descriptor })
    }
}

impl From<FileMessage> for FileEntry {
    fn from(message: FileMessage) -> Self {
        Self { name: message.name, target: message.target_region.zip(message.target_name) }
    }
}

#[cfg(test)]
mod tests {
    use halite_types::FamilyDescriptor;

    use super::*;

    fn catalog() -> Catalog {
        let name: TableName = "ns:t".parse().unwrap();
        let region = RegionEntry {
            info: Arc::new(new_region(&name, Bytes::from_static(b"a"), Bytes::new(), 17)),
            number: 3,
            flushed_sequence: 99,
            families: BTreeMap::from([(
                Bytes::from_static(b"f"),
                vec![
                    FileEntry { name: "00ff".into(), target: None },
                    FileEntry { name: "00aa.bb".into(), target: Some(("bb".into(), "00aa".into())) },
                ],
            )]),
        };
        let descriptor = Arc::new(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")));
        let table = TableEntry { descriptor, enabled: true, version: 2, regions: vec![region] };
        Catalog {
            store_id: [5; 16],
            next_region: 3,
            namespaces: BTreeMap::from([("ns".into(), NamespaceEntry::default())]),
            tables: BTreeMap::from([(name, table)]),
        }
    }

    #[test]
    fn a_catalog_reads_back() {
        assert_eq!(decode(&encode(&catalog())).unwrap(), catalog());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
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

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let mut bytes = encode(&catalog());
        bytes[11] = 2;
        let end = bytes.len() - 4;
        let crc = crc32c::crc32c(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_be_bytes());
        let error = decode(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NewerFormat);
        assert!(error.message().contains("format version 2"), "{error}");
    }
}
