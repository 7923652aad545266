//! A random run from a seed: a table, options and steps, and a report that repeats it.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use halite_engine::env::sim::SimEnv;
use halite_engine::{Options, WalRecovery, WalSync};
use halite_types::TableName;

use crate::generate::{Generator, Step};
use crate::world::{Tally, World};

/// Steps that a failure shows.
const STEPS_SHOWN: usize = 12;

/// Bytes of a step that are shown.
const STEP_TEXT_MAX: usize = 1500;

/// What a run did, and the state it ended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was done.
    pub tally: Tally,
    /// Calls to the file system.
    pub calls: u64,
    /// The bytes of the disk, the time and the next random number.
    pub digest: u64,
}

/// What the engine did wrong, and how to see it again.
#[derive(Clone, Debug)]
pub struct Failure {
    seed: u64,
    steps: u64,
    at: u64,
    what: String,
    options: String,
    /// When each came, and what it was.
    last_steps: VecDeque<(i64, Step)>,
}

impl Failure {
    /// Of a run that ended in a panic, whose text has been printed.
    pub fn panicked(seed: u64, steps: u64) -> Self {
        Self { seed, steps, at: 0, what: "a panic; its text stands above".to_owned(), options: String::new(), last_steps: VecDeque::new() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {:#x}, step {} of {}: {}", self.seed, self.at, self.steps, self.what)?;
        writeln!(f, "with {}", self.options)?;
        writeln!(f, "the last steps:")?;
        for (now, step) in &self.last_steps {
            let text = step.to_string();
            writeln!(f, "  at {now}: {}", &text[..text.floor_char_boundary(STEP_TEXT_MAX)])?;
        }
        write!(f, "repeat it with: cargo xtask sim --seed {:#x} --steps {}", self.seed, self.steps)
    }
}

/// Does `steps` random steps.
///
/// # Errors
/// What the engine did wrong.
pub fn run(seed: u64, steps: u64) -> Result<Report, Failure> {
    run_with(seed, steps, |_| {})
}

/// The same with other options, of which the model is not told.
///
/// # Errors
/// What the engine did wrong.
pub fn run_with(seed: u64, steps: u64, adjust: impl FnOnce(&mut Options)) -> Result<Report, Failure> {
    let mut generator = Generator::new(seed);
    let mut failure = Failure { seed, steps, at: 0, what: String::new(), options: String::new(), last_steps: VecDeque::new() };
    let mut options = options(&generator);
    let promised = options.wal_sync;
    adjust(&mut options);
    failure.options = format!("{options:?}");
    let table = generator.table(TableName::new("default", "t").expect("a legal name"));
    let sim = SimEnv::new(seed);
    let mut world = World::new(sim.clone(), options, table, None).map_err(|what| Failure { what, ..failure.clone() })?;
    world.promised = promised;
    for at in 1..=steps {
        let step = match steps - at {
            0 => Step::Reopen,
            1 => Step::CheckSnapshots,
            _ => generator.step(world.now()),
        };
        failure.at = at;
        let (now, done) = (world.now(), world.step(&step));
        if failure.last_steps.len() == STEPS_SHOWN {
            failure.last_steps.pop_front();
        }
        failure.last_steps.push_back((now, step));
        done.map_err(|what| Failure { what, ..failure.clone() })?;
        let pause = generator.below(24);
        sim.clock.advance_ms(u32::try_from(pause.saturating_sub(3)).unwrap_or(0));
    }
    Ok(Report { tally: world.tally, calls: sim.fs.calls(), digest: digest(&sim) })
}

/// Small limits, so that flushes, log segments and compactions come often; some runs have none of them.
fn options(generator: &Generator) -> Options {
    let mut options = Options::default();
    options.wal_segment_bytes = 4096 << generator.below(8);
    options.memstore_flush_bytes = 16_384 << generator.below(8);
    options.memstore_chunk_bytes = 4096 << generator.below(4);
    options.wal_recovery = if generator.below(4) == 0 { WalRecovery::SkipDamaged } else { WalRecovery::Strict };
    // Some runs never condense.
    options.memstore_condense_bytes = [0, 256, 1024, 4096][usize::try_from(generator.below(4)).unwrap_or(0)];
    // One that lets writes go by the log is not synced either, sometimes.
    options.wal_sync = if generator.below(4) == 0 { WalSync::Flush } else { WalSync::Fsync };
    options.nonce_ms = [0, 60_000, 30 * 60_000][usize::try_from(generator.below(3)).unwrap_or(0)];
    options.block_cache_bytes = generator.below(3) * 10_000;
    // Where it is small, the older files are seldom among those that are merged.
    options.compaction_ratio = [0.1, 0.5, 1.2, 1.2][usize::try_from(generator.below(4)).unwrap_or(0)];
    options.compaction_files_min = 2 + usize::try_from(generator.below(2)).unwrap_or(0);
    options.wal_segments_max = 2 + usize::try_from(generator.below(8)).unwrap_or(0);
    // Without a reserve the log itself meets the full disk.
    options.disk_reserve_bytes = (generator.below(2) == 0).then_some(0);
    options
}

fn digest(sim: &SimEnv) -> u64 {
    let mut hasher = DefaultHasher::new();
    sim.fs.files().hash(&mut hasher);
    sim.env().clock.now_ms().hash(&mut hasher);
    sim.env().rng.next_u64().hash(&mut hasher);
    hasher.finish()
}
