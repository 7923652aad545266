//! Runs the cases on a cluster that is already there, through the client: an HBase, or a Halite server.
//!
//! ```console
//! $ cargo run -p halite-conformance --example on_cluster -- zk://localhost:2181/hbase
//! ```
//!
//! The clock of a cluster cannot be moved. So what the script's clock would stamp is sent with its time; cases about times to
//! live, of increments and appends, which the store stamps, and those that say how files are merged, are left out, and the
//! program says how many. Its tables are `halite_conformance_0` and so on, which must not exist.
#![expect(clippy::print_stdout, reason = "it talks to the person at the terminal")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use halite::cell::{CellType, make_key};
use halite::{
    Blocking, Bytes, CellRef, CellsBuilder, Delete, FamilyDescriptor, Get, LATEST_TIMESTAMP, OpResult, Put, Result, Row, RowMutations, RowOp, Scan,
};
use halite_conformance::cluster::OnCluster;
use halite_conformance::runner::{self, CLOCK_START_MS, Merge, Subject};
use halite_conformance::script::{Case, Change, Command};

/// Cases at a time: a cluster takes its time to make a table, and waits more than it works.
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

/// Whether every answer was the recorded one, or is known to differ.
fn run(uri: &str, wanted: &[String]) -> std::result::Result<bool, Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known = std::fs::read_to_string(root.join("known_cluster_differences.txt"))?;
    let cluster = Blocking::connect(uri)?;
    let (mut cases, mut left_out) = (Vec::new(), 0);
    let mut files: Vec<_> = std::fs::read_dir(root.join("cases"))?.collect::<std::io::Result<_>>()?;
    files.sort_by_key(std::fs::DirEntry::file_name);
    for file in files {
        let name = file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for case in Case::parse_file(&std::fs::read_to_string(file.path())?)? {
            let is_known = known.lines().any(|line| line.split_once(' ') == Some((&name, &case.name)));
            if !wanted.is_empty() && !wanted.contains(&case.name) || wanted.is_empty() && (is_known || !can_run(&case)) {
                left_out += usize::from(wanted.is_empty());
                continue;
            }
            cases.push((name.clone(), case));
        }
    }
    let next = AtomicUsize::new(0);
    let differ = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let name = format!("halite_conformance_{thread}").parse().expect("a good name");
            let subject = Stamped { inside: OnCluster::new(Arc::clone(cluster.cluster()), name), clock: CLOCK_START_MS };
            scope.spawn(|| run_cases(subject, &cases, &next))
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        threads.into_iter().map(|thread| thread.join().expect("a case that panics is a defect of this program")).sum::<Result<usize>>()
    })?;
    println!("{} cases ran, {differ} differ; {left_out} cannot run on a cluster or are known to differ", cases.len());
    Ok(differ == 0)
}

/// Runs cases until none is left; how many differ.
fn run_cases(mut subject: Stamped, cases: &[(String, Case)], next: &AtomicUsize) -> Result<usize> {
    let mut differ = 0;
    while let Some((file, case)) = cases.get(next.fetch_add(1, Relaxed)) {
        let differences = runner::run(case, &mut subject);
        if !differences.is_empty() {
            differ += 1;
            let texts: String = differences.iter().map(ToString::to_string).collect();
            print!("{file} {}\n{texts}", case.name);
        }
    }
    subject.inside.drop_table()?;
    Ok(differ)
}

/// Whether no step needs a clock that is moved for the store itself, or files that are merged just so.
fn can_run(case: &Case) -> bool {
    case.steps.iter().all(|step| {
        let is_timed = ["TTL=", "ttl=", "incr ", "append "].iter().any(|word| step.text.contains(word));
        let is_inside = matches!(step.command, Ok(Command::Minor | Command::Compact | Command::Major | Command::Files));
        !is_timed && !is_inside
    })
}

/// The cluster with the script's clock: what the clock would stamp is sent with its time.
struct Stamped {
    inside: OnCluster,
    clock: i64,
}

impl Stamped {
    /// What the script's clock would stamp.
    fn stamp(&self, op: RowOp) -> RowOp {
        match op {
            RowOp::Put(put) => RowOp::Put(Put::from_cells(put.row().clone(), self.stamped(put.mutation().cells()), put.mutation().durability)),
            RowOp::Delete(delete) if delete.mutation().cells().is_empty() => {
                let timestamp = if delete.timestamp == LATEST_TIMESTAMP { self.clock } else { delete.timestamp };
                RowOp::Delete(delete.up_to(timestamp))
            }
            RowOp::Delete(delete) => {
                RowOp::Delete(Delete::from_cells(delete.row().clone(), self.stamped(delete.mutation().cells()), delete.mutation().durability))
            }
            RowOp::Mutate(mutations) => {
                let row = mutations.row().clone();
                RowOp::Mutate(mutations.ops.into_iter().fold(RowMutations::new(row), |all, op| all.then(self.stamp(op))))
            }
            RowOp::CheckAndMutate(mut check) => {
                *check.then = self.stamp(*check.then);
                RowOp::CheckAndMutate(check)
            }
            op @ (RowOp::Increment(_) | RowOp::Append(_)) => op,
        }
    }

    fn stamped(&self, cells: &CellsBuilder) -> CellsBuilder {
        let mut out = CellsBuilder::default();
        for cell in cells {
            // The newest version is for the store to find.
            let is_unstamped = cell.timestamp() == LATEST_TIMESTAMP && cell.cell_type() != Some(CellType::Delete);
            let timestamp = if is_unstamped { self.clock } else { cell.timestamp() };
            let key = make_key(cell.row(), cell.family(), cell.qualifier(), timestamp, cell.type_code());
            out.push(CellRef::new(&key, cell.value(), cell.tags(), 0));
        }
        out
    }
}

impl Subject for Stamped {
    fn set_clock(&mut self, now_ms: i64) {
        self.clock = now_ms;
    }

    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()> {
        self.inside.create(families, splits)
    }

    fn change(&mut self, change: &Change) -> Result<()> {
        self.inside.change(change)
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        self.inside.apply(ops.into_iter().map(|op| self.stamp(op)).collect())
    }

    fn get(&mut self, get: Get) -> Result<Row> {
        self.inside.get(get)
    }

    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>> {
        self.inside.scan(scan)
    }

    fn flush(&mut self) -> Result<()> {
        self.inside.flush()
    }

    fn merge(&mut self, how: Merge) -> Result<()> {
        self.inside.merge(how)
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        self.inside.files()
    }
}
