//! Cells that a killed HBase had in its logs only.
//!
//! As HBase does when it recovers a region, a cell of a log counts if its sequence id is above
//! those of its family's store files, and above the one recorded when the region was opened or
//! closed last: older ones were flushed, and may have been compacted away since, or belong to files
//! that a restored snapshot has replaced. They are written to further store files with their own
//! sequence ids (`spill.rs`), so that the order of equal cells is that of HBase, and a cell that two
//! logs have counts once.
//!
//! A log also tells of finished compactions. Files that one of them replaced are left out if the
//! server was killed before it had removed them: their cells may be deleted ones.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::path::Path;

use anyhow::{Context as _, bail};
use halite::{Bytes, CellRef};
use halite_engine::env::Env;
use halite_hbase_dir::wal::{CompactionMarker, WalEntry, WalReader};
use halite_hbase_dir::{HbaseFile, HbaseRegion};

use super::compacted::remove_files;
use super::log_codec::decompress_value;
use super::progress::progress;
use super::remark::Remark;
use super::root::HbaseRoot;
use super::source::{ImportSource, Recovered};
use super::spill::{Spill, StorePlace};
use crate::hfile;

/// Region of a table to import: positions of the table and of the region in it.
type RegionPlace = (usize, usize);

/// Reads the logs and adds store files with the cells of the tables to them. The files are written
/// into a directory; without one, the cells are only counted. `note` is called with notes about the
/// logs.
///
/// # Errors
/// Returns an error if a log is damaged, or a file cannot be written. No source has changed then.
pub(crate) fn recover(
    root: &HbaseRoot,
    sources: &mut [ImportSource],
    into: Option<&Path>,
    mut note: impl FnMut(Remark),
) -> anyhow::Result<()> {
    let logs: Vec<_> = root.logs.iter().flatten().filter(|log| !log.is_meta).collect();
    let bar = progress("reading logs", logs.iter().map(|log| log.bytes).sum());
    let env = into.map(Env::os).transpose()?;
    let mut recovery = Recovery::new(root, sources, env.as_ref());
    for log in logs {
        let mut reader = WalReader::open(&log.path, decompress_value)?;
        while let Some(entry) = reader.next_entry()? {
            recovery.add(&entry).with_context(|| log.path.display().to_string())?;
        }
        Remark::of_log(&log.path, reader.end()).into_iter().for_each(&mut note);
        bar.inc(log.bytes);
    }
    bar.finish_and_clear();
    let (files, compactions, counts) = recovery.finish()?;
    for (place, markers) in compactions {
        let source = &mut sources[place.0];
        let gone = drop_replaced(&mut source.regions[place.1], &markers);
        source.recovered.replaced_files += gone;
    }
    for ((table, _), count) in counts {
        let recovered = &mut sources[table].recovered;
        recovered.entries += count.entries;
        recovered.cells += count.cells;
        recovered.bytes += count.bytes;
        recovered.regions += u64::from(count.entries > 0);
    }
    check_choices(sources)?;
    for (StorePlace { table, region, family }, path) in files {
        let bytes = std::fs::metadata(&path).context("examining a recovered file")?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = HbaseFile { family, name, path, bytes, loaded_sequence: None, rows: None };
        sources[table].regions[region].files.push(file);
    }
    root.check_is_still()
}

/// Refuses a choice among regions that overlap: a split or merge may have been in progress when
/// HBase was killed, and the newer regions are not the live ones then.
fn check_choices(sources: &[ImportSource]) -> anyhow::Result<()> {
    let chosen =
        |source: &&ImportSource| source.replaced_regions > 0 && source.recovered.entries > 0;
    if let Some(source) = sources.iter().find(chosen) {
        bail!(
            "table {}: HBase was killed, and {} regions overlap newer ones; without hbase:meta it \
             is unknown which are live: copy data/hbase/meta, too, or start and stop HBase cleanly",
            source.name(),
            source.replaced_regions
        );
    }
    Ok(())
}

/// Recovery in progress.
struct Recovery<'a> {
    root: &'a HbaseRoot,
    sources: &'a [ImportSource],
    places: BTreeMap<&'a [u8], RegionPlace>,
    /// Sequence ids up to which all is in store files, of the regions that entries were of.
    flushed: BTreeMap<RegionPlace, Flushed>,
    compactions: BTreeMap<RegionPlace, Vec<CompactionMarker>>,
    counts: BTreeMap<RegionPlace, Recovered>,
    spill: Option<Spill<'a>>,
}

/// Sequence ids up to which all cells of a region are in store files.
struct Flushed {
    /// Of all families.
    region: u64,
    /// Newest ones of the store files, by family.
    families: BTreeMap<Bytes, u64>,
}

/// Store files with recovered cells, compactions by region, and counts by region.
type Findings = (
    Vec<(StorePlace, std::path::PathBuf)>,
    BTreeMap<RegionPlace, Vec<CompactionMarker>>,
    BTreeMap<RegionPlace, Recovered>,
);

impl<'a> Recovery<'a> {
    fn new(root: &'a HbaseRoot, sources: &'a [ImportSource], env: Option<&'a Env>) -> Self {
        let mut places = BTreeMap::new();
        for (table, source) in sources.iter().enumerate() {
            let names = source.regions.iter().map(|region| region.encoded_name.as_bytes());
            places.extend(names.enumerate().map(|(region, name)| (name, (table, region))));
        }
        Self {
            root,
            sources,
            places,
            flushed: BTreeMap::new(),
            compactions: BTreeMap::new(),
            counts: BTreeMap::new(),
            spill: env.map(Spill::new),
        }
    }

    fn add(&mut self, entry: &WalEntry) -> anyhow::Result<()> {
        // Entries of other tables, and of regions that were flushed and replaced.
        let Some(place) = self.places.get(&entry.region[..]).copied() else { return Ok(()) };
        let sources = self.sources;
        let (table, region) = place;
        let (source, of_region) = (&sources[table], &sources[table].regions[region]);
        let flushed = match self.flushed.entry(place) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(Flushed {
                region: self.root.recorded_sequence(source.name(), &of_region.encoded_name)?,
                families: newest_sequences(of_region)?,
            }),
        };
        let (mut cells, mut bytes) = (0, 0);
        for cell in entry.data().filter(|cell| is_inside(of_region, cell)) {
            // A family may have been removed since.
            let Some(family) = source.descriptor.find_family(cell.family()) else { continue };
            let of_family = flushed.families.get(cell.family()).copied().unwrap_or(0);
            if of_family.max(flushed.region) >= entry.sequence {
                continue;
            }
            cells += 1;
            bytes += cell.encoded_len() as u64;
            if let Some(spill) = &mut self.spill {
                let place = StorePlace { table, region, family: family.name().clone() };
                spill.add(place, family, cell.with_sequence_id(entry.sequence))?;
            }
        }
        if cells > 0 {
            let count = self.counts.entry(place).or_default();
            count.entries += 1;
            count.cells += cells;
            count.bytes += bytes;
        }
        self.compactions.entry(place).or_default().extend(entry.compactions()?);
        Ok(())
    }

    fn finish(self) -> anyhow::Result<Findings> {
        let files = self.spill.map(Spill::finish).transpose()?.unwrap_or_default();
        Ok((files, self.compactions, self.counts))
    }
}

fn is_inside(region: &HbaseRegion, cell: &CellRef<'_>) -> bool {
    let row = cell.row();
    row >= &region.start[..] && (region.end.is_empty() || row < &region.end[..])
}

/// Returns the newest sequence id of each family with store files.
fn newest_sequences(region: &HbaseRegion) -> anyhow::Result<BTreeMap<Bytes, u64>> {
    let mut newest: BTreeMap<Bytes, u64> = BTreeMap::new();
    for file in &region.files {
        let sequence = if let Some(sequence) = file.loaded_sequence {
            sequence
        } else {
            hfile::open(&file.path)?.max_sequence_id().unwrap_or(0)
        };
        let of_family = newest.entry(file.family.clone()).or_default();
        *of_family = sequence.max(*of_family);
    }
    Ok(newest)
}

/// Removes the files that compactions replaced. Returns their number.
fn drop_replaced(region: &mut HbaseRegion, compactions: &[CompactionMarker]) -> u64 {
    let mut present: BTreeSet<(Bytes, String)> =
        region.files.iter().map(|file| (file.family.clone(), file.name.clone())).collect();
    let mut gone = BTreeSet::new();
    // The output of one compaction may be the input of another whose output is present.
    loop {
        let before = gone.len();
        for marker in compactions {
            let family = Bytes::copy_from_slice(&marker.family);
            let of_family = |name: &String| (family.clone(), name.clone());
            if marker.outputs.iter().all(|name| present.contains(&of_family(name))) {
                gone.extend(marker.inputs.iter().map(of_family));
                present.extend(marker.inputs.iter().map(of_family));
            }
        }
        if gone.len() == before {
            break;
        }
    }
    remove_files(region, &gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(files: &[&str]) -> HbaseRegion {
        let file = |name: &&str| HbaseFile {
            family: Bytes::from_static(b"f"),
            name: (*name).to_owned(),
            path: name.into(),
            bytes: 1,
            loaded_sequence: None,
            rows: None,
        };
        HbaseRegion {
            start: Bytes::new(),
            end: Bytes::new(),
            encoded_name: "ab".to_owned(),
            files: files.iter().map(file).collect(),
        }
    }

    fn left(files: &[&str], compactions: &[(&str, &[&str], &[&str])]) -> String {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let markers: Vec<CompactionMarker> = compactions
            .iter()
            .map(|(family, inputs, outputs)| CompactionMarker {
                family: family.as_bytes().to_vec(),
                inputs: names(inputs),
                outputs: names(outputs),
            })
            .collect();
        let mut region = region(files);
        drop_replaced(&mut region, &markers);
        region.files.iter().map(|file| &file.name[..]).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn compacted_files_are_left_out_if_their_output_is_there() {
        assert_eq!(left(&["a", "b", "c"], &[("f", &["a", "b"], &["c"])]), "c");
        assert_eq!(left(&["a", "b", "c"], &[("g", &["a", "b"], &["c"])]), "a b c");
        assert_eq!(left(&["a", "b"], &[("f", &["a", "b"], &["c"])]), "a b");
        let chain: [(&str, &[&str], &[&str]); 2] = [("f", &["a"], &["b"]), ("f", &["b"], &["c"])];
        assert_eq!(left(&["a", "c"], &chain), "c");
        assert_eq!(left(&["a", "d"], &chain), "a d");
        assert_eq!(left(&["a", "b"], &[("f", &["a"], &[])]), "b");
    }
}
