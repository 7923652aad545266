//! Compares two clusters by random programs, and shrinks the first on which they differ; see
//! `--help`.
#![expect(clippy::print_stdout, reason = "the program writes its output to the terminal")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use halite::{ClientConfig, Cluster, Store, block_on};
use halite_conformance::cluster::ClusterSystem;
use halite_conformance::differential::{
    Difference, Implementation, InMemoryOnly, Profile, SystemImplementation, difference, program,
    shrink,
};
use halite_conformance::script::ScriptStep;

const HELP: &str = "\
Run random programs on two clusters and compare the results. A program with different results is
shrunk and printed as a case of conformance/cases, with the results of RIGHT.

usage: differ LEFT RIGHT [--seed N] [--seconds S] [--threads T] [--left-in-memory] [--keep-going]
       differ --print [--seed N]

LEFT and RIGHT are zk://HOST:PORT[/ZNODE], rpc://HOST:PORT, or embedded (a separate store in a
temporary directory).

  --seed N          first seed; later programs use N+1, N+2, ... (1)
  --seconds S       time during which programs are started; 0 runs only the first seed (60)
  --threads T       concurrent programs; each uses a separate table halite_differ_..., which is
                    dropped at the end (4)
  --left-in-memory  never flush or compact on LEFT: the storage layout must not change results
  --simple          use tables of one region that are not altered
  --keep-going      continue after a difference, up to eight
  --print           print the program of the seed instead of running it";

fn main() -> ExitCode {
    match DifferArgs::parse(std::env::args().skip(1)).and_then(|settings| settings.run()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Number of differences after which a continuing run ends.
const MAX_DIFFERENCES: usize = 8;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct DifferArgs {
    uris: Vec<String>,
    seed: u64,
    seconds: u64,
    threads: usize,
    left_in_memory: bool,
    simple: bool,
    keep_going: bool,
    print: bool,
}

impl DifferArgs {
    fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut settings = Self {
            uris: Vec::new(),
            seed: 1,
            seconds: 60,
            threads: 4,
            left_in_memory: false,
            simple: false,
            keep_going: false,
            print: false,
        };
        while let Some(word) = words.next() {
            let mut number = || {
                Ok::<u64, Box<dyn std::error::Error>>(
                    words.next().ok_or(format!("{word} needs a number"))?.parse()?,
                )
            };
            match &*word {
                "--seed" => settings.seed = number()?,
                "--seconds" => settings.seconds = number()?,
                "--threads" => settings.threads = usize::try_from(number()?)?.max(1),
                "--left-in-memory" => settings.left_in_memory = true,
                "--simple" => settings.simple = true,
                "--keep-going" => settings.keep_going = true,
                "--print" => settings.print = true,
                uri if !uri.starts_with('-') => settings.uris.push(word),
                _ => return Err(HELP.into()),
            }
        }
        if settings.uris.len() == if settings.print { 0 } else { 2 } {
            Ok(settings)
        } else {
            Err(HELP.into())
        }
    }

    fn profile(&self) -> Profile {
        Profile { minor: false, schema: !self.simple, left_in_memory: self.left_in_memory }
    }

    /// Runs the comparison. Returns `true` if the two agreed.
    fn run(&self) -> Outcome<bool> {
        if self.print {
            println!("case seed_{}\n{}", self.seed, program(self.seed, self.profile()).join("\n"));
            return Ok(true);
        }
        let clusters = [Deployment::open(&self.uris[0])?, Deployment::open(&self.uris[1])?];
        let tables = Tables::new(&clusters, self.left_in_memory);
        let found = self.seeds(&tables)?;
        for (seed, difference) in &found {
            println!("seed {seed} differs after {} steps; shrinking", difference.program.len());
            let smallest =
                shrink(difference.clone(), self.left_in_memory, self.threads.max(8), &|program| {
                    tables.run(program)
                });
            println!("\n# seed {seed}\n{smallest}");
        }
        tables.drop_all();
        Ok(found.is_empty())
    }

    /// Runs programs until the time is over or one differs.
    fn seeds(&self, tables: &Tables<'_>) -> Outcome<Vec<(u64, Difference)>> {
        let (begin, next, steps) = (Instant::now(), AtomicUsize::new(0), AtomicUsize::new(0));
        let (found, last_report) = (Mutex::new(Vec::new()), Mutex::new(Instant::now()));
        let is_over = |index: usize| {
            let enough = if self.keep_going { MAX_DIFFERENCES } else { 1 };
            found.lock().expect("no thread panics").len() >= enough
                || index > 0 && begin.elapsed() >= Duration::from_secs(self.seconds)
        };
        let work = || {
            loop {
                let index = next.fetch_add(1, Relaxed);
                if is_over(index) {
                    break;
                }
                let seed = self.seed + index as u64;
                let program = program(seed, self.profile());
                let difference = tables.run(&program);
                steps.fetch_add(
                    difference
                        .as_ref()
                        .map_or(program.len(), |difference| difference.program.len()),
                    Relaxed,
                );
                found
                    .lock()
                    .expect("no thread panics")
                    .extend(difference.map(|difference| (seed, difference)));
                let mut last_report = last_report.lock().expect("no thread panics");
                if last_report.elapsed() >= Duration::from_secs(5) {
                    *last_report = Instant::now();
                    println!(
                        "{:4} s: {} programs begun, {} steps",
                        begin.elapsed().as_secs(),
                        index + 1,
                        steps.load(Relaxed)
                    );
                }
            }
        };
        std::thread::scope(|scope| (0..self.threads).for_each(|_| drop(scope.spawn(work))));
        let programs = next.load(Relaxed) - self.threads.min(next.load(Relaxed));
        println!(
            "{programs} programs, {} steps in {:.1} s",
            steps.load(Relaxed),
            begin.elapsed().as_secs_f64()
        );
        Ok(found.into_inner()?)
    }
}

/// Cluster, and the directory of its store if it is embedded.
struct Deployment {
    cluster: Arc<dyn Cluster>,
    _folder: Option<tempfile::TempDir>,
}

impl Deployment {
    fn open(uri: &str) -> Outcome<Self> {
        if uri == "embedded" {
            let folder = tempfile::tempdir()?;
            let store: Store = halite::open(folder.path())?;
            return Ok(Self { cluster: Arc::clone(store.cluster()), _folder: Some(folder) });
        }
        let mut config = ClientConfig::from_uri(uri)?;
        // A failure inside a server is permanent.
        config.max_retries = 5;
        config.pause_ms = 20;
        // Some scans never end in HBase.
        (config.rpc_timeout_ms, config.scanner_timeout_ms, config.operation_timeout_ms) =
            (10_000, 10_000, 20_000);
        Ok(Self { cluster: Arc::new(block_on(halite::connect_with(config))?), _folder: None })
    }
}

/// Pairs of tables with the same name on both clusters, one pair per concurrent program.
struct Tables<'a> {
    clusters: &'a [Deployment; 2],
    left_in_memory: bool,
    created: AtomicUsize,
    /// Part of the names, so that leftovers of an interrupted run do not collide.
    run: u32,
    idle: Mutex<Vec<[SystemImplementation<ClusterSystem>; 2]>>,
}

impl<'a> Tables<'a> {
    fn new(clusters: &'a [Deployment; 2], left_in_memory: bool) -> Self {
        Self {
            clusters,
            left_in_memory,
            created: AtomicUsize::new(0),
            run: std::process::id(),
            idle: Mutex::new(Vec::new()),
        }
    }

    fn make(&self) -> [SystemImplementation<ClusterSystem>; 2] {
        let number = self.created.fetch_add(1, Relaxed);
        // Two names, because both sides may be one cluster.
        [0, 1].map(|side| {
            let name = format!("halite_differ_{}_{number}_{}", self.run, ["left", "right"][side])
                .parse()
                .expect("a valid name");
            SystemImplementation::new(ClusterSystem::new(
                Arc::clone(&self.clusters[side].cluster),
                name,
            ))
        })
    }

    fn run(&self, program: &[String]) -> Option<Difference> {
        let idle = self.idle.lock().expect("no thread panics").pop();
        let [mut left, right] = idle.unwrap_or_else(|| self.make());
        let mut right = right;
        let found = if self.left_in_memory {
            let mut apart = InMemoryOnly(left);
            let found = run(program, &mut apart, &mut right);
            left = apart.0;
            found
        } else {
            run(program, &mut left, &mut right)
        };
        self.idle.lock().expect("no thread panics").push([left, right]);
        found
    }

    fn drop_all(self) {
        for side in self.idle.into_inner().unwrap_or_default().into_iter().flatten() {
            if let Err(error) = side.into_inner().drop_table() {
                println!("cannot delete a table: {error}");
            }
        }
    }
}

/// Side that reports slow and internally failed steps, which were retried repeatedly.
struct LoggedImplementation<'a>(&'a mut dyn Implementation, &'static str);

impl Implementation for LoggedImplementation<'_> {
    fn begin(&mut self) {
        self.0.begin();
    }

    fn run_step(&mut self, step: &ScriptStep) -> Vec<String> {
        let begin = Instant::now();
        let answer = self.0.run_step(step);
        let text: String = answer.join(" | ").chars().take(300).collect();
        if begin.elapsed() > Duration::from_secs(10) || text.starts_with("error: Io") {
            println!(
                "{} took {:.1} s: {} -> {text}",
                self.1,
                begin.elapsed().as_secs_f64(),
                step.text
            );
        }
        answer
    }
}

fn run(
    program: &[String],
    left: &mut dyn Implementation,
    right: &mut dyn Implementation,
) -> Option<Difference> {
    let (mut left, mut right) =
        (LoggedImplementation(left, "LEFT"), LoggedImplementation(right, "RIGHT"));
    let (left, right): (&mut dyn Implementation, &mut dyn Implementation) = (&mut left, &mut right);
    difference(program, left, right).expect("generated and shrunk programs parse")
}
