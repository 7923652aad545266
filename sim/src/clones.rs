//! Snapshots of the table, tables cloned from them, and settings, in the engine and in the model.
//!
//! Every change is complete or absent after a crash. The engine's listings show which; the cells
//! show that it is complete.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{OpResult, RegionInfo, Result, RowOp, TableName};

use crate::check::Mismatch;
use crate::display::format_op;
use crate::log::{Promise, write_path};
use crate::model::{ExpectedError, Model};
use crate::step::{StepError, StepResult};
use crate::store::{Store, is_refusal};
use crate::world::{World, compare_result};

/// Maximum numbers of concurrent snapshots, clones and settings.
const MAX_SNAPSHOTS: u64 = 3;
const MAX_PROPERTIES: u64 = 3;
const MAX_CLONES: u64 = 2;

/// State in addition to the table.
#[derive(Default)]
pub(crate) struct CloneState {
    snapshots: BTreeMap<String, Model>,
    clones: BTreeMap<TableName, Model>,
    properties: BTreeMap<String, Bytes>,
    /// Change in progress when a call failed.
    pending: Option<PendingChange>,
}

enum PendingChange {
    Take(String, Model),
    Delete(String),
    Set(String, Bytes),
    Unset(String),
    Clone(TableName, Model),
    /// Drop of a table whose contents are unknown.
    Drop(TableName),
    /// Restore, with the regions that the table had before.
    Restore(Model, Vec<RegionInfo>),
}

impl CloneState {
    /// Returns `true` if a change is in progress.
    pub(crate) fn is_changing(&self) -> bool {
        self.pending.is_some()
    }

    /// Returns `true` if a call failed while the table was being restored.
    pub(crate) fn is_restoring(&self) -> bool {
        matches!(self.pending, Some(PendingChange::Restore(..)))
    }
}

fn table_name(name: &str) -> TableName {
    TableName::new("default", name).expect("a legal name")
}

impl World {
    /// Applies a change that is complete or absent after a crash.
    fn apply_change(
        &mut self,
        change: PendingChange,
        work: impl FnOnce(&Store) -> Result<()>,
    ) -> StepResult {
        self.clone_state.pending = Some(change);
        self.record_rewrites(true);
        work(self.store()?)?;
        self.record_rewrites(true);
        self.stats.snapshot_operations += 1;
        match self.clone_state.pending.take() {
            Some(PendingChange::Take(name, model)) => {
                self.clone_state.snapshots.insert(name, model);
                self.mark_all_safe();
            }
            Some(PendingChange::Delete(name)) => drop(self.clone_state.snapshots.remove(&name)),
            Some(PendingChange::Set(name, value)) => {
                drop(self.clone_state.properties.insert(name, value));
            }
            Some(PendingChange::Unset(name)) => drop(self.clone_state.properties.remove(&name)),
            Some(PendingChange::Clone(name, model)) => {
                drop(self.clone_state.clones.insert(name, model));
            }
            Some(PendingChange::Drop(name)) => drop(self.clone_state.clones.remove(&name)),
            Some(PendingChange::Restore(model, _)) => self.replace_all(model),
            None => {}
        }
        Ok(())
    }

    pub(crate) fn take_or_delete_snapshot(&mut self, number: u64) -> StepResult {
        let name = format!("s{}", number % MAX_SNAPSHOTS);
        if self.clone_state.snapshots.contains_key(&name) {
            return self.apply_change(PendingChange::Delete(name.clone()), |store| {
                store.delete_snapshot(&name)
            });
        }
        if self.has_late_entries() {
            // A failed write may become durable with the flush before the snapshot, and be in it.
            self.flush()?;
        }
        if self.has_late_entries() {
            return Ok(());
        }
        let mut model = self.model.clone();
        model.record_compaction(self.now());
        self.apply_change(PendingChange::Take(name.clone(), model), |store| {
            store.create_snapshot(&name)
        })
    }

    /// Stores another value under one of a few names; every third number deletes the name.
    pub(crate) fn change_property(&mut self, number: u64) -> StepResult {
        let name = format!("setting {}", number % MAX_PROPERTIES);
        if number / MAX_PROPERTIES % 3 == 2 {
            return self.apply_change(PendingChange::Unset(name.clone()), |store| {
                store.update_property(&name, None)
            });
        }
        let value = Bytes::from(format!("value {}", self.sim.fs.calls()));
        self.apply_change(PendingChange::Set(name.clone(), value.clone()), |store| {
            store.update_property(&name, Some(value))
        })
    }

    /// Returns a snapshot, counted modulo their number.
    fn snapshot(&self, number: u64) -> Option<(String, Model)> {
        let count = self.clone_state.snapshots.len() as u64;
        let index = usize::try_from(number.checked_rem(count)?).ok()?;
        self.clone_state
            .snapshots
            .iter()
            .nth(index)
            .map(|(name, model)| (name.clone(), model.clone()))
    }

    pub(crate) fn clone_or_drop(&mut self, number: u64) -> StepResult {
        let name = table_name(&format!("c{}", number % MAX_CLONES));
        if self.clone_state.clones.contains_key(&name) {
            return self.drop_clone(&name);
        }
        let Some((snapshot, model)) = self.snapshot(number) else { return Ok(()) };
        self.apply_change(PendingChange::Clone(name.clone(), model), |store| {
            store.with_table(&name).clone_snapshot(&snapshot)
        })?;
        self.check_clones()
    }

    fn drop_clone(&mut self, name: &TableName) -> StepResult {
        self.apply_change(PendingChange::Drop(name.clone()), |store| {
            store.with_table(name).drop_table()
        })
    }

    pub(crate) fn restore(&mut self, number: u64) -> StepResult {
        let Some((snapshot, model)) = self.snapshot(number) else { return Ok(()) };
        let regions = self.store()?.regions()?;
        self.apply_change(PendingChange::Restore(model, regions), |store| {
            store.restore_snapshot(&snapshot)
        })?;
        let mut model = self.model.clone();
        model.record_compaction(self.now());
        self.check_all(&model)
    }

    /// Clones each snapshot, checks the contents of the clone and drops it.
    pub(crate) fn check_snapshots(&mut self) -> StepResult {
        let name = table_name("check");
        for (snapshot, mut model) in self.clone_state.snapshots.clone() {
            self.apply_change(PendingChange::Clone(name.clone(), model.clone()), |store| {
                store.with_table(&name).clone_snapshot(&snapshot)
            })?;
            model.record_compaction(self.now());
            let checked = self.check_table(&name, &model);
            checked.map_err(|stop| with_context(&format!("snapshot {snapshot}"), stop))?;
            self.drop_clone(&name)?;
        }
        Ok(())
    }

    pub(crate) fn remove_all(&mut self) -> StepResult {
        for name in self.clone_state.snapshots.keys().cloned().collect::<Vec<_>>() {
            self.apply_change(PendingChange::Delete(name.clone()), |store| {
                store.delete_snapshot(&name)
            })?;
            self.check_clones()?;
        }
        for name in self.clone_state.clones.keys().cloned().collect::<Vec<_>>() {
            self.drop_clone(&name)?;
        }
        Ok(())
    }

    fn pick_clone(&self, number: u64) -> Option<TableName> {
        let index =
            usize::try_from(number.checked_rem(self.clone_state.clones.len() as u64)?).ok()?;
        self.clone_state.clones.keys().nth(index).cloned()
    }

    pub(crate) fn write_clone(&mut self, number: u64, op: &RowOp) -> StepResult {
        let Some(name) = self.pick_clone(number) else { return Ok(()) };
        let model = &self.clone_state.clones[&name];
        let effect = match model.effect(op, self.now()) {
            Ok(effect) if effect.certain => effect,
            // A write that depends on a doubtful read would be doubtful indefinitely, so it is
            // skipped.
            Ok(_) | Err(ExpectedError(_)) => return Ok(()),
        };
        // After a failure no step checks the outcome of this clone.
        self.clone_state.pending = Some(PendingChange::Drop(name.clone()));
        let result = self
            .store()?
            .with_table(&name)
            .apply(vec![op.clone()])
            .pop()
            .unwrap_or_else(|| Ok(OpResult::default()))?;
        if write_path(op, self.promised).1 != Promise::Fsync {
            // The model tracks possible losses only for the table itself.
            self.store()?.with_table(&name).flush()?;
        }
        self.clone_state.pending = None;
        compare_result(op, &effect, &result)
            .map_err(|message| format!("clone {name}, {}: {message}", format_op(op)))?;
        if let Some(model) = self.clone_state.clones.get_mut(&name) {
            model.apply(&effect);
        }
        Ok(())
    }

    /// Changes files or regions of a clone without a visible effect.
    pub(crate) fn change_clone(
        &mut self,
        number: u64,
        change: impl FnOnce(&Store) -> Result<()>,
    ) -> StepResult {
        let Some(name) = self.pick_clone(number) else { return Ok(()) };
        let store = self.store()?.with_table(&name);
        let done = if store.regions()?.len() < 6 { change(&store) } else { Ok(()) };
        match done {
            Err(error) if is_refusal(&error) => {}
            other => other?,
        }
        self.check_clones()
    }

    pub(crate) fn check_clones(&mut self) -> StepResult {
        let now = self.now();
        self.clone_state.clones.values_mut().for_each(|model| model.record_compaction(now));
        for (name, model) in self.clone_state.clones.clone() {
            self.check_table(&name, &model)
                .map_err(|stop| with_context(&format!("clone {name}"), stop))?;
        }
        Ok(())
    }

    /// Determines the outcome of the change in progress, and checks that everything else exists.
    pub(crate) fn recover_clones(&mut self) -> StepResult {
        let store = self.store()?.with_table(self.table.name());
        let (snapshots, tables) = (store.snapshots(), store.tables());
        let settings: BTreeMap<_, _> = store.properties().into_iter().collect();
        match self.clone_state.pending.take() {
            Some(PendingChange::Take(name, model)) if snapshots.contains(&name) => {
                drop(self.clone_state.snapshots.insert(name, model));
            }
            Some(PendingChange::Delete(name)) if !snapshots.contains(&name) => {
                drop(self.clone_state.snapshots.remove(&name));
            }
            Some(PendingChange::Set(name, value)) if settings.get(&name) == Some(&value) => {
                drop(self.clone_state.properties.insert(name, value));
            }
            Some(PendingChange::Unset(name)) if !settings.contains_key(&name) => {
                drop(self.clone_state.properties.remove(&name));
            }
            Some(PendingChange::Clone(name, model)) if tables.contains(&name) => {
                drop(self.clone_state.clones.insert(name, model));
            }
            Some(PendingChange::Drop(name)) => {
                self.clone_state.pending = Some(PendingChange::Drop(name.clone()));
                store.with_table(&name).drop_table()?;
                self.clone_state.clones.remove(&name);
                self.clone_state.pending = None;
            }
            // A restored table has new regions.
            Some(PendingChange::Restore(model, before)) if store.regions()? != before => {
                self.replace_all(model);
            }
            _ => {}
        }
        // The clone of an interrupted snapshot check has no owner.
        let check = table_name("check");
        if self.clone_state.clones.remove(&check).is_some() {
            self.clone_state.pending = Some(PendingChange::Drop(check.clone()));
            self.store()?.with_table(&check).drop_table()?;
            self.clone_state.pending = None;
        }
        Ok(self.compare_lists()?)
    }

    fn compare_lists(&self) -> std::result::Result<(), Mismatch> {
        let Some(store) = &self.store else { return Ok(()) };
        let (snapshots, mut tables) = (store.snapshots(), store.tables());
        tables.retain(|table| table != self.table.name());
        if !snapshots.iter().eq(self.clone_state.snapshots.keys()) {
            return Err(format!(
                "snapshots: got {snapshots:?}, expected {:?}",
                self.clone_state.snapshots.keys()
            ));
        }
        if !tables.iter().eq(self.clone_state.clones.keys()) {
            return Err(format!(
                "clones: got {tables:?}, expected {:?}",
                self.clone_state.clones.keys()
            ));
        }
        let settings: BTreeMap<_, _> = store.properties().into_iter().collect();
        if settings != self.clone_state.properties {
            return Err(format!(
                "settings: got {settings:?}, expected {:?}",
                self.clone_state.properties
            ));
        }
        Ok(())
    }

    /// Checks that the disk contains exactly the files that the regions reference. Requires that no
    /// snapshots, clones or pending compactions remain.
    ///
    /// # Errors
    /// Returns the foreign or missing files.
    pub fn check_disk(&self) -> std::result::Result<(), Mismatch> {
        let Some(store) = &self.store else { return Err("no store is open".into()) };
        let is_hidden = |path: &str| path.split('/').any(|name| name.starts_with('.'));
        let files: Vec<String> = self
            .sim
            .fs
            .files()
            .into_keys()
            .filter(|path| {
                !path.starts_with("halite/") && !path.starts_with("manifests/") && !is_hidden(path)
            })
            .collect();
        let (stores, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|path| path.starts_with("data/default/t/"));
        let others: Vec<_> = others
            .into_iter()
            .filter(|path| path != "hbase.id" && path != "hbase.version")
            .collect();
        if !others.is_empty() || stores.len() as u64 != store.file_count() {
            return Err(format!(
                "the regions reference {} files; found {stores:?} and {others:?}",
                store.file_count()
            ));
        }
        Ok(())
    }
}

/// Adds the subject to an incorrect result.
fn with_context(message: &str, stop: StepError) -> StepError {
    match stop {
        StepError::Wrong(mismatch) => StepError::Wrong(format!("{message}: {mismatch}")),
        failed @ StepError::Failed(..) => failed,
    }
}
