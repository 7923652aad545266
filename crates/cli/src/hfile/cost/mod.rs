//! `halite hfile cost`: what cells take under every encoding and codec, and what they cost to write
//! and read, measured on a sample.
//!
//! `sample.rs` reads the sample, `measure.rs` encodes and reads it, `recommend.rs` decides,
//! `report.rs` prints.

mod measure;
mod recommend;
mod report;
mod sample;

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, bail};
use halite::{Bytes, FamilyDescriptor, TableDescriptor, TableName};
use halite_engine::hfile::{
    Compression, DEFAULT_PART_BYTES, DataBlockEncoding, WriterOptions, info_key,
};
use indicatif::{ProgressBar, ProgressStyle};

use self::measure::Measurement;
use self::recommend::{Evidence, Recommendation, recommend};
use self::sample::Sample;
use super::open;
use crate::backend::{Backend, BackendArgs};

/// Settings of a measurement.
#[derive(Clone, Copy)]
pub(crate) struct CostSettings {
    /// Bytes of cells that are sampled for each family.
    pub(crate) sample_bytes: u64,
    /// Times that each combination is measured.
    pub(crate) rounds: usize,
    /// Part by which a combination may be larger than the smallest and still be recommended.
    pub(crate) slack: f64,
    pub(crate) json: bool,
}

/// Encoding and codec of a file.
type Combination = (DataBlockEncoding, Compression);

/// Measurements of one family.
struct FamilyCost {
    family: Bytes,
    /// Summary of the sample: where it is from.
    origin: String,
    options: WriterOptions,
    current: Option<Combination>,
    evidence: Evidence,
    measurements: Vec<Measurement>,
    recommendation: Recommendation,
}

/// Measures the families of a table, or one of them, and prints the result.
///
/// # Errors
/// Returns an error of the table, or an error if there is no such family or no cell.
pub(crate) fn cost_of_table(
    out: &mut impl Write,
    place: &BackendArgs,
    name: &TableName,
    family: Option<&str>,
    settings: CostSettings,
) -> anyhow::Result<()> {
    let backend = place.open_existing()?;
    let measured = measure_table(&backend, name, family, settings);
    let closed = backend.close();
    let costs = measured.with_context(|| format!("table {name}"))?;
    closed.context("closing the store")?;
    report::write(out, &costs, Some(name), settings)
}

fn measure_table(
    backend: &Backend,
    name: &TableName,
    family: Option<&str>,
    settings: CostSettings,
) -> anyhow::Result<Vec<FamilyCost>> {
    let table = backend.cluster().table(name);
    let (descriptor, regions) = (backend.descriptor(name)?, backend.regions(name)?);
    let families: Vec<&FamilyDescriptor> = descriptor
        .families()
        .filter(|each| family.is_none_or(|wanted| each.name() == wanted.as_bytes()))
        .collect();
    if families.is_empty() {
        bail!("there is no family {}; look at describe '{name}'", family.unwrap_or_default());
    }
    let mut costs = Vec::new();
    for family in families {
        let bar = progress("sampling");
        let sample =
            sample::from_table(&table, &regions, family.name(), settings.sample_bytes, &bar)?;
        bar.finish_and_clear();
        if sample.cells.is_empty() {
            continue;
        }
        let options = WriterOptions {
            include_sequence_ids: true,
            // HBase writes no parts.
            part_bytes: backend
                .store()
                .map(|store| store.engine().options().part_bytes)
                .filter(|bytes| *bytes > 0),
            ..WriterOptions::for_bulk_load(&descriptor, family)
        };
        let current = Some((options.encoding, options.compression));
        costs.push(measure_sample(family.name().clone(), &sample, &options, current, settings)?);
    }
    if costs.is_empty() {
        bail!("it has no cells to measure; write some, or measure a store file");
    }
    Ok(costs)
}

/// Measures the cells of a store file and prints the result.
///
/// # Errors
/// Returns an error if the file cannot be read or has no cell.
pub(crate) fn cost_of_file(
    out: &mut impl Write,
    path: &Path,
    settings: CostSettings,
) -> anyhow::Result<()> {
    let reader = open(path)?;
    let bar = progress("sampling");
    let sample = sample::from_file(&reader, settings.sample_bytes, &bar)?;
    bar.finish_and_clear();
    let Some(family) = sample.cells.first().map(|cell| Bytes::copy_from_slice(cell.family()))
    else {
        bail!("store file {} has no cells to measure", path.display());
    };
    let encoding = reader
        .info()
        .get(info_key::DATA_BLOCK_ENCODING)
        .and_then(|name| DataBlockEncoding::from_name(std::str::from_utf8(name).ok()?))
        .unwrap_or_default();
    let family_descriptor = FamilyDescriptor::new(family.clone());
    let table = TableDescriptor::new(TableName::new("default", "file")?);
    let options = WriterOptions {
        include_sequence_ids: reader.has_sequence_ids(),
        bloom: reader.bloom_type(),
        comparator: reader.comparator(),
        part_bytes: (reader.trailer().meta_index_count > 0).then_some(DEFAULT_PART_BYTES),
        ..WriterOptions::for_bulk_load(&table, &family_descriptor)
    };
    let current = Some((encoding, reader.trailer().compression));
    let cost = measure_sample(family, &sample, &options, current, settings)?;
    report::write(out, &[cost], None, settings)
}

fn measure_sample(
    family: Bytes,
    sample: &Sample,
    options: &WriterOptions,
    current: Option<Combination>,
    settings: CostSettings,
) -> anyhow::Result<FamilyCost> {
    let options = WriterOptions { include_tags: sample.has_tags(), ..options.clone() };
    let bar = progress("measuring");
    let measurements = measure::all(&sample.cells, &options, settings.rounds, &bar)?;
    bar.finish_and_clear();
    let evidence = Evidence {
        rounds: settings.rounds,
        sample_bytes: sample.bytes,
        is_whole: sample.is_whole,
        runs: sample.runs,
        data_blocks: measurements.iter().map(|one| one.sizes.data_blocks).min().unwrap_or(0),
    };
    let recommendation = recommend(&measurements, current, settings.slack, &evidence);
    Ok(FamilyCost {
        family,
        origin: sample.describe(),
        options,
        current,
        evidence,
        measurements,
        recommendation,
    })
}

/// Creates a progress bar. It draws nothing if standard error is not a terminal.
fn progress(message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:40} {percent} %, {elapsed}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(1).with_style(style).with_message(message)
}

#[cfg(test)]
mod tests;
