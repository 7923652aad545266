//! Every table, region and store file that lies below `data`, in the archive and in the quarantine, by what it says about itself.

use std::collections::{BTreeMap, BTreeSet};

use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};
use prost::Message as _;

use super::beside::look;
use crate::catalog::messages::{PBUF, RegionInfoMessage, TableSchema};
use crate::catalog::{Catalog, Target, layout};
use crate::engine::directory::{list, list_if_there};
use crate::engine::{quarantine, table_info};
use crate::env::{Env, is_not_a_file};
use crate::hfile::Reader;
use crate::store::{STORE_ID_KEY, check_name, generation_of, name_of, region_number_of};

/// Where a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Data,
    Archive,
    Quarantine,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) namespaces: BTreeSet<String>,
    pub(super) tables: BTreeMap<TableName, DiskTable>,
}

/// A table's directory, wherever a part of it lies.
#[derive(Debug, Default)]
pub(super) struct DiskTable {
    /// The newest descriptor below `data` with its version.
    pub(super) descriptor: Option<(TableDescriptor, u32)>,
    /// Whether it has a directory below `data`.
    pub(super) is_there: bool,
    /// By encoded name.
    pub(super) regions: BTreeMap<String, DiskRegion>,
}

/// A region's directory.
#[derive(Debug, Default)]
pub(super) struct DiskRegion {
    /// What its `.regioninfo` below `data` says.
    pub(super) info: Option<RegionInfo>,
    /// The number in the log that `.regioninfo` says.
    pub(super) number: Option<u64>,
    pub(super) is_there: bool,
    pub(super) files: Vec<DiskFile>,
}

/// The store that wrote a file and the name it was given then; of a bulk-loaded file the name alone, which no other has.
type WrittenAs = (Option<[u8; 16]>, String);

/// A store file, or what stands for one.
#[derive(Clone, Debug)]
pub(super) struct DiskFile {
    pub(super) path: String,
    pub(super) place: Place,
    /// The name of its family's directory.
    pub(super) family: String,
    pub(super) name: String,
    pub(super) written_as: Option<WrittenAs>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Written by a store.
    Own(Facts),
    /// Bulk-loaded, with the sequence id of its cells.
    Loaded(u64),
    /// A link or a reference.
    StandIn(Target),
    /// It cannot be opened; why.
    Damaged(String),
    /// Written by something else.
    Foreign,
}

/// What a file says of how it was written.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) store_id: [u8; 16],
    pub(super) generation: u64,
    /// The number of its region in the log.
    pub(super) number: Option<u64>,
    pub(super) newest_cell: u64,
    pub(super) compacted_from: Vec<String>,
}

impl DiskFile {
    /// What it says, if this store wrote it.
    pub(super) fn own(&self, store_id: [u8; 16]) -> Option<&Facts> {
        match &self.kind {
            Kind::Own(facts) if facts.store_id == store_id => Some(facts),
            _ => None,
        }
    }

    /// Whether it is the file that this store gave a name, wherever it lies.
    pub(super) fn was_written_as(&self, store_id: [u8; 16], name: &str) -> bool {
        self.written_as.as_ref().is_some_and(|(by, written)| by.is_none_or(|by| by == store_id) && written == name)
    }

    /// Whether it has cells.
    pub(super) fn has_cells(&self, store_id: [u8; 16]) -> bool {
        self.own(store_id).is_some() || matches!(self.kind, Kind::Loaded(_))
    }
}

impl Scan {
    /// # Errors
    /// The file system's.
    pub(super) fn read(env: &Env) -> Result<Self> {
        let mut scan = Self::default();
        let (over, kept) = quarantine::batches(env, &Catalog::default())?;
        let quarantined = over.into_iter().chain(kept).map(|batch| (format!("{batch}/"), Place::Quarantine));
        let roots = [(String::new(), Place::Data), (format!("{}/", layout::ARCHIVE), Place::Archive)];
        for (root, place) in roots.into_iter().chain(quarantined) {
            let data = format!("{root}{}", layout::DATA);
            for namespace in directories(env, &data)? {
                if place == Place::Data {
                    scan.namespaces.insert(namespace.clone());
                }
                for table in directories(env, &format!("{data}/{namespace}"))? {
                    if let Ok(name) = TableName::new(&namespace, &table) {
                        scan.table(env, &format!("{data}/{namespace}/{table}"), &name, place)?;
                    }
                }
            }
        }
        scan.follow_renames();
        Ok(scan)
    }

    fn table(&mut self, env: &Env, directory: &str, name: &TableName, place: Place) -> Result<()> {
        let table = self.tables.entry(name.clone()).or_default();
        if place == Place::Data {
            table.is_there = true;
            table.descriptor = descriptor(env, directory)?;
        }
        for encoded in directories(env, directory)? {
            let path = format!("{directory}/{encoded}");
            let region = table.regions.entry(encoded).or_default();
            if place == Place::Data {
                region.is_there = true;
                let (info, number) = region_info(env, &path)?.unzip();
                (region.info, region.number) = (info, number.flatten());
            }
            for family in directories(env, &path)? {
                for file in list(env, &format!("{path}/{family}"))?.into_iter().filter(|entry| !entry.name.starts_with('.')) {
                    let path = format!("{path}/{family}/{}", file.name);
                    let (kind, written_as) = match file.odd {
                        Some(what) => (Kind::Damaged(format!("it is {what}")), None),
                        None => kind(env, &path, &file.name, name)?,
                    };
                    region.files.push(DiskFile { path, place, family: family.clone(), name: file.name, written_as, kind });
                }
            }
        }
        Ok(())
    }

    /// All regions.
    pub(super) fn regions(&self) -> impl Iterator<Item = &DiskRegion> {
        self.tables.values().flat_map(|table| table.regions.values())
    }

    /// All files.
    pub(super) fn files(&self) -> impl Iterator<Item = &DiskFile> {
        self.regions().flat_map(|region| &region.files)
    }

    /// The store that wrote most of the files.
    pub(super) fn most_common_store(&self) -> Option<[u8; 16]> {
        let mut counts: BTreeMap<[u8; 16], u64> = BTreeMap::new();
        for file in self.files() {
            if let Kind::Own(facts) = &file.kind {
                *counts.entry(facts.store_id).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(id, _)| id)
    }
}

/// Whether any store file below `data` was written by a store of ours.
pub(super) fn has_own_file(env: &Env) -> Result<bool> {
    Ok(Scan::read(env)?.most_common_store().is_some())
}

/// The directories in a directory that are not hidden; none if it is not there.
fn directories(env: &Env, path: &str) -> Result<Vec<String>> {
    Ok(list_if_there(env, path)?.into_iter().filter(|entry| entry.is_dir && !entry.name.starts_with('.')).map(|entry| entry.name).collect())
}

fn descriptor(env: &Env, directory: &str) -> Result<Option<(TableDescriptor, u32)>> {
    let folder = format!("{directory}/.tabledesc");
    let mut found: Vec<(u32, String)> =
        list_if_there(env, &folder)?.into_iter().filter_map(|entry| Some((table_info::version_of(&entry.name)?, entry.name))).collect();
    found.sort();
    for (version, name) in found.into_iter().rev() {
        let bytes = look(env, &format!("{folder}/{name}"))?.into_bytes();
        let schema = bytes.strip_prefix(PBUF).and_then(|body| TableSchema::decode(body).ok());
        if let Some(descriptor) = schema.and_then(|schema| schema.decode_descriptor().ok()).filter(|descriptor| descriptor.check().is_ok()) {
            return Ok(Some((descriptor, version)));
        }
    }
    Ok(None)
}

fn region_info(env: &Env, directory: &str) -> Result<Option<(RegionInfo, Option<u64>)>> {
    let bytes = look(env, &format!("{directory}/.regioninfo"))?.into_bytes();
    let message = bytes.strip_prefix(PBUF).and_then(|body| RegionInfoMessage::decode_length_delimited(body).ok());
    Ok(message.and_then(|message| {
        let table = message.table_name.decode_name().ok()?;
        let (start, end) = (message.start_key.unwrap_or_default(), message.end_key.unwrap_or_default());
        Some((layout::new_region(&table, start.into(), end.into(), message.region_id), message.number))
    }))
}

/// What a file is, and as what it was written. Only what was read and is wrong is damaged: a file that cannot be read, or is of a newer
/// program, may hold all its cells.
fn kind(env: &Env, path: &str, name: &str, table: &TableName) -> Result<(Kind, Option<WrittenAs>)> {
    if let Some(target) = layout::target_of(name, table) {
        return Ok((Kind::StandIn(target), None));
    }
    let shown = format!("{}/{path}", env.fs.root());
    let file = match env.fs.open(path) {
        Err(error) if is_not_a_file(&error) => return Ok((Kind::Damaged(error.to_string()), None)),
        opened => opened.map_err(|error| Error::io(format!("opening store file {shown}"), error))?,
    };
    let reader = match Reader::open(file, &shown) {
        Ok(reader) => reader,
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok((Kind::Damaged(error.message().to_owned()), None)),
        Err(error) => return Err(error),
    };
    if let Some(sequence) = layout::loaded_sequence_of(name) {
        return Ok((Kind::Loaded(sequence), Some((None, name.to_owned()))));
    }
    let info = reader.info();
    let Some(store_id) = info.get(STORE_ID_KEY).and_then(|id| id.try_into().ok()) else { return Ok((Kind::Foreign, None)) };
    let written_as = name_of(info).map(|name| (Some(store_id), name));
    if let Err(error) = check_name(info, &store_id, name, path) {
        return Ok((Kind::Damaged(error.message().to_owned()), written_as));
    }
    let facts = Facts {
        store_id,
        generation: generation_of(info),
        number: region_number_of(info),
        newest_cell: reader.max_cell_sequence_id(),
        compacted_from: info.compacted_from(),
    };
    Ok((Kind::Own(facts), written_as))
}
