//! The table of a shape: created from its declaration, or one of an earlier run used again; loaded.

use std::ops::Range;

use anyhow::{Context as _, anyhow, bail};
use halite::rowkey::KeySchema;
use halite::rowkey::language::{SplitClause, Statement, TableDeclaration, statements};
use halite::{BlockingTable, Bytes, Get, RowOp, Scan, TableName};
use indicatif::{ProgressBar, ProgressStyle};

use super::patterns::{self, Pattern, PatternConfig};
use super::{Shape, StopRequest, TrafficConfig};
use crate::backend::Backend;
use crate::key::resolve_splits;

/// Rows written together while the table is loaded.
const BATCH_ROWS: usize = 500;
/// Rows whose presence tells whether the table is loaded.
const SAMPLED_ROWS: u64 = 20;

/// Table with the operations for it.
pub(crate) struct TrafficTable {
    pub(super) table: BlockingTable,
    pub(super) pattern: Box<dyn Pattern>,
    /// Number of regions if the table was created.
    pub(crate) created_regions: Option<usize>,
    /// Numbers of the rows that are missing.
    missing: Range<u64>,
}

impl TrafficTable {
    /// Opens the table, or creates it if it does not exist.
    ///
    /// # Errors
    /// Returns an error of the store, or an error if the table has another row key.
    pub(crate) fn open(backend: &Backend, config: &TrafficConfig) -> anyhow::Result<Self> {
        let mut declaration = declaration(config)?;
        let mut pattern_config = PatternConfig {
            shape: config.shape,
            seed: config.seed,
            rows: config.rows,
            rate: config.rate,
            numbers: 0..0,
        };
        if !backend.table_exists(&config.table)? {
            let pattern = patterns::build(&pattern_config, &declaration.key);
            let splits = splits(&*pattern, &declaration, config.regions)?;
            declaration.split = (!splits.is_empty())
                .then(|| SplitClause::At(splits.iter().map(|split| split.to_vec()).collect()));
            let splits: Vec<&[u8]> = splits.iter().map(|split| &**split).collect();
            backend
                .create_table(declaration.described(), &splits)
                .with_context(|| format!("creating table {}", config.table))?;
            return Ok(Self {
                table: backend.table(&config.table)?,
                pattern,
                created_regions: Some(splits.len() + 1),
                missing: 0..config.rows,
            });
        }
        must_match(backend, config, &declaration.key)?;
        let table = backend.table(&config.table)?;
        pattern_config.numbers = existing_numbers(&table, config.shape)?;
        let pattern = patterns::build(&pattern_config, &declaration.key);
        let missing = missing_rows(&table, &pattern_config, &*pattern)?;
        Ok(Self { table, pattern, created_regions: None, missing })
    }

    /// Returns the number of rows that [`Self::load`] writes.
    pub(crate) fn missing_rows(&self) -> u64 {
        self.missing.end - self.missing.start
    }

    /// Writes the missing rows and flushes the table. Ends early if a stop is requested.
    ///
    /// # Errors
    /// Returns an error of the store.
    pub(crate) fn load(&self, backend: &Backend, stop: &StopRequest) -> anyhow::Result<()> {
        let bar = progress(self.missing_rows());
        let mut next = self.missing.start;
        while next < self.missing.end && !stop.is_requested() {
            let end = self.missing.end.min(next + BATCH_ROWS as u64);
            let puts: Vec<RowOp> =
                (next..end).map(|number| self.pattern.row(number).to_put().into()).collect();
            for result in self.table.batch(puts)? {
                result?;
            }
            bar.inc(end - next);
            next = end;
        }
        bar.finish_and_clear();
        Ok(backend.flush(self.table.name())?)
    }
}

/// Disables and drops a table.
///
/// # Errors
/// Returns an error of the store.
pub(crate) fn drop_table(backend: &Backend, table: &TableName) -> anyhow::Result<()> {
    if backend.is_enabled(table)? {
        backend.disable_table(table)?;
    }
    Ok(backend.drop_table(table)?)
}

/// Returns the declaration of the shape's table, without splits.
fn declaration(config: &TrafficConfig) -> anyhow::Result<TableDeclaration> {
    let text = config.shape.statement(config.regions);
    let parsed = statements(&text).map_err(|error| anyhow!(error.render(&text)))?;
    let Some(Statement::CreateTable(mut declaration)) = parsed.into_iter().next() else {
        bail!("{text} is no declaration of a table");
    };
    declaration.descriptor = declaration.descriptor.renamed(config.table.clone());
    Ok(declaration)
}

fn splits(
    pattern: &dyn Pattern,
    declaration: &TableDeclaration,
    regions: u64,
) -> anyhow::Result<Vec<Bytes>> {
    if let Some(splits) = pattern.splits(regions) {
        return Ok(splits);
    }
    let has_salt = declaration.key.to_string().contains("SALT");
    let clause = if has_salt {
        SplitClause::BySalt { regions_each: 1 }
    } else if regions > 1 {
        SplitClause::Into(u32::try_from(regions)?)
    } else {
        return Ok(Vec::new());
    };
    Ok(resolve_splits(&clause, &declaration.key, |_| Ok(Vec::new()))?.keys)
}

/// Rejects a table that is not one of this shape.
fn must_match(backend: &Backend, config: &TrafficConfig, key: &KeySchema) -> anyhow::Result<()> {
    let descriptor = backend.descriptor(&config.table)?;
    let other = match KeySchema::from_descriptor(&descriptor) {
        Some(Ok(declared)) if declared == *key => return Ok(()),
        Some(Ok(declared)) => format!("it declares {declared}"),
        _ => "it declares no row key".to_owned(),
    };
    bail!(
        "table {} exists and is not for {} traffic: {other}, and not {key}; give another name with \
         --table, or the --regions of the earlier run",
        config.table,
        config.shape.name()
    )
}

/// Returns the numbers from the first row of the table to the one after its last, for shapes whose
/// rows are numbered without end.
fn existing_numbers(table: &BlockingTable, shape: Shape) -> anyhow::Result<Range<u64>> {
    if !matches!(shape, Shape::Frontier | Shape::TombstoneHead) {
        return Ok(0..0);
    }
    let number_of = |scan: Scan| -> anyhow::Result<Option<u64>> {
        let Some(row) = table.scan(scan.limit(1)).next().transpose()? else { return Ok(None) };
        let digits = row.key().rsplit(|byte| *byte == b'_').next().unwrap_or_default();
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.map(Some).with_context(|| {
            format!(
                "table {}: row {} does not end with a number; give another name with --table",
                table.name(),
                halite::to_string_binary(row.key())
            )
        })
    };
    let first = number_of(Scan::all())?.unwrap_or(0);
    let last = number_of(Scan::all().reverse(true))?;
    Ok(first..last.map_or(first, |last| last + 1))
}

/// Returns the numbers of the rows to load into a table that exists.
fn missing_rows(
    table: &BlockingTable,
    config: &PatternConfig,
    pattern: &dyn Pattern,
) -> anyhow::Result<Range<u64>> {
    let (rows, numbers) = (config.rows, &config.numbers);
    match config.shape {
        Shape::Frontier => return Ok(numbers.end.min(rows)..rows),
        Shape::TombstoneHead => return Ok(numbers.end..numbers.end.max(numbers.start + rows)),
        _ => {}
    }
    let step = usize::try_from((rows / SAMPLED_ROWS).max(1))?;
    for number in (0..rows).rev().step_by(step) {
        if !table.exists(Get::new(pattern.row(number).row))? {
            return Ok(0..rows);
        }
    }
    Ok(0..0)
}

/// Creates a progress bar. It draws nothing if standard error is not a terminal.
fn progress(rows: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("loading {bar:50} {human_pos} of {human_len} rows, {per_sec}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(rows).with_style(style)
}
