//! The operations of YCSB's core workloads A to F.

use std::sync::atomic::{AtomicU64, Ordering};

use halite::{FamilyDescriptor, Get, Put, Result, RowOp, Scan, TableDescriptor, TableName};

use super::chance::{Chance, Chooser, Distribution};
use super::rows::{Noise, ycsb_key};
use super::run::{Operations, Worker};
use super::{Settings, Workload};
use crate::place::PlaceTable;

/// YCSB's table.
const TABLE: &str = "usertable";
/// Fields of a row; each is a column with its part of the value.
const FIELDS: u64 = 10;
/// Most rows of one scan.
const SCAN_ROWS_MAX: u64 = 100;

/// Shares of the operations in percent; what is left reads and then updates the same row.
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

/// One workload of YCSB on one table.
pub(crate) struct Ycsb<'a> {
    table: PlaceTable,
    settings: &'a Settings,
    mix: Mix,
    chooser: Chooser,
    noise: Noise,
    families: Vec<String>,
    /// The number the next inserted row gets.
    next_row: AtomicU64,
    /// Rows that are known to be there: every one below is.
    inserted: AtomicU64,
}

/// The table's descriptor.
pub(crate) fn descriptor(settings: &Settings) -> Result<TableDescriptor> {
    let name: TableName = TABLE.parse()?;
    let families = family_names(settings);
    Ok(families.into_iter().fold(TableDescriptor::new(name), |table, family| table.family(FamilyDescriptor::new(family).versions(1))))
}

fn family_names(settings: &Settings) -> Vec<String> {
    (0..settings.families).map(|number| if number == 0 { "family".to_owned() } else { format!("family{number}") }).collect()
}

impl<'a> Ycsb<'a> {
    pub(crate) fn new(workload: Workload, table: PlaceTable, settings: &'a Settings) -> Self {
        let mix = mix(workload);
        let chooser = Chooser::new(settings.distribution.unwrap_or(mix.distribution), settings.rows);
        let (next_row, inserted) = (AtomicU64::new(settings.rows), AtomicU64::new(settings.rows));
        let noise = Noise::new(settings.value_bytes.div_ceil(FIELDS as usize));
        Self { table, settings, mix, chooser, noise, families: family_names(settings), next_row, inserted }
    }

    /// A row with all its fields.
    fn whole(&self, row: u64) -> Put {
        let put = Put::new(ycsb_key(row)).durability(self.settings.durability.of_write());
        let columns = self.families.iter().flat_map(|family| (0..FIELDS).map(move |field| (family, field)));
        columns.fold(put, |put, (family, field)| put.add(family, format!("field{field}"), self.noise.value(row * FIELDS + field)))
    }

    fn insert(&self) -> Result<u64> {
        let row = self.next_row.fetch_add(1, Ordering::Relaxed);
        self.table.put(self.whole(row))?;
        // Rows that another thread numbered before and has not put yet count as there: reading one finds nothing, which
        // costs as much as YCSB's own waiting for them would distort.
        self.inserted.fetch_max(row + 1, Ordering::Relaxed);
        Ok(self.row_bytes())
    }

    fn update(&self, row: u64, chance: &mut Chance) -> Result<u64> {
        let key = ycsb_key(row);
        let family = &self.families[chance.below(self.families.len() as u64) as usize];
        let value = self.noise.value(chance.next());
        let bytes = key.len() + value.len();
        let put = Put::new(key).durability(self.settings.durability.of_write());
        self.table.put(put.add(family, format!("field{}", chance.below(FIELDS)), value))?;
        Ok(bytes as u64)
    }

    fn scan(&self, row: u64, chance: &mut Chance) -> Result<()> {
        let rows = 1 + chance.below(SCAN_ROWS_MAX);
        self.table.scan(Scan::all().start(ycsb_key(row)).limit(rows as usize)).try_for_each(|row| row.map(drop))
    }
}

impl Operations for Ycsb<'_> {
    fn load(&self, row: u64) -> RowOp {
        self.whole(row).into()
    }

    fn is_there(&self, row: u64) -> Result<bool> {
        self.table.exists(Get::new(ycsb_key(row)))
    }

    fn row_bytes(&self) -> u64 {
        let values = self.families.len() as u64 * FIELDS * self.noise.value(0).len() as u64;
        ycsb_key(0).len() as u64 + values
    }

    fn worker(&self, _: u64, _: u64, seed: u64) -> Box<dyn Worker + '_> {
        Box::new(YcsbWorker { of: self, chance: Chance::new(seed) })
    }
}

struct YcsbWorker<'a> {
    of: &'a Ycsb<'a>,
    chance: Chance,
}

impl Worker for YcsbWorker<'_> {
    fn operate(&mut self, _: u64) -> Result<u64> {
        let of = self.of;
        let mut share = self.chance.below(100);
        let mut falls_in = |percent: u64| {
            let inside = share < percent;
            share = share.wrapping_sub(percent);
            inside
        };
        if falls_in(of.mix.insert) {
            return of.insert();
        }
        let row = of.chooser.next(&mut self.chance, of.inserted.load(Ordering::Relaxed));
        if falls_in(of.mix.read) {
            return of.table.get(Get::new(ycsb_key(row))).map(|_| 0);
        }
        if falls_in(of.mix.update) {
            return of.update(row, &mut self.chance);
        }
        if falls_in(of.mix.scan) {
            return of.scan(row, &mut self.chance).map(|()| 0);
        }
        of.table.get(Get::new(ycsb_key(row)))?;
        of.update(row, &mut self.chance)
    }
}
