//! Random run from a seed: a table, options and steps, and a report that reproduces it.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use halite_engine::env::sim::SimEnv;
use halite_engine::{Options, PartReads, WalRecovery, WalSync};
use halite_types::TableName;

use crate::generate::Generator;
use crate::step::Step;
use crate::world::{RunStats, World};

/// Maximum steps printed for a failure.
const MAX_SHOWN_STEPS: usize = 12;

/// Maximum printed bytes of a step.
const MAX_STEP_TEXT_BYTES: usize = 1500;

/// Result of a run and its final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Statistics of the run.
    pub stats: RunStats,
    /// Calls to the file system.
    pub calls: u64,
    /// Digest of the disk's bytes, the time and the next random number.
    pub digest: u64,
}

/// Incorrect behavior of the engine, and the seed that reproduces it.
#[derive(Clone, Debug)]
pub struct Failure {
    seed: u64,
    steps: u64,
    step: u64,
    message: String,
    options: String,
    /// Time and kind of the last steps.
    last_steps: VecDeque<(i64, Step)>,
}

impl Failure {
    /// Returns the failure of a run that panicked; the panic message has been printed.
    pub fn panicked(seed: u64, steps: u64) -> Self {
        Self {
            seed,
            steps,
            step: 0,
            message: "panic; its message is printed above".to_owned(),
            options: String::new(),
            last_steps: VecDeque::new(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {:#x}, step {} of {}: {}",
            self.seed, self.step, self.steps, self.message
        )?;
        writeln!(f, "with {}", self.options)?;
        writeln!(f, "the last steps:")?;
        for (now, step) in &self.last_steps {
            let text = step.to_string();
            writeln!(f, "  at {now}: {}", &text[..text.floor_char_boundary(MAX_STEP_TEXT_BYTES)])?;
        }
        write!(f, "reproduce with: cargo xtask sim --seed {:#x} --steps {}", self.seed, self.steps)
    }
}

/// Executes `steps` random steps.
///
/// # Errors
/// Returns the engine's incorrect behavior.
pub fn run(seed: u64, steps: u64) -> Result<Report, Failure> {
    run_with(seed, steps, |_| {})
}

/// As [`run`], with other options, which the model does not take into account.
///
/// # Errors
/// Returns the engine's incorrect behavior.
pub fn run_with(
    seed: u64,
    steps: u64,
    adjust: impl FnOnce(&mut Options),
) -> Result<Report, Failure> {
    let mut generator = Generator::new(seed);
    let mut failure = Failure {
        seed,
        steps,
        step: 0,
        message: String::new(),
        options: String::new(),
        last_steps: VecDeque::new(),
    };
    let mut options = options(&generator);
    let promised = options.wal_sync;
    adjust(&mut options);
    failure.options = format!("{options:?}");
    let table = generator.table(TableName::new("default", "t").expect("a legal name"));
    let sim = SimEnv::new(seed);
    let mut world = World::new(sim.clone(), options, table, None)
        .map_err(|message| Failure { message, ..failure.clone() })?;
    world.promised = promised;
    for at in 1..=steps {
        let step = match steps - at {
            0 => Step::Reopen,
            1 => Step::CheckSnapshots,
            _ => generator.step(world.now()),
        };
        failure.step = at;
        let (now, done) = (world.now(), world.step(&step));
        if failure.last_steps.len() == MAX_SHOWN_STEPS {
            failure.last_steps.pop_front();
        }
        failure.last_steps.push_back((now, step));
        done.map_err(|message| Failure { message, ..failure.clone() })?;
        let pause = generator.below(24);
        sim.clock.advance_ms(u32::try_from(pause.saturating_sub(3)).unwrap_or(0));
    }
    Ok(Report { stats: world.stats, calls: sim.fs.calls(), digest: digest(&sim) })
}

/// Returns options with small limits, so that flushes, log segments and compactions are frequent;
/// some runs have no such limits.
fn options(generator: &Generator) -> Options {
    let mut options = Options::default();
    options.wal_segment_bytes = 4096 << generator.below(8);
    options.memstore_flush_bytes = 16_384 << generator.below(8);
    options.memstore_chunk_bytes = 4096 << generator.below(4);
    options.wal_recovery =
        if generator.below(4) == 0 { WalRecovery::SkipDamaged } else { WalRecovery::Strict };
    // Some runs disable in-memory compaction.
    options.in_memory_compaction_bytes =
        [0, 256, 1024, 4096][usize::try_from(generator.below(4)).unwrap_or(0)];
    // Some runs acknowledge writes without syncing the log.
    options.wal_sync = if generator.below(4) == 0 { WalSync::Flush } else { WalSync::Fsync };
    options.nonce_grace_period_ms =
        [0, 60_000, 30 * 60_000][usize::try_from(generator.below(3)).unwrap_or(0)];
    options.block_cache_bytes = generator.below(3) * 10_000;
    options.part_bytes = [0, 60, 400, 4096][usize::try_from(generator.below(4)).unwrap_or(0)];
    options.idle_compaction_ms = generator.below(4) * 500;
    options.part_reads = if generator.below(4) == 0 { PartReads::Never } else { PartReads::Always };
    // A small ratio rarely selects the older files.
    options.compaction_ratio =
        [0.1, 0.5, 1.2, 1.2][usize::try_from(generator.below(4)).unwrap_or(0)];
    options.min_compaction_files = 2 + usize::try_from(generator.below(2)).unwrap_or(0);
    options.max_wal_segments = 2 + usize::try_from(generator.below(8)).unwrap_or(0);
    // Without a reserve, log writes themselves meet the full disk.
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
