//! Operations of YCSB's core workloads A to F.

use std::sync::atomic::{AtomicU64, Ordering};

use halite::{
    BlockingTable, FamilyDescriptor, Get, Put, Result, RowOp, Scan, TableDescriptor, TableName,
};

use super::rng::{Chooser, Distribution, SeededRng};
use super::rows::{RandomBytes, ycsb_key};
use super::run::{Operations, Worker};
use super::{BenchConfig, Workload};

/// Table of YCSB.
const TABLE: &str = "usertable";
/// Fields of a row. Each is one column with an equal part of the value.
const FIELDS: u64 = 10;
/// Maximum rows per scan.
const MAX_SCAN_ROWS: u64 = 100;

/// Shares of the operations in percent. The remainder reads and then updates the same row.
#[derive(Clone, Copy)]
struct Mix {
    read: u64,
    update: u64,
    insert: u64,
    scan: u64,
    distribution: Distribution,
}

fn mix(workload: Workload) -> Mix {
    let mix = Mix { read: 0, update: 0, insert: 0, scan: 0, distribution: Distribution::Zipfian };
    match workload {
        Workload::YcsbA => Mix { read: 50, update: 50, ..mix },
        Workload::YcsbB => Mix { read: 95, update: 5, ..mix },
        Workload::YcsbD => Mix { read: 95, insert: 5, distribution: Distribution::Latest, ..mix },
        Workload::YcsbE => Mix { scan: 95, insert: 5, ..mix },
        Workload::YcsbF => Mix { read: 50, ..mix },
        _ => Mix { read: 100, ..mix },
    }
}

/// YCSB workload on one table.
pub(crate) struct Ycsb<'a> {
    table: BlockingTable,
    config: &'a BenchConfig,
    mix: Mix,
    chooser: Chooser,
    random_bytes: RandomBytes,
    families: Vec<String>,
    /// Number of the next inserted row.
    next_row: AtomicU64,
    /// Lower bound of the rows that exist: every number below it has been inserted.
    inserted: AtomicU64,
}

/// Returns the table descriptor.
pub(crate) fn descriptor(settings: &BenchConfig) -> Result<TableDescriptor> {
    let name: TableName = TABLE.parse()?;
    let families = family_names(settings);
    Ok(families.into_iter().fold(TableDescriptor::new(name), |table, family| {
        table.family(FamilyDescriptor::new(family).versions(1))
    }))
}

fn family_names(settings: &BenchConfig) -> Vec<String> {
    (0..settings.families)
        .map(|number| if number == 0 { "family".to_owned() } else { format!("family{number}") })
        .collect()
}

impl<'a> Ycsb<'a> {
    pub(crate) fn new(workload: Workload, table: BlockingTable, config: &'a BenchConfig) -> Self {
        let mix = mix(workload);
        let chooser = Chooser::new(config.distribution.unwrap_or(mix.distribution), config.rows);
        let (next_row, inserted) = (AtomicU64::new(config.rows), AtomicU64::new(config.rows));
        let random_bytes = RandomBytes::new(config.value_bytes.div_ceil(FIELDS as usize));
        Self {
            table,
            config,
            mix,
            chooser,
            random_bytes,
            families: family_names(config),
            next_row,
            inserted,
        }
    }

    /// Creates a row with all its fields.
    fn whole(&self, row: u64) -> Put {
        let put = Put::new(ycsb_key(row)).durability(self.config.durability.mutation_durability());
        let columns =
            self.families.iter().flat_map(|family| (0..FIELDS).map(move |field| (family, field)));
        columns.fold(put, |put, (family, field)| {
            put.add(family, format!("field{field}"), self.random_bytes.value(row * FIELDS + field))
        })
    }

    fn insert(&self) -> Result<u64> {
        let row = self.next_row.fetch_add(1, Ordering::Relaxed);
        self.table.put(self.whole(row))?;
        // Rows that another thread has numbered but not yet put count as existing. A read of one
        // returns nothing, which distorts the measurement no more than the waiting that YCSB does.
        self.inserted.fetch_max(row + 1, Ordering::Relaxed);
        Ok(self.row_bytes())
    }

    fn update(&self, row: u64, chance: &mut SeededRng) -> Result<u64> {
        let key = ycsb_key(row);
        let family = &self.families[chance.below(self.families.len() as u64) as usize];
        let value = self.random_bytes.value(chance.next());
        let bytes = key.len() + value.len();
        let put = Put::new(key).durability(self.config.durability.mutation_durability());
        self.table.put(put.add(family, format!("field{}", chance.below(FIELDS)), value))?;
        Ok(bytes as u64)
    }

    fn scan(&self, row: u64, chance: &mut SeededRng) -> Result<()> {
        let rows = 1 + chance.below(MAX_SCAN_ROWS);
        self.table
            .scan(Scan::all().start(ycsb_key(row)).limit(rows as usize))
            .try_for_each(|row| row.map(drop))
    }
}

impl Operations for Ycsb<'_> {
    fn load(&self, row: u64) -> RowOp {
        self.whole(row).into()
    }

    fn row_exists(&self, row: u64) -> Result<bool> {
        self.table.exists(Get::new(ycsb_key(row)))
    }

    fn row_bytes(&self) -> u64 {
        let values = self.families.len() as u64 * FIELDS * self.random_bytes.value(0).len() as u64;
        ycsb_key(0).len() as u64 + values
    }

    fn worker(&self, _: u64, _: u64, seed: u64) -> Box<dyn Worker + '_> {
        Box::new(YcsbWorker { ycsb: self, rng: SeededRng::new(seed) })
    }
}

struct YcsbWorker<'a> {
    ycsb: &'a Ycsb<'a>,
    rng: SeededRng,
}

impl Worker for YcsbWorker<'_> {
    fn operate(&mut self, _: u64) -> Result<u64> {
        let of = self.ycsb;
        let mut share = self.rng.below(100);
        let mut falls_in = |percent: u64| {
            let inside = share < percent;
            share = share.wrapping_sub(percent);
            inside
        };
        if falls_in(of.mix.insert) {
            return of.insert();
        }
        let row = of.chooser.next(&mut self.rng, of.inserted.load(Ordering::Relaxed));
        if falls_in(of.mix.read) {
            return of.table.get(Get::new(ycsb_key(row))).map(|_| 0);
        }
        if falls_in(of.mix.update) {
            return of.update(row, &mut self.rng);
        }
        if falls_in(of.mix.scan) {
            return of.scan(row, &mut self.rng).map(|()| 0);
        }
        of.table.get(Get::new(ycsb_key(row)))?;
        of.update(row, &mut self.rng)
    }
}
