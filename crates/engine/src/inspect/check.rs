//! Read-only check of a store for all detectable problems.

use std::collections::BTreeSet;

use halite_types::{Error, ErrorKind, Result};

use super::state::ManifestState;
use super::{Finding, Severity, expect_store, lock, metadata_files};
use crate::catalog::{Catalog, FileOrigin, RequiredLocation, layout};
use crate::engine::{obsolete_files, quarantine};
use crate::env::{Env, FileKind};
use crate::hfile::Reader;
use crate::store::{STORE_ID_KEY, check_name, generation_of};
use crate::wal;

/// Findings of a check, and the amount of data read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Findings in the order of detection.
    pub findings: Vec<Finding>,
    /// Generation of the manifest used for the check; `None` if neither the manifest nor a copy can
    /// be read.
    pub generation: Option<u64>,
    /// Tables in the manifest.
    pub tables: u64,
    /// Regions in the manifest.
    pub regions: u64,
    /// Snapshots in the manifest.
    pub snapshots: u64,
    /// Store files read and verified.
    pub files: u64,
    /// Bytes of the verified store files.
    pub file_bytes: u64,
    /// Cells of the verified store files.
    pub cells: u64,
    /// Log segments.
    pub wal_segments: u64,
    /// Writes in the log segments.
    pub wal_writes: u64,
    /// Files in the quarantine.
    pub quarantined_files: u64,
}

impl CheckReport {
    /// Returns the highest severity; `None` if there are no findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// Reads everything in a store's directory without changing it: the manifest and its copies, every
/// referenced file with its checksums and cell order, links, references and snapshots, the log, the
/// quarantine, and foreign files.
///
/// # Errors
/// `Locked` if a process has the store open; `InvalidRequest` for a directory without a store; the
/// file system's error.
pub fn check(env: &Env) -> Result<CheckReport> {
    expect_store(env)?;
    let _lock = lock(env)?;
    let state = ManifestState::read(env)?;
    let mut check = Checker { env, report: CheckReport::default() };
    check.lock()?;
    let catalog = check.manifests(&state);
    let odd = check.unexpected_entries(catalog)?;
    check.small(catalog)?;
    let store_id = state.named_id.or(catalog.map(|catalog| catalog.store_id));
    if let Some(catalog) = catalog {
        check.report.generation = Some(catalog.generation);
        check.report.tables = catalog.visible_tables().count() as u64;
        check.report.regions =
            catalog.tables.values().map(|table| table.regions.len() as u64).sum();
        check.report.snapshots = catalog.snapshots.len() as u64;
        check.tree(catalog, &odd)?;
        check.files(catalog)?;
    }
    check.log(store_id, catalog)?;
    check.quarantine(catalog)?;
    Ok(check.report)
}

struct Checker<'a> {
    env: &'a Env,
    report: CheckReport,
}

impl Checker<'_> {
    fn add(&mut self, severity: Severity, text: String) {
        self.report.findings.push(Finding { severity, text });
    }

    fn name(&self, path: &str) -> String {
        format!("{}/{path}", self.env.fs.root())
    }

    fn exists(&self, path: &str) -> Result<bool> {
        self.env
            .fs
            .exists(path)
            .map_err(|error| Error::io(format!("checking for {}", self.name(path)), error))
    }

    /// Checks the lock file.
    fn lock(&mut self) -> Result<()> {
        let name = self.name(layout::LOCK);
        match metadata_files::kind(self.env, layout::LOCK)? {
            None => {
                self.add(Severity::Note, format!("{name} is missing; the next open creates it"));
            }
            Some(FileKind::File) => {
                match self.env.fs.open(layout::LOCK).and_then(|file| file.len()) {
                    Ok(0) => {}
                    Ok(_) => self.add(
                        Severity::Warning,
                        format!(
                            "{name} is not empty: it may be another file that was renamed, as the \
                             lock file is always empty"
                        ),
                    ),
                    Err(error) => self.add(
                        Severity::Warning,
                        format!(
                            "{name} cannot be opened: {error}; a process without access to it \
                             cannot open the store"
                        ),
                    ),
                }
            }
            Some(kind) => {
                let text = format!(
                    "{name} is {kind}, expected a file: the store cannot be opened; move it away, \
                     or run \"halite repair\"; the next open creates the file"
                );
                self.add(Severity::Error, text);
            }
        }
        Ok(())
    }

    /// Checks the small files.
    fn small(&mut self, catalog: Option<&Catalog>) -> Result<()> {
        let faults = match catalog {
            Some(catalog) => metadata_files::mismatches(self.env, catalog)?,
            None => metadata_files::identity(self.env, None)?,
        };
        for fault in faults {
            let is = fault.why.strip_prefix("it ").unwrap_or(&fault.why).to_owned();
            let text = format!(
                "{} {is}: HBase and its tools cannot read the directory correctly; run \"halite \
                 repair\"",
                self.name(&fault.path)
            );
            self.add(Severity::Warning, text);
        }
        for (path, may_be_of_a_crash) in catalog
            .map(|catalog| metadata_files::newer_descriptors(self.env, catalog))
            .transpose()?
            .unwrap_or_default()
        {
            let severity = if may_be_of_a_crash { Severity::Note } else { Severity::Warning };
            let text = format!(
                "{} is newer than the manifest, and HBase would use it; the next open removes it",
                self.name(&path)
            );
            self.add(severity, text);
        }
        for path in [layout::MANIFEST, layout::ID, layout::VERSION] {
            if metadata_files::kind(self.env, path)? == Some(FileKind::Link) && self.exists(path)? {
                let text = "is a symbolic link: reads follow it, but a change replaces the link \
                            with a file and leaves its target unchanged";
                self.add(Severity::Warning, format!("{} {text}", self.name(path)));
            }
        }
        Ok(())
    }

    /// Reports entries that are not of the kind that their name requires, and returns their paths.
    fn unexpected_entries(&mut self, catalog: Option<&Catalog>) -> Result<BTreeSet<String>> {
        let odd =
            metadata_files::unexpected_entries(self.env, catalog.unwrap_or(&Catalog::default()))?;
        for odd in &odd {
            // The content of the other files is checked individually.
            if odd.expected == "a directory"
                || odd.path.starts_with(layout::MANIFESTS)
                || odd.path == layout::MANIFEST_TEMPORARY
            {
                let fix = if odd.path == layout::HALITE {
                    "move it away"
                } else {
                    "run \"halite repair\""
                };
                self.add(
                    Severity::Error,
                    format!(
                        "{} is {}, expected {}; {fix}",
                        self.name(&odd.path),
                        odd.actual,
                        odd.expected
                    ),
                );
            }
        }
        for path in metadata_files::nameless(self.env) {
            self.add(
                Severity::Note,
                format!("{} has a name that is not UTF-8; it is not changed", self.name(&path)),
            );
        }
        Ok(odd.into_iter().map(|odd| odd.path).collect())
    }

    /// Checks the manifest and its copies; returns the catalog for the remaining checks.
    fn manifests<'s>(&mut self, state: &'s ManifestState) -> Option<&'s Catalog> {
        let name = self.name(layout::MANIFEST);
        let manifest = match &state.manifest {
            Some(Ok(manifest)) => Some(manifest),
            Some(Err(error)) => {
                self.add(Severity::Error, format!("manifest {name}: {}", error.message()));
                // Older copies do not contain the changes of a newer program.
                if error.kind() != ErrorKind::Corrupt {
                    return None;
                }
                None
            }
            None => {
                self.add(
                    Severity::Error,
                    format!(
                        "manifest {name} is missing; restore it from a copy, or run \"halite \
                         repair\""
                    ),
                );
                None
            }
        };
        if let (Some(manifest), Some(id)) = (manifest, state.named_id)
            && manifest.store_id != id
        {
            let ids = (layout::uuid_text(&manifest.store_id), layout::uuid_text(&id));
            self.add(
                Severity::Error,
                format!(
                    "manifest {name} belongs to the store {}, and this store is {}; restore the \
                     right manifest, or run \"halite repair\"",
                    ids.0, ids.1
                ),
            );
        }
        if let Some(error) = &state.unlisted {
            let text = format!(
                "copies of the manifest: {}; {} must be a directory",
                error.message(),
                self.name(layout::MANIFESTS)
            );
            self.add(Severity::Error, text);
        }
        for (generation, copy) in &state.copies {
            let path = self.name(&crate::catalog::history::path(*generation));
            // As for an opening, the name alone is sufficient evidence.
            if let Some(is) =
                manifest.map(|manifest| manifest.generation).filter(|is| is < generation)
            {
                let text = format!(
                    "manifest {name} is outdated: its generation is {is}, and {path} has \
                     generation {generation}; run \"halite repair\""
                );
                self.add(Severity::Error, text);
            }
            match copy {
                Err(error) => self.add(
                    Severity::Warning,
                    format!("copy {path} of the manifest cannot be read: {}", error.message()),
                ),
                Ok(copy) if manifest.is_some_and(|manifest| manifest.store_id != copy.store_id) => {
                    self.add(
                        Severity::Warning,
                        format!("copy {path} is a manifest of another store; move it away"),
                    );
                }
                Ok(copy) if copy.generation != *generation => {
                    let is = copy.generation;
                    self.add(
                        Severity::Warning,
                        format!(
                            "copy {path} contains generation {is}, but its name specifies \
                             {generation}; move it away"
                        ),
                    );
                }
                Ok(_) => {}
            }
        }
        manifest
            .filter(|manifest| state.named_id.is_none_or(|id| id == manifest.store_id))
            .or_else(|| Some(state.newest(state.named_id)?.1))
    }

    /// Reports files and directories that the manifest does not reference.
    fn tree(&mut self, catalog: &Catalog, odd: &BTreeSet<String>) -> Result<()> {
        if odd.contains(layout::DATA) {
            return Ok(());
        }
        if !self.exists(layout::DATA)? {
            self.add(
                Severity::Error,
                format!(
                    "{} is missing; restore it from a copy, or run \"halite repair\"",
                    self.name(layout::DATA)
                ),
            );
            return Ok(());
        }
        let found = obsolete_files::find_obsolete_files(self.env, catalog)?;
        if let Some((generation, path)) =
            found.newest.as_ref().filter(|(generation, _)| *generation > catalog.generation)
        {
            let (path, is) = (self.name(path), catalog.generation);
            let text = format!(
                "{path} was written under generation {generation}, and the manifest has generation \
                 {is}: the manifest is outdated; run \"halite repair\""
            );
            self.add(Severity::Error, text);
        }
        for path in found.foreign.iter().filter(|path| !odd.contains(*path)) {
            let text = format!(
                "{} is not a file of this store: the manifest does not reference it, and Halite \
                 did not create it; move it away",
                self.name(path)
            );
            self.add(Severity::Error, text);
        }
        for piece in &found.unreferenced {
            let text = format!(
                "{}: the manifest does not reference it ({} files, {} bytes); the next open moves \
                 it to {}",
                self.name(&piece.path),
                piece.files,
                piece.bytes,
                quarantine::QUARANTINE
            );
            self.add(Severity::Warning, text);
        }
        for path in &found.temporary {
            self.add(
                Severity::Note,
                format!(
                    "{} is an incomplete file of a process that ended; the next open removes it",
                    self.name(path)
                ),
            );
        }
        Ok(())
    }

    /// Checks every file required by a region, link, reference or snapshot.
    fn files(&mut self, catalog: &Catalog) -> Result<()> {
        let stand_ins: BTreeSet<FileOrigin> = catalog
            .tables
            .values()
            .flat_map(|table| &table.regions)
            .flat_map(|region| {
                region
                    .files()
                    .filter(|(_, file)| file.target.is_some())
                    .map(|(family, file)| file.local_origin(&region.info, family))
            })
            .collect();
        for (home, need) in catalog.required_files(|_| true) {
            let (path, archived) = (home.path(), home.archive_path());
            let found = if self.exists(&path)? {
                path
            } else if self.exists(&archived)? {
                archived
            } else {
                let by = if need == RequiredLocation::Origin {
                    "a region references it"
                } else {
                    "a link or a snapshot needs it"
                };
                let text = format!(
                    "store file {} is missing: {by}; restore it from a copy, or run \"halite \
                     repair\"",
                    self.name(&path)
                );
                self.add(Severity::Error, text);
                continue;
            };
            // Links and references contain no cells, and the manifest specifies their targets.
            if !stand_ins.contains(&home) {
                self.file(&found, catalog);
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str, catalog: &Catalog) {
        let name = self.name(path);
        let file_name = path.rsplit('/').next().unwrap_or(path);
        let verified = self
            .env
            .fs
            .open(path)
            .map_err(|error| Error::io(format!("opening store file {name}"), error))
            .and_then(|file| {
                let reader = Reader::open(file, &name)?;
                check_name(reader.info(), &catalog.store_id, file_name, &name)?;
                // The generation in a file of another store is not comparable.
                let is_own = reader.info().get(STORE_ID_KEY) == Some(&catalog.store_id[..])
                    && layout::loaded_sequence_of(file_name).is_none();
                let generation = if is_own { generation_of(reader.info()) } else { 0 };
                Ok((reader.verify()?.cells, reader.bytes(), generation))
            });
        match verified {
            Ok((cells, bytes, generation)) => {
                self.report.files += 1;
                self.report.cells += cells;
                self.report.file_bytes += bytes;
                if generation > catalog.generation {
                    let text = format!(
                        "{name} was written under generation {generation}, and the manifest has \
                         generation {}",
                        catalog.generation
                    );
                    self.add(Severity::Error, text);
                }
            }
            Err(error) => self.add(Severity::Error, error.message().to_owned()),
        }
    }

    fn log(&mut self, store_id: Option<[u8; 16]>, catalog: Option<&Catalog>) -> Result<()> {
        if metadata_files::kind(self.env, wal::DIRECTORY)?.is_none() {
            self.add(
                Severity::Error,
                format!(
                    "{} is missing; restore it from a copy, or run \"halite repair\"",
                    self.name(wal::DIRECTORY)
                ),
            );
            return Ok(());
        }
        let Some(store_id) = store_id else { return Ok(()) };
        let mut newest = 0;
        let segments = wal::inspect(self.env, store_id, |write| newest = newest.max(write.region))?;
        for (_, text) in wal::inspect_foreign(self.env)? {
            self.add(Severity::Error, text);
        }
        for error in wal::inspect_nonces(self.env, store_id)? {
            self.add(Severity::Error, error.message().to_owned());
        }
        for segment in segments {
            self.report.wal_segments += 1;
            self.report.wal_writes += segment.writes;
            let name = self.name(&segment.path);
            if let Some(damage) = segment.damage {
                self.add(
                    Severity::Error,
                    format!(
                        "log segment {name}: {damage}; restore it from a copy; {} writes before \
                         the damage are readable",
                        segment.writes
                    ),
                );
            }
            if let Some(torn) = segment.torn {
                self.add(
                    Severity::Note,
                    format!(
                        "log segment {name}: {torn}, which was never acknowledged; the next open \
                         truncates it"
                    ),
                );
            }
        }
        if let Some(known) =
            catalog.map(|catalog| catalog.next_region).filter(|known| newest > *known)
        {
            let text = format!(
                "the manifest is outdated: the log contains writes of region {newest}, and the \
                 newest region of the manifest is {known}; run \"halite repair\""
            );
            self.add(Severity::Error, text);
        }
        Ok(())
    }

    fn quarantine(&mut self, catalog: Option<&Catalog>) -> Result<()> {
        let empty = Catalog::default();
        let (over, kept) = quarantine::batches(self.env, catalog.unwrap_or(&empty))?;
        let over = over.iter().map(|path| (path, Severity::Note, "the next open removes them"));
        let stay = "their cells are stored nowhere else, and they are kept until \"halite repair\" \
                    restores them or an operator removes them";
        let kept = kept.iter().map(|path| {
            let is_unlogged = quarantine::is_unlogged(path);
            let go = (path, Severity::Note, "the first open after a clean shutdown removes them");
            if is_unlogged { (path, Severity::Warning, stay) } else { go }
        });
        for (directory, severity, then) in over.chain(kept) {
            let (files, bytes) = quarantine::total(self.env, directory)?;
            self.report.quarantined_files += files;
            // A restored batch contains only directories.
            if files > 0 {
                self.add(
                    severity,
                    format!(
                        "{}: {files} files of {bytes} bytes are in quarantine; {then}",
                        self.name(directory)
                    ),
                );
            }
        }
        Ok(())
    }
}
