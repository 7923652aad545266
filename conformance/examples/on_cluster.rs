//! Runs the cases on an existing cluster through the client: an HBase, or a Halite server.
//!
//! ```console
//! $ cargo run -p halite-conformance --example on_cluster -- zk://localhost:2181/hbase
//! ```
//!
//! The clock of a cluster cannot be moved. So operations that the script's clock would stamp are
//! sent with its time. The program skips, and counts, cases about TTLs, cases about increments and
//! appends, which the store stamps, and cases that specify how files are merged. Its tables are
//! `halite_conformance_0` and so on, which must not exist.
#![expect(clippy::print_stdout, reason = "the program writes its output to the terminal")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use halite::cell::{CellType, make_key};
use halite::{
    BlockingCluster, Bytes, CellRef, CellsBuilder, Delete, FamilyDescriptor, Get, LATEST_TIMESTAMP,
    OpResult, Put, Result, Row, RowMutations, RowOp, Scan,
};
use halite_conformance::cluster::ClusterSystem;
use halite_conformance::runner::{self, CLOCK_START_MS, MergeKind, SystemUnderTest};
use halite_conformance::script::{Case, Command, TableChange};

/// Concurrent cases: a cluster creates tables slowly, and mostly waits.
const THREADS: usize = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [uri, wanted @ ..] = &arguments[..] else {
        println!("usage: on_cluster URI [CASE...]");
        return ExitCode::from(2);
    };
    match run(uri, wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the cases. Returns `true` if every result was the recorded one, or is known to differ.
fn run(uri: &str, wanted: &[String]) -> std::result::Result<bool, Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known = std::fs::read_to_string(root.join("known_cluster_differences.txt"))?;
    let cluster = BlockingCluster::connect(uri)?;
    let (mut cases, mut left_out) = (Vec::new(), 0);
    let mut files: Vec<_> =
        std::fs::read_dir(root.join("cases"))?.collect::<std::io::Result<_>>()?;
    files.sort_by_key(std::fs::DirEntry::file_name);
    for file in files {
        let name = file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for case in Case::parse_file(&std::fs::read_to_string(file.path())?)? {
            let is_known =
                known.lines().any(|line| line.split_once(' ') == Some((&name, &case.name)));
            if !wanted.is_empty() && !wanted.contains(&case.name)
                || wanted.is_empty() && (is_known || !can_run(&case))
            {
                left_out += usize::from(wanted.is_empty());
                continue;
            }
            cases.push((name.clone(), case));
        }
    }
    let next = AtomicUsize::new(0);
    let differ = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let name = format!("halite_conformance_{thread}").parse().expect("a valid name");
            let subject = ClockedSystem {
                cluster: ClusterSystem::new(Arc::clone(cluster.cluster()), name),
                clock: CLOCK_START_MS,
            };
            scope.spawn(|| run_cases(subject, &cases, &next))
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("cases do not panic"))
            .sum::<Result<usize>>()
    })?;
    println!(
        "{} cases ran, {differ} differ; {left_out} skipped: not runnable on a cluster, or known \
         differences",
        cases.len()
    );
    Ok(differ == 0)
}

/// Runs cases until none is left. Returns the number of cases that differ.
fn run_cases(
    mut subject: ClockedSystem,
    cases: &[(String, Case)],
    next: &AtomicUsize,
) -> Result<usize> {
    let mut differ = 0;
    while let Some((file, case)) = cases.get(next.fetch_add(1, Relaxed)) {
        let differences = runner::run(case, &mut subject);
        if !differences.is_empty() {
            differ += 1;
            let texts: String = differences.iter().map(ToString::to_string).collect();
            print!("{file} {}\n{texts}", case.name);
        }
    }
    subject.cluster.drop_table()?;
    Ok(differ)
}

/// Returns `true` if no step needs a moved clock in the store itself, or a specific merge of files.
fn can_run(case: &Case) -> bool {
    case.steps.iter().all(|step| {
        let is_timed =
            ["TTL=", "ttl=", "incr ", "append "].iter().any(|word| step.text.contains(word));
        let is_inside = matches!(
            step.command,
            Ok(Command::Minor | Command::Compact | Command::Major | Command::Files)
        );
        !is_timed && !is_inside
    })
}

/// Cluster with the script's clock: operations that the clock would stamp are sent with its time.
struct ClockedSystem {
    cluster: ClusterSystem,
    clock: i64,
}

impl ClockedSystem {
    /// Adds the timestamps of the script's clock.
    fn stamp_op(&self, op: RowOp) -> RowOp {
        match op {
            RowOp::Put(put) => RowOp::Put(Put::from_cells(
                put.row().clone(),
                self.stamp_cells(put.mutation().cells()),
                put.mutation().durability,
            )),
            RowOp::Delete(delete) if delete.mutation().cells().is_empty() => {
                let timestamp = if delete.timestamp == LATEST_TIMESTAMP {
                    self.clock
                } else {
                    delete.timestamp
                };
                RowOp::Delete(delete.up_to(timestamp))
            }
            RowOp::Delete(delete) => RowOp::Delete(Delete::from_cells(
                delete.row().clone(),
                self.stamp_cells(delete.mutation().cells()),
                delete.mutation().durability,
            )),
            RowOp::Mutate(mutations) => {
                let row = mutations.row().clone();
                RowOp::Mutate(
                    mutations
                        .ops
                        .into_iter()
                        .fold(RowMutations::new(row), |all, op| all.add(self.stamp_op(op))),
                )
            }
            RowOp::CheckAndMutate(mut check) => {
                *check.then = self.stamp_op(*check.then);
                RowOp::CheckAndMutate(check)
            }
            op @ (RowOp::Increment(_) | RowOp::Append(_)) => op,
        }
    }

    fn stamp_cells(&self, cells: &CellsBuilder) -> CellsBuilder {
        let mut out = CellsBuilder::default();
        for cell in cells {
            // The store resolves the newest version.
            let is_unstamped =
                cell.timestamp() == LATEST_TIMESTAMP && cell.cell_type() != Some(CellType::Delete);
            let timestamp = if is_unstamped { self.clock } else { cell.timestamp() };
            let key =
                make_key(cell.row(), cell.family(), cell.qualifier(), timestamp, cell.type_code());
            out.push(CellRef::new(&key, cell.value(), cell.tags(), 0));
        }
        out
    }
}

impl SystemUnderTest for ClockedSystem {
    fn set_clock(&mut self, now_ms: i64) {
        self.clock = now_ms;
    }

    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()> {
        self.cluster.create(families, splits)
    }

    fn change(&mut self, change: &TableChange) -> Result<()> {
        self.cluster.change(change)
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        self.cluster.apply(ops.into_iter().map(|op| self.stamp_op(op)).collect())
    }

    fn get(&mut self, get: Get) -> Result<Row> {
        self.cluster.get(get)
    }

    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>> {
        self.cluster.scan(scan)
    }

    fn flush(&mut self) -> Result<()> {
        self.cluster.flush()
    }

    fn merge(&mut self, how: MergeKind) -> Result<()> {
        self.cluster.merge(how)
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        self.cluster.files()
    }
}
