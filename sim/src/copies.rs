//! Snapshots of the table, tables made of them, and settings, in the engine and in the model.
//!
//! Every change is whole or absent after a crash. Which of the two shows in what the engine lists; whether that is whole
//! shows in the cells.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{OpResult, RegionInfo, Result, RowOp, TableName};

use crate::check::Mismatch;
use crate::log::{Promise, way_of};
use crate::model::{Model, Refusal};
use crate::show::show_op;
use crate::store::{Store, is_refusal};
use crate::world::{Outcome, Stop, World, compare_answer};

/// Snapshots at one time, clones, and settings.
const SNAPSHOTS: u64 = 3;
const SETTINGS: u64 = 3;
const CLONES: u64 = 2;

/// What there is beside the table.
#[derive(Default)]
pub(crate) struct Copies {
    snapshots: BTreeMap<String, Model>,
    clones: BTreeMap<TableName, Model>,
    settings: BTreeMap<String, Bytes>,
    /// What was being done when a call failed.
    under_way: Option<Change>,
}

enum Change {
    Take(String, Model),
    Delete(String),
    Set(String, Bytes),
    Unset(String),
    Clone(TableName, Model),
    /// Of this table nothing is known but that it may go.
    Drop(TableName),
    /// With the regions that the table had before.
    Restore(Model, Vec<RegionInfo>),
}

impl Copies {
    /// Whether a change has begun and not ended.
    pub(crate) fn is_changing(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether the table was being restored when a call failed.
    pub(crate) fn is_restoring(&self) -> bool {
        matches!(self.under_way, Some(Change::Restore(..)))
    }
}

fn table_name(name: &str) -> TableName {
    TableName::new("default", name).expect("a legal name")
}

impl World {
    /// Does a change of which nothing or all is there after a crash.
    fn change_copies(&mut self, change: Change, work: impl FnOnce(&Store) -> Result<()>) -> Outcome {
        self.copies.under_way = Some(change);
        self.note_rewrites(true);
        work(self.store()?)?;
        self.note_rewrites(true);
        self.tally.copies += 1;
        match self.copies.under_way.take() {
            Some(Change::Take(name, model)) => {
                self.copies.snapshots.insert(name, model);
                self.all_is_safe();
            }
            Some(Change::Delete(name)) => drop(self.copies.snapshots.remove(&name)),
            Some(Change::Set(name, value)) => drop(self.copies.settings.insert(name, value)),
            Some(Change::Unset(name)) => drop(self.copies.settings.remove(&name)),
            Some(Change::Clone(name, model)) => drop(self.copies.clones.insert(name, model)),
            Some(Change::Drop(name)) => drop(self.copies.clones.remove(&name)),
            Some(Change::Restore(model, _)) => self.replace_all(model),
            None => {}
        }
        Ok(())
    }

    pub(crate) fn take_or_delete(&mut self, number: u64) -> Outcome {
        let name = format!("s{}", number % SNAPSHOTS);
        if self.copies.snapshots.contains_key(&name) {
            return self.change_copies(Change::Delete(name.clone()), |store| store.delete_snapshot(&name));
        }
        if self.has_late_entries() {
            // What failed may come with the flush before the snapshot, and be in it.
            self.flush()?;
        }
        if self.has_late_entries() {
            return Ok(());
        }
        let mut model = self.model.clone();
        model.note_compaction(self.now());
        self.change_copies(Change::Take(name.clone(), model), |store| store.take_snapshot(&name))
    }

    /// Keeps another value under one of a few names, or takes the name away; every third number does.
    pub(crate) fn change_setting(&mut self, number: u64) -> Outcome {
        let name = format!("setting {}", number % SETTINGS);
        if number / SETTINGS % 3 == 2 {
            return self.change_copies(Change::Unset(name.clone()), |store| store.change_setting(&name, None));
        }
        let value = Bytes::from(format!("value {}", self.sim.fs.calls()));
        self.change_copies(Change::Set(name.clone(), value.clone()), |store| store.change_setting(&name, Some(value)))
    }

    /// A snapshot, counted modulo their number.
    fn snapshot(&self, number: u64) -> Option<(String, Model)> {
        let count = self.copies.snapshots.len() as u64;
        let at = usize::try_from(number.checked_rem(count)?).ok()?;
        self.copies.snapshots.iter().nth(at).map(|(name, model)| (name.clone(), model.clone()))
    }

    pub(crate) fn clone_or_drop(&mut self, number: u64) -> Outcome {
        let name = table_name(&format!("c{}", number % CLONES));
        if self.copies.clones.contains_key(&name) {
            return self.drop_clone(&name);
        }
        let Some((snapshot, model)) = self.snapshot(number) else { return Ok(()) };
        self.change_copies(Change::Clone(name.clone(), model), |store| store.on(&name).clone_snapshot(&snapshot))?;
        self.check_clones()
    }

    fn drop_clone(&mut self, name: &TableName) -> Outcome {
        self.change_copies(Change::Drop(name.clone()), |store| store.on(name).drop_table())
    }

    pub(crate) fn restore(&mut self, number: u64) -> Outcome {
        let Some((snapshot, model)) = self.snapshot(number) else { return Ok(()) };
        let regions = self.store()?.regions()?;
        self.change_copies(Change::Restore(model, regions), |store| store.restore_snapshot(&snapshot))?;
        let mut model = self.model.clone();
        model.note_compaction(self.now());
        self.check_all(&model)
    }

    /// Makes a table of each snapshot, looks into it and drops it.
    pub(crate) fn check_snapshots(&mut self) -> Outcome {
        let name = table_name("check");
        for (snapshot, mut model) in self.copies.snapshots.clone() {
            self.change_copies(Change::Clone(name.clone(), model.clone()), |store| store.on(&name).clone_snapshot(&snapshot))?;
            model.note_compaction(self.now());
            let checked = self.check_table(&name, &model);
            checked.map_err(|stop| about(&format!("snapshot {snapshot}"), stop))?;
            self.drop_clone(&name)?;
        }
        Ok(())
    }

    pub(crate) fn forget_all(&mut self) -> Outcome {
        for name in self.copies.snapshots.keys().cloned().collect::<Vec<_>>() {
            self.change_copies(Change::Delete(name.clone()), |store| store.delete_snapshot(&name))?;
            self.check_clones()?;
        }
        for name in self.copies.clones.keys().cloned().collect::<Vec<_>>() {
            self.drop_clone(&name)?;
        }
        Ok(())
    }

    fn pick_clone(&self, number: u64) -> Option<TableName> {
        let at = usize::try_from(number.checked_rem(self.copies.clones.len() as u64)?).ok()?;
        self.copies.clones.keys().nth(at).cloned()
    }

    pub(crate) fn write_clone(&mut self, number: u64, op: &RowOp) -> Outcome {
        let Some(name) = self.pick_clone(number) else { return Ok(()) };
        let model = &self.copies.clones[&name];
        let effect = match model.effect(op, self.now()) {
            Ok(effect) if effect.certain => effect,
            // What a doubtful read leads to is doubtful for ever; such a write is left out.
            Ok(_) | Err(Refusal(_)) => return Ok(()),
        };
        // After a failure nobody asks whether it came about.
        self.copies.under_way = Some(Change::Drop(name.clone()));
        let result = self.store()?.on(&name).apply(vec![op.clone()]).pop().unwrap_or_else(|| Ok(OpResult::default()))?;
        if way_of(op, self.promised).1 != Promise::Fsync {
            // Only of the table itself do we know what a crash may take.
            self.store()?.on(&name).flush()?;
        }
        self.copies.under_way = None;
        compare_answer(op, &effect, &result).map_err(|what| format!("clone {name}, {}: {what}", show_op(op)))?;
        if let Some(model) = self.copies.clones.get_mut(&name) {
            model.apply(&effect);
        }
        Ok(())
    }

    /// Changes files or regions of a clone, which changes nothing that can be seen.
    pub(crate) fn change_clone(&mut self, number: u64, change: impl FnOnce(&Store) -> Result<()>) -> Outcome {
        let Some(name) = self.pick_clone(number) else { return Ok(()) };
        let store = self.store()?.on(&name);
        let done = if store.regions()?.len() < 6 { change(&store) } else { Ok(()) };
        match done {
            Err(error) if is_refusal(&error) => {}
            other => other?,
        }
        self.check_clones()
    }

    pub(crate) fn check_clones(&mut self) -> Outcome {
        let now = self.now();
        self.copies.clones.values_mut().for_each(|model| model.note_compaction(now));
        for (name, model) in self.copies.clones.clone() {
            self.check_table(&name, &model).map_err(|stop| about(&format!("clone {name}"), stop))?;
        }
        Ok(())
    }

    /// Finds out what became of the change under way, and that everything else is there.
    pub(crate) fn find_copies(&mut self) -> Outcome {
        let store = self.store()?.on(self.table.name());
        let (snapshots, tables) = (store.snapshots(), store.tables());
        let settings: BTreeMap<_, _> = store.settings().into_iter().collect();
        match self.copies.under_way.take() {
            Some(Change::Take(name, model)) if snapshots.contains(&name) => drop(self.copies.snapshots.insert(name, model)),
            Some(Change::Delete(name)) if !snapshots.contains(&name) => drop(self.copies.snapshots.remove(&name)),
            Some(Change::Set(name, value)) if settings.get(&name) == Some(&value) => drop(self.copies.settings.insert(name, value)),
            Some(Change::Unset(name)) if !settings.contains_key(&name) => drop(self.copies.settings.remove(&name)),
            Some(Change::Clone(name, model)) if tables.contains(&name) => drop(self.copies.clones.insert(name, model)),
            Some(Change::Drop(name)) => {
                self.copies.under_way = Some(Change::Drop(name.clone()));
                store.on(&name).drop_table()?;
                self.copies.clones.remove(&name);
                self.copies.under_way = None;
            }
            // A restored table has regions of its own.
            Some(Change::Restore(model, before)) if store.regions()? != before => self.replace_all(model),
            _ => {}
        }
        // A table of a look into a snapshot is nobody's.
        let check = table_name("check");
        if self.copies.clones.remove(&check).is_some() {
            self.copies.under_way = Some(Change::Drop(check.clone()));
            self.store()?.on(&check).drop_table()?;
            self.copies.under_way = None;
        }
        Ok(self.compare_lists()?)
    }

    fn compare_lists(&self) -> std::result::Result<(), Mismatch> {
        let Some(store) = &self.store else { return Ok(()) };
        let (snapshots, mut tables) = (store.snapshots(), store.tables());
        tables.retain(|table| table != self.table.name());
        if !snapshots.iter().eq(self.copies.snapshots.keys()) {
            return Err(format!("there are the snapshots {snapshots:?}, right is {:?}", self.copies.snapshots.keys()));
        }
        if !tables.iter().eq(self.copies.clones.keys()) {
            return Err(format!("there are the clones {tables:?}, right is {:?}", self.copies.clones.keys()));
        }
        let settings: BTreeMap<_, _> = store.settings().into_iter().collect();
        if settings != self.copies.settings {
            return Err(format!("there are the settings {settings:?}, right is {:?}", self.copies.settings));
        }
        Ok(())
    }

    /// With no snapshots and clones left, and no files of compactions to be made: the disk holds what the regions name and
    /// nothing else.
    ///
    /// # Errors
    /// What lies there too much or is missing.
    pub fn check_disk(&self) -> std::result::Result<(), Mismatch> {
        let Some(store) = &self.store else { return Err("there is no open store".into()) };
        let is_hidden = |path: &str| path.split('/').any(|name| name.starts_with('.'));
        let files: Vec<String> = self
            .sim
            .fs
            .files()
            .into_keys()
            .filter(|path| !path.starts_with("halite/") && !path.starts_with("manifests/") && !is_hidden(path))
            .collect();
        let (stores, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| path.starts_with("data/default/t/"));
        let others: Vec<_> = others.into_iter().filter(|path| path != "hbase.id" && path != "hbase.version").collect();
        if !others.is_empty() || stores.len() as u64 != store.file_count() {
            return Err(format!("the regions name {} files; there are {stores:?} and {others:?}", store.file_count()));
        }
        Ok(())
    }
}

/// Says what a wrong answer is about.
fn about(what: &str, stop: Stop) -> Stop {
    match stop {
        Stop::Wrong(mismatch) => Stop::Wrong(format!("{what}: {mismatch}")),
        failed @ Stop::Failed(..) => failed,
    }
}
