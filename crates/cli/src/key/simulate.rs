//! `halite key simulate`: builds the designs, regions and traffic from the options, and runs the
//! simulation.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use halite::rowkey::language::{Column, Query, SplitClause};
use halite::rowkey::split::Splits;
use halite::rowkey::{FieldType, KeySchema, LanguageError, SegmentKind, Value};
use halite::{RegionInfo, TableName};
use halite_rowkey_tools::picture::{Panel, Picture, Theme, svg};
use halite_rowkey_tools::simulate::{
    Design, FieldSpec, RegionLayout, SimulateOptions, Simulation, Traffic, TrafficSpec, simulate,
};

use super::infer::OutputFormat;
use super::key_spec::{key_for_table, read_key, table_declaration};
use super::simulate_report::{Report, print_json, print_text};
use super::split::resolve_splits;
use super::terminal_colors::{ColorChoice, terminal_style};
use super::trace_file;
use crate::backend::BackendArgs;
use crate::key::arguments::at_least_one;
use crate::units::parse_duration;

/// Default number of regions.
const REGIONS: u32 = 16;
/// Maximum number of salts that become regions by default.
const MAX_SALT_REGIONS: u32 = 256;

/// Arguments of `halite key simulate`.
#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    /// Row key as declared, or @FILE with the declaration; may be repeated, all keys get the same
    /// traffic
    #[arg(long, value_name = "ROW_KEY", required_unless_present = "table")]
    key: Vec<String>,
    /// Table that provides the key, regions and declared queries
    #[arg(long, value_name = "TABLE")]
    table: Option<TableName>,
    #[command(flatten)]
    backend: BackendArgs,
    /// Split of the tables, as in `halite key split` [default: as the table, by salt, or into 16
    /// regions with equal writes]
    #[arg(long, value_name = "SPLIT")]
    split: Option<String>,
    /// Field generator: uniform(n), zipf(n,s), hot(share,n), seq(from), cycle(n), one(a,b,c),
    /// random, uuid, now(jitter=500ms, step=1s), or text as in sensor_{zipf(1000,1.1):05}
    #[arg(long, value_name = "FIELD=GENERATOR")]
    field: Vec<String>,
    /// Trace file to replay instead: that of `halite key trace`, or lines of `time_ms<TAB>R|W<TAB>field=value field=value`, or
    /// `time_ms<TAB>R|W<TAB>KEY<TAB>key` where the third word is literally KEY
    #[arg(long, value_name = "FILE", conflicts_with_all = ["field", "operations", "rate", "read_ratio", "start"])]
    trace: Option<PathBuf>,
    /// Number of operations to generate
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    operations: usize,
    /// Operations per second [default: from now(n/s) of a field, else 1000]
    #[arg(long, value_name = "RATE")]
    rate: Option<f64>,
    /// Ratio of reads to all operations, 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 0.0)]
    read_ratio: f64,
    /// Start time of the traffic
    #[arg(long, value_name = "TIMESTAMP", default_value = "2024-03-15")]
    start: String,
    /// Random seed; equal seeds give equal results
    #[arg(long, value_name = "SEED", default_value_t = 7)]
    seed: u64,
    /// Maximum operations per window
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = at_least_one)]
    window_operations: usize,
    /// Length of one time window; a window with fewer than 8 writes per region lasts longer
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    window_time: u64,
    /// Query to evaluate, as in WITH QUERIES: `latest: device_id = ? AND ts IN RANGE`
    #[arg(long, value_name = "QUERY")]
    query: Vec<String>,
    /// Write a picture to this SVG file: time from left to right, keys from top to bottom, one
    /// scale for all
    #[arg(long, value_name = "FILE", alias = "svg-file")]
    svg: Option<PathBuf>,
    /// Ground of the SVG file and of colors in the terminal [default: that of the reader of the
    /// file, and that of the terminal as far as it is known]
    #[arg(long, value_enum)]
    theme: Option<PictureTheme>,
    /// Colors in the terminal
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// Ground of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PictureTheme {
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl From<PictureTheme> for Theme {
    fn from(theme: PictureTheme) -> Self {
        match theme {
            PictureTheme::Light => Self::Light,
            PictureTheme::Dark => Self::Dark,
        }
    }
}

/// Design with a description of its table's splits.
pub(super) struct SimulatedDesign {
    pub(super) design: Design,
    pub(super) split: String,
}

/// Runs the simulation, prints the results and writes the image.
pub(crate) fn simulate_keys(arguments: &SimulateArgs) -> anyhow::Result<ExitCode> {
    let planned = arguments.designs()?;
    let (traffic, traffic_text) = arguments.traffic(&planned)?;
    // A window contains at most all writes of the traffic.
    let writes = traffic.operations.iter().filter(|operation| !operation.is_read).count();
    let options = SimulateOptions {
        window: arguments.window_operations.min(writes.max(1)),
        window_ms: arguments.window_time,
        seed: arguments.seed,
    };
    let found: Vec<Simulation> = planned
        .iter()
        .map(|one| simulate(&one.design, &traffic, &options))
        .collect::<Result<_, _>>()?;
    let picture = picture(&found);
    match arguments.format {
        OutputFormat::Text => {
            let style = terminal_style(arguments.color, arguments.theme.map(Theme::from));
            let report = Report { planned: &planned, found: &found, traffic: &traffic_text };
            print_text(&report, &options, &picture, style)?;
        }
        OutputFormat::Json => print_json(&planned, &found, &traffic_text, &options)?,
    }
    if let Some(file) = &arguments.svg {
        let painted = svg(&picture, arguments.theme.map(Theme::from));
        std::fs::write(file, painted).with_context(|| format!("the picture {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the picture of all designs, under the letters that the report has for them.
fn picture(found: &[Simulation]) -> Picture {
    let panel = |(simulation, letter): (&Simulation, char)| {
        let title = match found {
            [_] => simulation.name.clone(),
            _ => format!("{letter}  {}", simulation.name),
        };
        Panel { title, ..simulation.panel.clone() }
    };
    Picture {
        title: "Where writes go, moment by moment".to_owned(),
        metric: "writes".to_owned(),
        panels: found.iter().zip('A'..).map(panel).collect(),
    }
}

impl SimulateArgs {
    fn designs(&self) -> anyhow::Result<Vec<SimulatedDesign>> {
        let mut planned = Vec::new();
        if let Some(table) = &self.table {
            planned.push(self.design_for_table(table)?);
        }
        for text in &self.key {
            let key = read_key(text)?;
            let (regions, split) = self.regions(&key, None)?;
            let queries = self.queries(&key, &[])?;
            planned.push(SimulatedDesign {
                design: Design { name: key.to_text(), key, regions, queries },
                split,
            });
        }
        Ok(planned)
    }

    fn design_for_table(&self, table: &TableName) -> anyhow::Result<SimulatedDesign> {
        let place = self.backend.open_existing()?;
        let handle = place.table(table)?;
        let descriptor = handle.descriptor()?;
        let there = handle.regions()?;
        place.close()?;
        let key = key_for_table(&descriptor)?;
        let declared = table_declaration(&descriptor)?;
        let (regions, split) = self.regions(&key, Some(&there))?;
        let queries = match declared {
            Some(declared) if self.query.is_empty() => declared.queries,
            Some(declared) => self.queries(&key, &declared.columns)?,
            None => self.queries(&key, &[])?,
        };
        Ok(SimulatedDesign {
            design: Design { name: format!("table {table}: {key}"), key, regions, queries },
            split,
        })
    }

    fn regions(
        &self,
        key: &KeySchema,
        there: Option<&[RegionInfo]>,
    ) -> anyhow::Result<(RegionLayout, String)> {
        if let Some(text) = &self.split {
            // Without existing keys, even splits are computed from the keys of the traffic.
            let clause: SplitClause = text.parse().map_err(|error: LanguageError| {
                anyhow!("the splits cannot be read\n{}", error.render(text))
            })?;
            let splits = resolve_splits(&clause, key, |table| {
                let place = self.backend.open_existing()?;
                let regions = place.table(table)?.regions()?;
                place.close()?;
                Ok(Splits::like(&regions).keys)
            })?;
            return Ok((RegionLayout::Boundaries(splits.keys), text.clone()));
        }
        if let Some(there) = there {
            return Ok((
                RegionLayout::Boundaries(Splits::like(there).keys),
                "as the table is".to_owned(),
            ));
        }
        match key.segments().first().map(|segment| &segment.kind) {
            Some(SegmentKind::Salt { count: 2..=MAX_SALT_REGIONS, .. }) => Ok((
                RegionLayout::Boundaries(Splits::by_salt(key, 1, None)?.keys),
                "BY SALT".to_owned(),
            )),
            _ => Ok((
                RegionLayout::Even(REGIONS),
                format!("into {REGIONS} with as many writes each"),
            )),
        }
    }

    /// Parses the queries of the command line, on the fields of the key and the columns of its
    /// table.
    fn queries(&self, key: &KeySchema, columns: &[Column]) -> anyhow::Result<Vec<Query>> {
        let names: Vec<&str> = key
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .chain(columns.iter().map(|column| column.name.as_str()))
            .collect();
        let read = |text: &String| {
            Query::parse(text, &names).map_err(|error| {
                anyhow!(
                    "--query cannot be read for {key}; one is like \"latest: device = ? AND ts IN \
                     RANGE\"\n{}",
                    error.render(text)
                )
            })
        };
        let queries = self.query.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        if let Some((at, twice)) = queries
            .iter()
            .enumerate()
            .find(|(at, query)| queries[..*at].iter().any(|other| other.name == query.name))
        {
            bail!("--query {} is given twice; query {} needs another name", twice.name, at + 1);
        }
        Ok(queries)
    }

    /// Returns the traffic and its description.
    fn traffic(&self, planned: &[SimulatedDesign]) -> anyhow::Result<(Traffic, Vec<String>)> {
        let mut known: Vec<(&str, FieldType)> = Vec::new();
        for field in planned.iter().flat_map(|one| one.design.key.fields()) {
            if !known.iter().any(|(name, _)| *name == field.name) {
                known.push((&field.name, field.ty));
            }
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        if let Some(file) = &self.trace {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("the trace {}", file.display()))?;
            let (traffic, left_out) = if trace_file::is_trace(&text) {
                trace_file::read(&text).map(|read| trace_file::traffic(&read, &names))
            } else {
                Traffic::from_trace(&text, &names)
                    .map(|traffic| (traffic, 0))
                    .map_err(anyhow::Error::from)
            }
            .with_context(|| format!("{}", file.display()))?;
            let mut traffic_text =
                vec![format!("{} operations of {}", traffic.operations.len(), file.display())];
            if left_out > 0 {
                traffic_text.push(format!("{left_out} without a whole key are left out"));
            }
            return Ok((traffic, traffic_text));
        }
        if !((0.0..=1.0).contains(&self.read_ratio)
            && self.rate.is_none_or(|rate| rate > 0.0 && rate.is_finite()))
        {
            bail!("--read-ratio is a number from 0 to 1, and --rate a number above 0");
        }
        let specs = self.specs(&known)?;
        let traffic_text = specs.iter().map(|(name, text)| format!("{name} = {text}")).collect();
        let fields = specs.into_iter().map(|(name, text)| {
            FieldSpec::parse(&text)
                .map(|spec| (name.clone(), spec))
                .map_err(|error| anyhow!("{name}: {error}"))
        });
        let start_ms = match FieldType::Timestamp(halite::rowkey::value::TimeUnit::Millis)
            .parse(&self.start)
        {
            Ok(Value::Signed(ms)) => ms,
            Ok(_) => bail!("--start: a time is wanted"),
            Err(error) => bail!("--start: {error}"),
        };
        let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
        let generator = TrafficSpec {
            fields,
            operations: self.operations,
            rate_per_second: self.rate,
            start_ms,
            reads: self.read_ratio,
            seed: self.seed,
        };
        Ok((generator.generate()?, traffic_text))
    }

    /// Returns the generator of each field: from the command line, or the default of its type.
    fn specs(&self, known: &[(&str, FieldType)]) -> anyhow::Result<Vec<(String, String)>> {
        let mut specs: Vec<(String, String)> =
            known.iter().map(|(name, ty)| ((*name).to_owned(), usual(name, *ty))).collect();
        let mut given_before = std::collections::HashSet::new();
        for given in &self.field {
            let (name, text) = given.split_once('=').with_context(|| {
                format!("{given:?}: a field is given as FIELD=GENERATOR, like id=zipf(1000,1.1)")
            })?;
            let place = specs.iter_mut().find(|(known, _)| known == name.trim());
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            let (_, drawn) = place.with_context(|| {
                format!("no key has a field {name}; there are {}", names.join(", "))
            })?;
            if !given_before.insert(name.trim()) {
                bail!("--field {} is given twice", name.trim());
            }
            text.trim().clone_into(drawn);
        }
        Ok(specs)
    }
}

/// Returns the default generator of a field.
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
