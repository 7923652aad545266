//! The operations of HBase's PerformanceEvaluation, as version 2.6 does them.

use halite::{Append, CheckAndMutate, Error, FamilyDescriptor, Get, Increment, Put, Result, RowOp, Scan, TableDescriptor, TableName};

use super::chance::Chance;
use super::rows::{Noise, evaluation_key};
use super::run::{Operations, Worker};
use super::{Settings, Workload};
use crate::place::{PlaceRows, PlaceTable};

/// Its table.
const TABLE: &str = "TestTable";
/// The qualifier of the value in each family.
const COLUMN: &str = "0";
/// The qualifier that increment, append and checkAndPut have to themselves.
const OTHER_COLUMN: &str = "q";

/// One workload of PerformanceEvaluation on one table.
pub(crate) struct Evaluation<'a> {
    workload: Workload,
    table: PlaceTable,
    settings: &'a Settings,
    noise: Noise,
    families: Vec<String>,
}

/// The table's descriptor.
pub(crate) fn descriptor(settings: &Settings) -> Result<TableDescriptor> {
    let name: TableName = TABLE.parse()?;
    let families = family_names(settings);
    Ok(families.into_iter().fold(TableDescriptor::new(name), |table, family| table.family(FamilyDescriptor::new(family))))
}

fn family_names(settings: &Settings) -> Vec<String> {
    (0..settings.families).map(|number| format!("info{number}")).collect()
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(workload: Workload, table: PlaceTable, settings: &'a Settings) -> Self {
        Self { workload, table, settings, noise: Noise::new(settings.value_bytes), families: family_names(settings) }
    }

    fn put(&self, row: u64) -> Put {
        let put = Put::new(evaluation_key(row)).durability(self.settings.durability.of_write());
        self.families.iter().fold(put, |put, family| put.add(family, COLUMN, self.noise.value(row)))
    }

    fn put_other(&self, row: u64) -> Put {
        let key = evaluation_key(row);
        Put::new(key.clone()).durability(self.settings.durability.of_write()).add(&self.families[0], OTHER_COLUMN, key)
    }

    fn get(&self, row: u64) -> Get {
        self.families.iter().fold(Get::new(evaluation_key(row)), |get, family| get.column(family.clone(), COLUMN))
    }

    /// Reads a row that has to be there: looking for nothing is another, cheaper thing to measure.
    fn read(&self, row: u64) -> Result<()> {
        let found = self.table.get(self.get(row))?;
        let wrong = || Error::invalid(format!("row {row} of {TABLE} is not there or not whole; begin with an empty directory"));
        if found.len() == self.families.len() { Ok(()) } else { Err(wrong()) }
    }

    fn check_and_put(&self, row: u64) -> Result<()> {
        let key = evaluation_key(row);
        self.table.put(self.put_other(row))?;
        self.table.check_and_mutate(CheckAndMutate::if_equals(key.clone(), self.families[0].clone(), OTHER_COLUMN, key, self.put_other(row)))?;
        Ok(())
    }

    fn scan_range(&self, chance: &mut Chance, rows: u64) -> Result<()> {
        let start = chance.below(self.settings.rows);
        let mut scan = Scan::range(evaluation_key(start), evaluation_key(start + rows));
        for family in &self.families {
            scan = scan.column(family.clone(), COLUMN);
        }
        self.table.scan(scan).try_for_each(|row| row.map(drop))
    }
}

impl Operations for Evaluation<'_> {
    fn load(&self, row: u64) -> RowOp {
        self.put(row).into()
    }

    fn is_there(&self, row: u64) -> Result<bool> {
        self.table.exists(self.get(row))
    }

    fn row_bytes(&self) -> u64 {
        (evaluation_key(0).len() + self.families.len() * self.settings.value_bytes) as u64
    }

    fn worker(&self, first: u64, end: u64, seed: u64) -> Box<dyn Worker + '_> {
        let scan = Scan::range(evaluation_key(first), evaluation_key(end));
        let scan = (self.workload == Workload::Scan).then(|| self.table.scan(scan));
        Box::new(EvaluationWorker { of: self, chance: Chance::new(seed), scan })
    }
}

struct EvaluationWorker<'a> {
    of: &'a Evaluation<'a>,
    chance: Chance,
    scan: Option<PlaceRows>,
}

impl Worker for EvaluationWorker<'_> {
    fn operate(&mut self, turn: u64) -> Result<u64> {
        let of = self.of;
        let row_bytes = of.row_bytes();
        let other_bytes = 2 * evaluation_key(0).len() as u64;
        match of.workload {
            Workload::SequentialWrite => of.table.put(of.put(turn)).map(|()| row_bytes),
            Workload::RandomWrite => of.table.put(of.put(self.chance.below(of.settings.rows))).map(|()| row_bytes),
            Workload::SequentialRead => of.read(turn).map(|()| 0),
            Workload::RandomRead => of.read(self.chance.below(of.settings.rows)).map(|()| 0),
            Workload::Scan => self.scan.as_mut().and_then(Iterator::next).transpose().map(|_| 0),
            Workload::Increment => {
                let increment = Increment::new(evaluation_key(turn)).durability(of.settings.durability.of_write());
                of.table.increment(increment.add(&of.families[0], "counter", 1)).map(|_| other_bytes)
            }
            Workload::Append => {
                let key = evaluation_key(turn);
                let append = Append::new(key.clone()).durability(of.settings.durability.of_write());
                of.table.append(append.add(&of.families[0], "appended", key)).map(|_| other_bytes)
            }
            Workload::CheckAndPut => of.check_and_put(turn).map(|()| 2 * other_bytes),
            scan => of.scan_range(&mut self.chance, scan.scan_rows().unwrap_or(1)).map(|()| 0),
        }
    }
}
