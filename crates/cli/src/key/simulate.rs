//! `halite key simulate`: which designs, on which regions, under which traffic.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use halite::rowkey::language::{Column, Query, SplitClause};
use halite::rowkey::simulate::picture::svg;
use halite::rowkey::simulate::{Design, FieldSpec, Generator, Regions, SimulateOptions, Simulation, Traffic, simulate};
use halite::rowkey::split::Splits;
use halite::rowkey::{FieldType, KeySchema, LanguageError, SegmentKind, Value};
use halite::{RegionInfo, TableName};

use super::declared::{declared_by, key_of, read_key};
use super::infer::AnswerFormat;
use super::simulated::{as_json, tell};
use super::split::splits_of;
use crate::cmd::key::at_least_one;
use crate::place::PlaceFlags;
use crate::units::parse_duration;

/// Regions where nothing else is said.
const REGIONS: u32 = 16;
/// Salts that are taken for regions where nothing else is said.
const SALT_REGIONS_MAX: u32 = 256;

/// What is simulated.
#[derive(clap::Args)]
pub(crate) struct Simulated {
    /// Keys as they are declared, or @FILE with one; of several, all get the same traffic
    #[arg(long, value_name = "ROW_KEY", required_unless_present = "table")]
    key: Vec<String>,
    /// Table whose key, regions and declared queries are taken
    #[arg(long, value_name = "TABLE")]
    table: Option<TableName>,
    #[command(flatten)]
    place: PlaceFlags,
    /// How tables are split, as in `halite key split`; if nothing is said, as the table is, by salt, or into 16 with as many writes each
    #[arg(long, value_name = "SPLIT")]
    split: Option<String>,
    /// Values of a field: uniform(n), zipf(n,s), hot(share,n), seq(from), cycle(n), one(a,b,c), random, uuid, now(jitter=500ms, step=1s), or text as in sensor_{zipf(1000,1.1):05}
    #[arg(long, value_name = "FIELD=GENERATOR")]
    field: Vec<String>,
    /// Trace instead: lines of `time_ms<TAB>R|W<TAB>field=value field=value`, or `time_ms<TAB>R|W<TAB>KEY<TAB>key` where the third word is KEY itself
    #[arg(long, value_name = "FILE", conflicts_with_all = ["field", "operations", "rate", "read_ratio", "start"])]
    trace: Option<PathBuf>,
    /// Operations that are drawn
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    operations: usize,
    /// Operations in a second; 1000 if no now(n/s) of a field says otherwise
    #[arg(long, value_name = "RATE")]
    rate: Option<f64>,
    /// Share of operations that read, 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 0.0)]
    read_ratio: f64,
    /// When the traffic begins
    #[arg(long, value_name = "TIMESTAMP", default_value = "2024-03-15")]
    start: String,
    /// Random seed; equal seeds give equal results
    #[arg(long, value_name = "SEED", default_value_t = 7)]
    seed: u64,
    /// Operations of one window
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = at_least_one)]
    window_operations: usize,
    /// Length of one time window; a window with fewer than 8 writes per region lasts longer
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    window_time: u64,
    /// What will be asked, as in WITH QUERIES: `latest: device_id = ? AND ts IN RANGE`
    #[arg(long, value_name = "QUERY")]
    query: Vec<String>,
    /// Paint it into this file: time from left to right, regions from bottom to top
    #[arg(long, value_name = "FILE")]
    svg_file: Option<PathBuf>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    format: AnswerFormat,
}

/// A design and how its table came to be split, in words.
pub(super) struct Planned {
    pub(super) design: Design,
    pub(super) split: String,
}

/// Simulates, and prints and paints what it comes to.
pub(crate) fn simulate_keys(what: &Simulated) -> anyhow::Result<ExitCode> {
    let planned = what.designs()?;
    let (traffic, said) = what.traffic(&planned)?;
    // A window is as long as the writes of the traffic at most.
    let writes = traffic.operations.iter().filter(|operation| !operation.is_read).count();
    let options = SimulateOptions { window: what.window_operations.min(writes.max(1)), window_ms: what.window_time, seed: what.seed };
    let found: Vec<Simulation> = planned.iter().map(|one| simulate(&one.design, &traffic, &options)).collect::<Result<_, _>>()?;
    match what.format {
        AnswerFormat::Text => tell(&planned, &found, &said, &options)?,
        AnswerFormat::Json => as_json(&planned, &found, &said, &options)?,
    }
    if let Some(file) = &what.svg_file {
        let painted = svg("Where writes go, moment by moment", &found.iter().collect::<Vec<_>>());
        std::fs::write(file, painted).with_context(|| format!("the picture {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Simulated {
    fn designs(&self) -> anyhow::Result<Vec<Planned>> {
        let mut planned = Vec::new();
        if let Some(table) = &self.table {
            planned.push(self.of_table(table)?);
        }
        for text in &self.key {
            let key = read_key(text)?;
            let (regions, split) = self.regions(&key, None)?;
            let queries = self.queries(&key, &[])?;
            planned.push(Planned { design: Design { name: key.to_text(), key, regions, queries }, split });
        }
        Ok(planned)
    }

    fn of_table(&self, table: &TableName) -> anyhow::Result<Planned> {
        let place = self.place.open_existing()?;
        let handle = place.table(&table.to_string())?;
        let descriptor = handle.descriptor()?;
        let there = handle.regions()?;
        place.close()?;
        let key = key_of(&descriptor)?;
        let declared = declared_by(&descriptor)?;
        let (regions, split) = self.regions(&key, Some(&there))?;
        let queries = match declared {
            Some(declared) if self.query.is_empty() => declared.queries,
            Some(declared) => self.queries(&key, &declared.columns)?,
            None => self.queries(&key, &[])?,
        };
        Ok(Planned { design: Design { name: format!("table {table}: {key}"), key, regions, queries }, split })
    }

    fn regions(&self, key: &KeySchema, there: Option<&[RegionInfo]>) -> anyhow::Result<(Regions, String)> {
        if let Some(text) = &self.split {
            // Even parts of keys that nobody has seen yet are those of the traffic.
            let clause: SplitClause = text.parse().map_err(|error: LanguageError| anyhow!("the splits cannot be read\n{}", error.render(text)))?;
            let splits = splits_of(&clause, key, |table| {
                let place = self.place.open_existing()?;
                let regions = place.table(&table.to_string())?.regions()?;
                place.close()?;
                Ok(Splits::like(&regions).keys)
            })?;
            return Ok((Regions::Borders(splits.keys), text.clone()));
        }
        if let Some(there) = there {
            return Ok((Regions::Borders(Splits::like(there).keys), "as the table is".to_owned()));
        }
        match key.segments().first().map(|segment| &segment.kind) {
            Some(SegmentKind::Salt { count: 2..=SALT_REGIONS_MAX, .. }) => {
                Ok((Regions::Borders(Splits::by_salt(key, 1, None)?.keys), "BY SALT".to_owned()))
            }
            _ => Ok((Regions::Even(REGIONS), format!("into {REGIONS} with as many writes each"))),
        }
    }

    /// The queries of the command line, about the fields of the key and columns of its table.
    fn queries(&self, key: &KeySchema, columns: &[Column]) -> anyhow::Result<Vec<Query>> {
        let names: Vec<&str> =
            key.fields().iter().map(|field| field.name.as_str()).chain(columns.iter().map(|column| column.name.as_str())).collect();
        let read = |text: &String| {
            Query::parse(text, &names).map_err(|error| {
                anyhow!("--query cannot be read for {key}; one is like \"latest: device = ? AND ts IN RANGE\"\n{}", error.render(text))
            })
        };
        let queries = self.query.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        if let Some((at, twice)) = queries.iter().enumerate().find(|(at, query)| queries[..*at].iter().any(|other| other.name == query.name)) {
            bail!("--query {} is given twice; query {} needs another name", twice.name, at + 1);
        }
        Ok(queries)
    }

    /// The traffic, and what it is in words.
    fn traffic(&self, planned: &[Planned]) -> anyhow::Result<(Traffic, Vec<String>)> {
        let mut known: Vec<(&str, FieldType)> = Vec::new();
        for field in planned.iter().flat_map(|one| one.design.key.fields()) {
            if !known.iter().any(|(name, _)| *name == field.name) {
                known.push((&field.name, field.ty));
            }
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        if let Some(file) = &self.trace {
            let text = std::fs::read_to_string(file).with_context(|| format!("the trace {}", file.display()))?;
            let traffic = Traffic::of_trace(&text, &names).with_context(|| format!("{}", file.display()))?;
            let said = format!("{} operations of {}", traffic.operations.len(), file.display());
            return Ok((traffic, vec![said]));
        }
        if !((0.0..=1.0).contains(&self.read_ratio) && self.rate.is_none_or(|rate| rate > 0.0 && rate.is_finite())) {
            bail!("--read-ratio is a number from 0 to 1, and --rate a number above 0");
        }
        let specs = self.specs(&known)?;
        let said = specs.iter().map(|(name, text)| format!("{name} = {text}")).collect();
        let fields = specs
            .into_iter()
            .map(|(name, text)| FieldSpec::parse(&text).map(|spec| (name.clone(), spec)).map_err(|error| anyhow!("{name}: {error}")));
        let start_ms = match FieldType::Timestamp(halite::rowkey::value::TimeUnit::Millis).parse(&self.start) {
            Ok(Value::Signed(ms)) => ms,
            Ok(_) => bail!("--start: a time is wanted"),
            Err(error) => bail!("--start: {error}"),
        };
        let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
        let generator =
            Generator { fields, operations: self.operations, rate_per_second: self.rate, start_ms, reads: self.read_ratio, seed: self.seed };
        Ok((generator.traffic()?, said))
    }

    /// What is drawn for each field: as the command line says, or what its type suggests.
    fn specs(&self, known: &[(&str, FieldType)]) -> anyhow::Result<Vec<(String, String)>> {
        let mut specs: Vec<(String, String)> = known.iter().map(|(name, ty)| ((*name).to_owned(), usual(name, *ty))).collect();
        let mut given_before = std::collections::HashSet::new();
        for given in &self.field {
            let (name, text) =
                given.split_once('=').with_context(|| format!("{given:?}: a field is given as FIELD=GENERATOR, like id=zipf(1000,1.1)"))?;
            let place = specs.iter_mut().find(|(known, _)| known == name.trim());
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            let (_, drawn) = place.with_context(|| format!("no key has a field {name}; there are {}", names.join(", ")))?;
            if !given_before.insert(name.trim()) {
                bail!("--field {} is given twice", name.trim());
            }
            text.trim().clone_into(drawn);
        }
        Ok(specs)
    }
}

/// What is drawn for a field nobody says anything of.
fn usual(name: &str, ty: FieldType) -> String {
    match ty {
        FieldType::Timestamp(_) | FieldType::Date => "now".to_owned(),
        FieldType::Uuid => "uuid".to_owned(),
        FieldType::U8 => "uniform(256)".to_owned(),
        FieldType::I8 => "uniform(128)".to_owned(),
        FieldType::Bool => "one(true,false)".to_owned(),
        FieldType::Ipv4 => "10.0.{uniform(256)}.{uniform(256)}".to_owned(),
        FieldType::Ipv6 => "2001:db8::{uniform(10000)}".to_owned(),
        FieldType::String => format!("{name}_{{uniform(10000):05}}"),
        FieldType::Char(width) => format!("uniform({})", 10_u64.pow(u32::from(width.min(9)))),
        FieldType::Bytes => "{uuid}".to_owned(),
        FieldType::Fixed(width) => format!("{{uniform(10000):{width}}}"),
        _ => "uniform(10000)".to_owned(),
    }
}
