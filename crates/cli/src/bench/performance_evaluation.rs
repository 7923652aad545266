//! Operations of HBase's PerformanceEvaluation, as in version 2.6.

use halite::{
    Append, BlockingRows, BlockingTable, CheckAndMutate, Error, FamilyDescriptor, Get, Increment,
    Put, Result, RowOp, Scan, TableDescriptor, TableName,
};

use super::rng::SeededRng;
use super::rows::{RandomBytes, evaluation_key};
use super::run::{Operations, Worker};
use super::{BenchConfig, Workload};

/// Table of PerformanceEvaluation.
const TABLE: &str = "TestTable";
/// Qualifier of the value in each family.
const COLUMN: &str = "0";
/// Separate qualifier for increment, append and checkAndPut.
const OTHER_COLUMN: &str = "q";

/// PerformanceEvaluation workload on one table.
pub(crate) struct Evaluation<'a> {
    workload: Workload,
    table: BlockingTable,
    config: &'a BenchConfig,
    random_bytes: RandomBytes,
    families: Vec<String>,
}

/// Returns the table descriptor.
pub(crate) fn descriptor(settings: &BenchConfig) -> Result<TableDescriptor> {
    let name: TableName = TABLE.parse()?;
    let families = family_names(settings);
    Ok(families.into_iter().fold(TableDescriptor::new(name), |table, family| {
        table.family(FamilyDescriptor::new(family))
    }))
}

fn family_names(settings: &BenchConfig) -> Vec<String> {
    (0..settings.families).map(|number| format!("info{number}")).collect()
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(workload: Workload, table: BlockingTable, config: &'a BenchConfig) -> Self {
        Self {
            workload,
            table,
            config,
            random_bytes: RandomBytes::new(config.value_bytes),
            families: family_names(config),
        }
    }

    fn put(&self, row: u64) -> Put {
        let put =
            Put::new(evaluation_key(row)).durability(self.config.durability.mutation_durability());
        self.families
            .iter()
            .fold(put, |put, family| put.add(family, COLUMN, self.random_bytes.value(row)))
    }

    fn put_other(&self, row: u64) -> Put {
        let key = evaluation_key(row);
        Put::new(key.clone()).durability(self.config.durability.mutation_durability()).add(
            &self.families[0],
            OTHER_COLUMN,
            key,
        )
    }

    fn get(&self, row: u64) -> Get {
        self.families
            .iter()
            .fold(Get::new(evaluation_key(row)), |get, family| get.column(family.clone(), COLUMN))
    }

    /// Reads a row that must exist. A get of a missing row is cheaper and would distort the
    /// measurement.
    fn read(&self, row: u64) -> Result<()> {
        let found = self.table.get(self.get(row))?;
        let wrong = || {
            Error::invalid(format!(
                "row {row} of {TABLE} is not there or not whole; begin with an empty directory"
            ))
        };
        if found.len() == self.families.len() { Ok(()) } else { Err(wrong()) }
    }

    fn check_and_put(&self, row: u64) -> Result<()> {
        let key = evaluation_key(row);
        self.table.put(self.put_other(row))?;
        self.table.check_and_mutate(CheckAndMutate::if_equals(
            key.clone(),
            self.families[0].clone(),
            OTHER_COLUMN,
            key,
            self.put_other(row),
        ))?;
        Ok(())
    }

    fn scan_range(&self, chance: &mut SeededRng, rows: u64) -> Result<()> {
        let start = chance.below(self.config.rows);
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

    fn row_exists(&self, row: u64) -> Result<bool> {
        self.table.exists(self.get(row))
    }

    fn row_bytes(&self) -> u64 {
        (evaluation_key(0).len() + self.families.len() * self.config.value_bytes) as u64
    }

    fn worker(&self, first: u64, end: u64, seed: u64) -> Box<dyn Worker + '_> {
        let scan = Scan::range(evaluation_key(first), evaluation_key(end));
        let scan = (self.workload == Workload::Scan).then(|| self.table.scan(scan));
        Box::new(EvaluationWorker { evaluation: self, rng: SeededRng::new(seed), scan })
    }
}

struct EvaluationWorker<'a> {
    evaluation: &'a Evaluation<'a>,
    rng: SeededRng,
    scan: Option<BlockingRows>,
}

impl Worker for EvaluationWorker<'_> {
    fn operate(&mut self, turn: u64) -> Result<u64> {
        let of = self.evaluation;
        let row_bytes = of.row_bytes();
        let other_bytes = 2 * evaluation_key(0).len() as u64;
        match of.workload {
            Workload::SequentialWrite => of.table.put(of.put(turn)).map(|()| row_bytes),
            Workload::RandomWrite => {
                of.table.put(of.put(self.rng.below(of.config.rows))).map(|()| row_bytes)
            }
            Workload::SequentialRead => of.read(turn).map(|()| 0),
            Workload::RandomRead => of.read(self.rng.below(of.config.rows)).map(|()| 0),
            Workload::Scan => self.scan.as_mut().and_then(Iterator::next).transpose().map(|_| 0),
            Workload::Increment => {
                let increment = Increment::new(evaluation_key(turn))
                    .durability(of.config.durability.mutation_durability());
                of.table
                    .increment(increment.add(&of.families[0], "counter", 1))
                    .map(|_| other_bytes)
            }
            Workload::Append => {
                let key = evaluation_key(turn);
                let append =
                    Append::new(key.clone()).durability(of.config.durability.mutation_durability());
                of.table.append(append.add(&of.families[0], "appended", key)).map(|_| other_bytes)
            }
            Workload::CheckAndPut => of.check_and_put(turn).map(|()| 2 * other_bytes),
            scan => of.scan_range(&mut self.rng, scan.scan_rows().unwrap_or(1)).map(|()| 0),
        }
    }
}
