//! Bulk loading: one file per family of a row, all loaded in one call. After a crash either all
//! files are loaded, or none is and they are at their original paths.

use bytes::Bytes;
use halite_engine::env::MemoryFile;
use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};
use halite_types::{CellRef, Error, Put, Result, RowOp};

use crate::check::Mismatch;
use crate::log::{Entry, Promise, WritePath};
use crate::step::{StepError, StepResult};
use crate::world::World;

impl World {
    pub(crate) fn load(&mut self, put: &Put) -> StepResult {
        let effect = match self.model.effect(&RowOp::Put(put.clone()), self.now()) {
            Ok(effect) => effect,
            Err(refusal) => {
                return Err(StepError::Wrong(format!("row to load rejected: {refusal:?}")));
            }
        };
        let cells: Vec<CellRef<'_>> = put.mutation().cells().iter().collect();
        let mut files = Vec::new();
        for of_family in cells.chunk_by(|a, b| a.family() == b.family()) {
            let family = Bytes::copy_from_slice(of_family[0].family());
            let name = format!(
                "outside/load/{}-{}",
                self.sim.fs.calls(),
                String::from_utf8_lossy(&family)
            );
            let bytes = write_file(of_family)
                .map_err(|error| StepError::Wrong(format!("writing the file to load: {error}")))?;
            self.sim
                .fs
                .add(&name, bytes)
                .map_err(|error| StepError::Failed(Error::io("writing the file to load", error)))?;
            files.push((family, name));
        }
        self.loading = files.iter().map(|(_, name)| name.clone()).collect();
        let whole = files
            .into_iter()
            .map(|(family, name)| (family, name.replacen("outside", "", 1)))
            .collect();
        let region = self.store()?.region_name(put.row())?;
        let before = self.model.clone();
        let done = self.store()?.load(put.row(), whole);
        self.add_entry(Entry::new(effect, region, (WritePath::Loaded, Promise::Nothing), None));
        if let Err(error) = done {
            self.model = before;
            return Err(StepError::Failed(error));
        }
        self.loading.clear();
        let last = self.entries().len() - 1;
        self.record_visible(last);
        self.remove_safe_entries();
        self.record_rewrites(true);
        self.stats.loads += 1;
        Ok(())
    }

    /// Checks that an unsuccessful load lost no file.
    pub(crate) fn check_files_to_load(
        &mut self,
        loaded: bool,
    ) -> std::result::Result<(), Mismatch> {
        let gone: Vec<String> = std::mem::take(&mut self.loading)
            .into_iter()
            .filter(|path| self.sim.fs.read(path).is_err())
            .collect();
        if loaded || gone.is_empty() {
            Ok(())
        } else {
            Err(format!("files {gone:?} disappeared and were not loaded"))
        }
    }
}

/// Returns the bytes of a store file as output formats write it.
fn write_file(cells: &[CellRef<'_>]) -> Result<Vec<u8>> {
    // Not on the simulated disk, because its writer is not under test.
    let memory = MemoryFile::default();
    let options =
        WriterOptions { include_sequence_ids: false, block_bytes: 64, ..WriterOptions::default() };
    let mut writer = Writer::create(Box::new(memory.clone()), "to load", options)?;
    cells.iter().try_for_each(|cell| writer.append(*cell))?;
    writer.finish(StoreFileInfo::default())?;
    Ok(memory.take_bytes())
}
