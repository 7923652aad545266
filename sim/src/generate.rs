//! Random tables, writes, reads and events, from a seed.
//!
//! Few rows and columns make operations interact. Times are close together for the same reason. One
//! case is excluded because HBase itself returns two different results for it: named columns of a
//! family with both `MIN_VERSIONS` and a TTL, where its tracker of named columns returns one
//! expired version more than its tracker of all columns.

use bytes::Bytes;
use halite_engine::env::Rng as _;
use halite_engine::env::rng::SeededRng;
use halite_engine::env::sim::FsCall;
use halite_types::{
    Append, CheckAndMutate, CompareOp, Condition, Delete, Durability, FamilyDescriptor, Get,
    Increment, Put, RowMutations, RowOp, RowRange, Scan, Selection, TableDescriptor, TableName,
    TimeRange,
};

use crate::step::{BurstAction, BurstEnd, DiskFault, Step};

/// Family that is only read as a whole; see above.
const MIN_VERSIONS_FAMILY: &str = "d";
/// Possible families of a table; every table has the first two.
const FAMILIES: [&str; 5] = ["a", "b", "c", MIN_VERSIONS_FAMILY, "k"];
const ROWS: u64 = 14;
/// Setting with the size from which a family is flushed without the others.
const FLUSH_LOWER_BOUND: &str = "hbase.hregion.percolumnfamilyflush.size.lower.bound";
const ALL_STORES: &str = "org.apache.hadoop.hbase.regionserver.FlushAllStoresPolicy";

/// Kinds of calls that fail in random runs.
const FAILING_CALLS: [FsCall; 11] = [
    FsCall::Create,
    FsCall::Open,
    FsCall::Write,
    FsCall::Write,
    FsCall::Sync,
    FsCall::Sync,
    FsCall::SyncDir,
    FsCall::Rename,
    FsCall::Read,
    FsCall::Preallocate,
    FsCall::RemoveFile,
];

/// Generator of random steps.
#[derive(Debug)]
pub struct Generator {
    rng: SeededRng,
    families: Vec<&'static str>,
    /// Gives some writes their own durability.
    mixes_durability: bool,
    /// Generates failing calls, full disks and flipped bits.
    has_faults: bool,
    written: u64,
    nonces: u64,
    overwritten: Option<Overwritten>,
}

/// Column of one row that is overwritten repeatedly, so that versions are hidden before they are
/// flushed.
#[derive(Debug)]
struct Overwritten {
    row: Bytes,
    family: &'static str,
    qualifier: &'static str,
    left: u64,
}

impl Generator {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        let rng = SeededRng::new(seed);
        let families = FAMILIES
            .into_iter()
            .enumerate()
            .filter(|(index, _)| *index < 2 || rng.one_in(2))
            .map(|(_, family)| family)
            .collect();
        Self {
            mixes_durability: rng.one_in(3),
            has_faults: rng.one_in(3),
            rng,
            families,
            written: 0,
            nonces: 0,
            overwritten: None,
        }
    }

    /// Returns a number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    fn one_of<'a, T: ?Sized>(&self, choices: &[&'a T]) -> &'a T {
        choices[self.rng.up_to(choices.len() - 1)]
    }

    /// Returns a table with families that retain cells in different ways, and random file settings.
    pub fn table(&self, name: TableName) -> TableDescriptor {
        let mut table = TableDescriptor::new(name);
        // Compression takes longer than all the rest of a run.
        let codecs: &[&str] = if self.rng.one_in(4) { &["NONE", "GZ"] } else { &["NONE"] };
        for family in self.families.iter().copied() {
            let rules = match family {
                "b" => FamilyDescriptor::new(family).versions(3),
                "c" => FamilyDescriptor::new(family).versions(5).ttl_seconds(2),
                MIN_VERSIONS_FAMILY => {
                    FamilyDescriptor::new(family).versions(5).ttl_seconds(1).set("MIN_VERSIONS", 2)
                }
                "k" => FamilyDescriptor::new(family).versions(4).set("KEEP_DELETED_CELLS", "TRUE"),
                _ => FamilyDescriptor::new(family),
            };
            let rules = rules
                .set("BLOCKSIZE", self.one_of(&["64", "512", "4096", "65536"]))
                .set("BLOOMFILTER", self.one_of(&["NONE", "ROW", "ROWCOL"]))
                .set(
                    "DATA_BLOCK_ENCODING",
                    self.one_of(&["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"]),
                )
                .set("COMPRESSION", self.one_of(codecs));
            table.set_family(self.with_store_engine(rules));
        }
        if self.mixes_durability {
            table.set("FLUSH_POLICY", ALL_STORES)
        } else if self.rng.one_in(2) {
            table.set(FLUSH_LOWER_BOUND, 512 << self.below(6))
        } else {
            table
        }
    }

    /// Returns a family of which some have small stripes, or short windows of time.
    fn with_store_engine(&self, family: FamilyDescriptor) -> FamilyDescriptor {
        let engine = |class: &str| format!("org.apache.hadoop.hbase.regionserver.{class}");
        match self.below(6) {
            0 | 1 => [
                ("initialStripeCount", self.one_of(&["1", "2", "3"])),
                ("compaction.minFiles", self.one_of(&["2", "3"])),
                ("compaction.maxFiles", self.one_of(&["3", "10"])),
                ("compaction.minFilesL0", self.one_of(&["1", "2", "4"])),
                ("compaction.flushToL0", self.one_of(&["false", "false", "true"])),
                ("sizeToSplit", self.one_of(&["6000", "12000", "1000000"])),
                ("splitPartCount", self.one_of(&["2", "3", "1.5"])),
            ]
            .into_iter()
            .fold(
                family.set("hbase.hstore.engine.class", engine("StripeStoreEngine")),
                |family, (name, value)| family.set(format!("hbase.store.stripe.{name}"), value),
            ),
            2 => family
                .set("hbase.hstore.engine.class", engine("DateTieredStoreEngine"))
                .set("hbase.hstore.compaction.date.tiered.base.window.millis", 500)
                .set("hbase.hstore.compaction.date.tiered.incoming.window.min", 2),
            _ => family,
        }
    }

    /// Returns the next step at this time.
    pub fn step(&mut self, now: i64) -> Step {
        if let Some(write) = self.overwrite(now).filter(|_| self.below(4) > 0) {
            return Step::Write(write);
        }
        match self.below(1000) {
            0..440 => Step::Write(self.write_with_durability(now)),
            440..470 => Step::WriteOnce(self.counter(), self.nonce()),
            470..500 => self.burst(now),
            500..520 => {
                Step::Batch((0..2 + self.below(4)).map(|_| self.plain_write(now)).collect())
            }
            520..530 => {
                self.overwritten = Some(Overwritten {
                    row: self.row(),
                    family: self.family(),
                    qualifier: self.qualifier(),
                    left: 10 + self.below(40),
                });
                Step::Advance(1)
            }
            530..720 => Step::Get(self.get(now)),
            720..838 => Step::Scan(self.scan(now)),
            838..850 => self.snapshot_step(now),
            850..853 => Step::Load(self.put_to_load(now)),
            853..868 => Step::Flush,
            // A write that skips the log would be reverted in some families only.
            868..883 if self.mixes_durability => Step::Flush,
            868..883 => Step::FlushFamilies(1 + self.below((1 << self.families.len()) - 1)),
            883..895 => Step::CompactMinor,
            895..903 => Step::CompactMajor,
            903..908 => Step::Split(self.row()),
            908..913 => Step::Merge(self.below(8)),
            913..920 => Step::Reopen,
            920..924 => Step::Kill,
            924..928 => Step::PowerLoss(self.rng.next_u64()),
            928..938 => Step::CrashSoon(self.below(40), self.rng.next_u64()),
            938..955 => self.fault(),
            955..975 => Step::Advance(u32::try_from(100 + self.below(1500)).unwrap_or(0)),
            975..980 => Step::Jump(i64::try_from(self.below(1500)).unwrap_or(0) - 700),
            _ => Step::Advance(u32::try_from(self.below(20)).unwrap_or(0)),
        }
    }

    /// Returns pending writes, some of them of the same rows, with reads between them.
    fn burst(&mut self, now: i64) -> Step {
        let mut acts = Vec::new();
        // Few rows, so that the operations interact.
        let rows: Vec<Bytes> = (0..2 + self.below(3)).map(|_| self.row()).collect();
        for _ in 0..3 + self.below(12) {
            let number = self.rng.next_u64() >> 32;
            let row = rows[self.rng.up_to(rows.len() - 1)].clone();
            acts.push(match self.below(20) {
                0..8 => BurstAction::Submit(vec![self.write_with_durability(now)]),
                8 => BurstAction::Submit(
                    (0..2 + self.below(3)).map(|_| self.plain_write(now)).collect(),
                ),
                9 | 10 => BurstAction::SubmitOnce(
                    Increment::new(row).add("a", "n", 1).into(),
                    self.nonce(),
                ),
                11..13 => BurstAction::Submit(vec![
                    Put::new(row).add("a", "p", self.value()).add("b", "q", self.value()).into(),
                ]),
                13..15 => BurstAction::Get(Get::new(row)),
                15 => BurstAction::Scan(Scan::all()),
                16 => BurstAction::Scan(Scan::all().all_versions().reverse(true)),
                17 => BurstAction::Wait(number),
                18 => BurstAction::Poll(number),
                _ => BurstAction::Try(number),
            });
        }
        let end = match self.below(8) {
            0 => BurstEnd::Kill,
            1 => BurstEnd::PowerLoss(self.rng.next_u64()),
            2 => BurstEnd::Backwards,
            _ => BurstEnd::Wait(self.below(20)),
        };
        Step::Burst(acts, end)
    }

    /// Returns a fault, in runs with faults.
    fn fault(&mut self) -> Step {
        if !self.has_faults {
            return Step::Advance(1);
        }
        Step::Fault(match self.below(13) {
            0..4 => DiskFault::FailCalls(
                FAILING_CALLS[self.rng.up_to(FAILING_CALLS.len() - 1)],
                self.below(12),
                1 + self.below(2),
            ),
            4 | 5 => DiskFault::FullDisk(self.below(20_000)),
            6..9 => DiskFault::Cleared,
            _ => DiskFault::FlipBit(self.rng.next_u64()),
        })
    }

    fn counter(&self) -> RowOp {
        Increment::new(self.row()).add(self.one_of(&["a", "b"]), "n", 1).into()
    }

    fn nonce(&mut self) -> u64 {
        self.nonces += 1;
        self.nonces
    }

    /// Returns a write, in some runs with a durability that differs from the store's.
    fn write_with_durability(&mut self, now: i64) -> RowOp {
        let op = self.write(now);
        if !self.mixes_durability || self.below(3) > 0 {
            return op;
        }
        let modes = [
            Durability::SkipWal,
            Durability::AsyncWal,
            Durability::AsyncWal,
            Durability::SyncWal,
            Durability::FsyncWal,
        ];
        with_durability(op, modes[self.rng.up_to(modes.len() - 1)])
    }

    fn put_to_load(&mut self, now: i64) -> Put {
        let mut put = Put::new(self.row());
        for family in
            self.families.clone().into_iter().filter(|family| matches!(*family, "a" | "b" | "k"))
        {
            put = put.add_at(family, self.qualifier(), self.timestamp(now), self.value());
        }
        put
    }

    /// Returns a step with snapshots or clones.
    fn snapshot_step(&mut self, now: i64) -> Step {
        let number = self.below(6);
        match self.below(14) {
            12.. => Step::Property(self.below(9)),
            0..3 => Step::Snapshot(number),
            3..6 => Step::Clone(number),
            6..8 => Step::WriteClone(number, self.plain_write(now)),
            8 => Step::CompactClone(number),
            9 => Step::SplitClone(number, self.row()),
            10 => Step::Restore(number),
            _ => Step::CheckSnapshots,
        }
    }

    /// Returns a row key; some keys are adjacent.
    pub fn row(&self) -> Bytes {
        match self.below(ROWS) {
            0 => Bytes::from_static(b"r"),
            1 => Bytes::from_static(b"r\0"),
            2 => Bytes::from_static(b"\xff\xff"),
            number => format!("r{number:02}").into(),
        }
    }

    fn family(&self) -> &'static str {
        self.one_of(&self.families)
    }

    fn qualifier(&self) -> &'static str {
        self.one_of(&["", "p", "q", "qq"])
    }

    fn value(&mut self) -> Vec<u8> {
        self.written += 1;
        let mut value = format!("value {}", self.written).into_bytes();
        let more = match self.below(50) {
            0 => self.below(4000),
            1..10 => self.below(300),
            _ => 0,
        };
        value.resize(value.len() + self.rng.up_to(usize::try_from(more).unwrap_or(0)), b'.');
        value
    }

    /// Returns a timestamp of the recent past, sometimes of the future or long ago.
    fn timestamp(&self, now: i64) -> i64 {
        let below = |bound| i64::try_from(self.below(bound)).unwrap_or(0);
        match self.below(20) {
            0 => below(4),
            1 => now + below(100),
            2..6 => now - below(1500),
            _ => now - below(100),
        }
    }

    /// Returns a write of any kind.
    pub fn write(&mut self, now: i64) -> RowOp {
        match self.below(20) {
            0..2 => {
                let (row, delta) = (self.row(), i64::try_from(self.below(20)).unwrap_or(0) - 7);
                let both = Increment::new(row).add(self.one_of(&["a", "b"]), "n", delta);
                if self.rng.one_in(3) { both.add("b", "n2", 1).into() } else { both.into() }
            }
            2 => Append::new(self.row()).add(self.one_of(&["a", "b"]), "text", self.value()).into(),
            3 => self.row_mutations(now),
            4 | 5 => self.check_and_mutate(now),
            6 if self.rng.one_in(10) => self.invalid_write(),
            _ => self.plain_write(now),
        }
    }

    /// Returns the next write to the overwritten column, if there is one.
    fn overwrite(&mut self, now: i64) -> Option<RowOp> {
        let column = self.overwritten.as_mut()?;
        column.left -= 1;
        let (row, family, qualifier) = (column.row.clone(), column.family, column.qualifier);
        if column.left == 0 {
            self.overwritten = None;
        }
        let stamp = self.timestamp(now);
        Some(match self.below(12) {
            0 => Delete::new(row).column_up_to(family, qualifier, stamp).into(),
            _ => Put::new(row).add_at(family, qualifier, stamp, self.value()).into(),
        })
    }

    fn plain_write(&mut self, now: i64) -> RowOp {
        if self.below(10) < 7 { self.put(now).into() } else { self.delete(now).into() }
    }

    fn put(&mut self, now: i64) -> Put {
        let mut put = Put::new(self.row());
        if self.rng.one_in(20) {
            put = put.ttl_ms(self.below(2000));
        }
        let first = self.rng.up_to(self.families.len() - 1);
        let families = self.families.clone();
        for family in families
            .iter()
            .copied()
            .cycle()
            .skip(first)
            .take((self.rng.up_to(2) + 1).min(families.len()))
        {
            let (qualifier, value) = (self.qualifier(), self.value());
            put = if self.rng.one_in(3) {
                put.add_at(family, qualifier, self.timestamp(now), value)
            } else {
                put.add(family, qualifier, value)
            };
        }
        put
    }

    fn delete(&mut self, now: i64) -> Delete {
        let (delete, family, qualifier, stamp) =
            (Delete::new(self.row()), self.family(), self.qualifier(), self.timestamp(now));
        match self.below(16) {
            0 => delete,
            1 => delete.up_to(stamp),
            2 => delete.family(family),
            3 => delete.family_up_to(family, stamp),
            4 | 5 => delete.family_version(family, stamp),
            6..8 => delete.newest(family, qualifier),
            8..10 => delete.version(family, qualifier, stamp),
            10..13 => delete.column_up_to(family, qualifier, stamp),
            13 => delete.column(family, qualifier).column("a", "n"),
            _ => delete.column(family, qualifier),
        }
    }

    /// Returns a put and a delete of different columns, optionally with a counter.
    fn row_mutations(&mut self, now: i64) -> RowOp {
        let family = self.family();
        let put = Put::new(self.row()).add(family, "p", self.value()).add_at(
            "b",
            "qq",
            self.timestamp(now),
            self.value(),
        );
        let row = put.row().clone();
        let all = RowMutations::new(row.clone())
            .add(put)
            .add(Delete::new(row.clone()).column(family, "q"));
        if self.rng.one_in(2) {
            all.add(Increment::new(row).add("a", "n", 3)).into()
        } else {
            all.into()
        }
    }

    fn check_and_mutate(&mut self, now: i64) -> RowOp {
        let then = match self.below(4) {
            0 => RowOp::Delete(self.delete(now)),
            1 => Increment::new(self.row()).add("a", "n", 1).into(),
            2 => self.row_mutations(now),
            _ => RowOp::Put(self.put(now)),
        };
        let value = match self.below(4) {
            0 => {
                Some(Bytes::from(format!("value {}", self.written.saturating_sub(self.below(30)))))
            }
            1 => Some(Bytes::from_static(b"value 5")),
            2 => Some(Bytes::new()),
            _ => None,
        };
        let op = *self.one_of(&[
            &CompareOp::Equal,
            &CompareOp::NotEqual,
            &CompareOp::Less,
            &CompareOp::GreaterOrEqual,
        ]);
        let family =
            self.one_of(if self.families.contains(&"k") { &["a", "b", "k"] } else { &["a", "b"] });
        let condition = Condition::Column {
            family: family.into(),
            qualifier: self.qualifier().into(),
            op,
            value,
        };
        CheckAndMutate::new(then.row().clone(), condition, then).into()
    }

    /// Returns an invalid write, which must change nothing.
    fn invalid_write(&mut self) -> RowOp {
        match self.below(3) {
            0 => Put::new(self.row()).add("a", "p", self.value()).add("none", "p", "x").into(),
            1 => Delete::new(self.row()).family("none").into(),
            _ => Increment::new(self.row()).add("b", "n", 1).add("a", "text", 1).into(),
        }
    }

    fn get(&self, now: i64) -> Get {
        let mut get = Get::new(self.row());
        get.selection = self.selection(now);
        get
    }

    fn scan(&self, now: i64) -> Scan {
        let mut scan = Scan::all().reverse(self.rng.one_in(3));
        if self.rng.one_in(15) {
            return scan.raw(true).all_versions();
        }
        if self.below(3) > 0 {
            scan.range = self.range();
        }
        scan.selection = self.selection(now);
        match self.below(5) {
            0 => scan.limit = Some(self.rng.up_to(4) + 1),
            1 => scan.batch = Some(self.rng.up_to(3) + 1),
            _ => {}
        }
        if self.rng.one_in(3) {
            scan.max_result_bytes = 1 + self.rng.up_to(500);
        }
        if self.rng.one_in(3) {
            scan = scan.load_families_on_demand(self.rng.one_in(2));
        }
        scan
    }

    fn range(&self) -> RowRange {
        use std::ops::Bound;
        let bound = |row: Bytes| match self.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(row),
            _ => Bound::Excluded(row),
        };
        RowRange { start: bound(self.row()), end: bound(self.row()) }
    }

    fn selection(&self, now: i64) -> Selection {
        let mut selection = Selection::default();
        if self.rng.one_in(2) {
            for _ in 0..=self.below(3) {
                let family = Bytes::from_static(self.family().as_bytes());
                let named = family != MIN_VERSIONS_FAMILY && self.rng.one_in(2);
                let columns = selection.columns.entry(family).or_default();
                if named {
                    columns
                        .get_or_insert_default()
                        .insert(Bytes::from_static(self.qualifier().as_bytes()));
                }
            }
        }
        if self.rng.one_in(6) {
            selection.time_range = self.time_range(now);
        }
        if self.rng.one_in(12) {
            selection
                .family_time_ranges
                .insert(Bytes::from_static(self.family().as_bytes()), self.time_range(now));
        }
        selection.max_versions = match self.below(4) {
            0 => 2,
            1 => i32::MAX.unsigned_abs(),
            _ => 1,
        };
        if self.rng.one_in(8) {
            selection.family_limit = Some(u32::try_from(1 + self.below(3)).unwrap_or(1));
            selection.family_offset = u32::try_from(self.below(3)).unwrap_or(0);
        }
        selection
    }

    fn time_range(&self, now: i64) -> TimeRange {
        let (a, b) = (self.timestamp(now), self.timestamp(now));
        TimeRange::new(a.min(b), a.max(b)).unwrap_or_default()
    }
}

/// Returns the same operation with another durability in all its parts.
fn with_durability(op: RowOp, durability: Durability) -> RowOp {
    match op {
        RowOp::Put(op) => op.durability(durability).into(),
        RowOp::Delete(op) => op.durability(durability).into(),
        RowOp::Increment(op) => op.durability(durability).into(),
        RowOp::Append(op) => op.durability(durability).into(),
        RowOp::Mutate(mut all) => {
            all.ops = all.ops.into_iter().map(|op| with_durability(op, durability)).collect();
            all.into()
        }
        RowOp::CheckAndMutate(mut check) => {
            check.then = Box::new(with_durability(*check.then, durability));
            check.into()
        }
    }
}
