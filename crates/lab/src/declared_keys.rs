//! Page operations on declared keys: batches of values, plans with extra planner options, and skew.

use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use halite::rowkey::plan::Plan;
use halite::rowkey::{
    FieldId, KeySchema, PlanOptions, SaltGenerator, Scatter, ScatterOptions, Value,
};
use halite::{Put, Row, RowOp, Scan, Table, block_on};
use halite_rowkey_tools::lint::CellSample;
use halite_rowkey_tools::simulate::Skew;

use crate::page_writer::{PageWriter, key_command, plan_with};
use crate::table::{BATCH_ROWS, LabTable, write_batch};

/// Legend of the columns of [`PageWriter::skews`].
const SKEW_LEGEND: &str = "\"whole\" is the busiest region over the mean one, of all writes: 1.00 \
                           is even, the number of regions is all in one. \"at a time\" is the same \
                           within a window of writes that follow one another, which is what \
                           servers feel. \"in use\" is how many evenly loaded regions would be as \
                           uneven as such a window.";

impl PageWriter {
    /// Returns the key of values given as `FIELD=VALUE`, without appending it to the page.
    ///
    /// # Errors
    /// Returns an error if the values do not fit the key.
    pub fn encode_key(&self, key: &KeySchema, given: &[&str]) -> anyhow::Result<Bytes> {
        let values = key.parse_values(given.iter().copied()).map_err(anyhow::Error::msg)?;
        Ok(Bytes::copy_from_slice(&key.encode_with(&values, &SaltGenerator::seeded(0))?))
    }

    /// Writes a value under the key of values given as `FIELD=VALUE`, and shows the bytes of that
    /// key.
    ///
    /// # Errors
    /// Returns an error if the values do not fit the key, and the errors of the table.
    pub fn write(
        &mut self,
        table: &LabTable,
        key: &KeySchema,
        given: &[&str],
        column: &str,
        value: impl AsRef<[u8]>,
    ) -> anyhow::Result<Bytes> {
        let row = self.encode_key(key, given)?;
        self.put(table, &row, column, value)?;
        Ok(row)
    }

    /// Shows that values do not fit a key, with the message of `halite key encode`.
    ///
    /// # Errors
    /// Returns an error if the values fit.
    pub fn expect_encode_error(
        &mut self,
        key: &KeySchema,
        given: &[&str],
    ) -> anyhow::Result<String> {
        let message = match key.parse_values(given.iter().copied()) {
            Err(message) => message,
            Ok(values) => match key.encode_with(&values, &SaltGenerator::seeded(0)) {
                Err(error) => error.to_string(),
                Ok(_) => anyhow::bail!("the key of {} is not refused", given.join(" ")),
            },
        };
        self.statement(format!("halite key encode {}", given.join(" ")), vec![message.clone()]);
        Ok(message)
    }

    /// Writes puts in batches and returns their number. The puts are not shown; the text of the
    /// page describes them.
    ///
    /// # Errors
    /// Returns the first error.
    pub fn load_puts(
        &mut self,
        table: &LabTable,
        puts: impl IntoIterator<Item = Put>,
    ) -> anyhow::Result<usize> {
        let mut ops: Vec<RowOp> = Vec::with_capacity(BATCH_ROWS);
        let mut count = 0;
        for put in puts {
            ops.push(put.into());
            count += 1;
            if ops.len() == BATCH_ROWS {
                write_batch(table, std::mem::take(&mut ops))?;
            }
        }
        write_batch(table, ops)?;
        Ok(count)
    }

    /// Like [`PageWriter::explain`], for a planner with distinct counts of fields or with
    /// dictionaries; `hint` describes them on the page.
    ///
    /// # Errors
    /// Returns the errors of [`PageWriter::explain`].
    pub fn explain_with(
        &mut self,
        key: &KeySchema,
        conditions: &[&str],
        hint: &str,
        options: &PlanOptions,
    ) -> anyhow::Result<Arc<Plan>> {
        let plan = plan_with(key, conditions, None, options)?;
        self.statement(
            format!("{}   (hint: {hint})", key_command("explain", conditions, None)),
            plan.explain(&[]).lines().map(str::to_owned).collect(),
        );
        Ok(plan)
    }

    /// Returns a plan, without appending it to the page.
    ///
    /// # Errors
    /// Returns the errors of [`PageWriter::explain`].
    pub fn plan(
        &self,
        key: &KeySchema,
        conditions: &[&str],
        limit: Option<usize>,
    ) -> anyhow::Result<Arc<Plan>> {
        plan_with(key, conditions, limit, &PlanOptions::default())
    }

    /// Returns the rows of a plan on any table of the `Cluster` API, without appending them to the
    /// page.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn execute_plan(
        &self,
        table: Arc<dyn Table>,
        plan: &Arc<Plan>,
    ) -> anyhow::Result<Vec<Row>> {
        let mut scatter =
            Scatter::new(table, Arc::clone(plan), Scan::all(), &ScatterOptions::default(), None)?;
        let mut rows = Vec::new();
        while let Some(row) = block_on(scatter.next())? {
            rows.push(row);
        }
        Ok(rows)
    }

    /// Returns lint's sample of the cells of a table: all versions, including deleted ones.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn cell_sample(&self, table: &LabTable) -> anyhow::Result<CellSample> {
        let mut cells = CellSample::default();
        self.rows(table, &crate::ScanSpec::all().raw().versions(10))?
            .iter()
            .for_each(|row| cells.add(row));
        cells.end_of_range();
        Ok(cells)
    }

    /// Shows the skew of keys over regions, one line per key, followed by a legend of the columns.
    pub fn skews(&mut self, ways: &[(&str, &Skew)]) {
        let line = |(name, skew): &(&str, &Skew)| {
            vec![
                (*name).to_owned(),
                skew.regions().to_string(),
                format!("{:.2}", skew.max_over_mean),
                format!("{:.2}", skew.window_mean),
                format!("{:.1}", skew.window_effective_regions),
                skew.empty_regions.to_string(),
            ]
        };
        let rows: Vec<_> = ways.iter().map(line).collect();
        self.data_table(&["key", ">regions", ">whole", ">at a time", ">in use", ">empty"], rows);
        if !self.has_paragraph(SKEW_LEGEND) {
            self.paragraph(SKEW_LEGEND);
        }
    }

    /// Shows the shares of regions, one bar per region.
    pub fn region_bars(&mut self, skew: &Skew) {
        #[expect(clippy::cast_precision_loss, reason = "shares of small counts")]
        let share = |(index, count): (usize, &u64)| {
            (format!("region {:>2}", index + 1), *count as f64 / skew.operations.max(1) as f64)
        };
        self.bars(skew.counts.iter().enumerate().map(share));
    }
}

/// Returns the keys of many rows, in the given order.
///
/// # Errors
/// Returns an error if values do not fit the key.
pub(crate) fn encode_keys<'v, const N: usize>(
    key: &KeySchema,
    rows: impl IntoIterator<Item = [Value<'v>; N]>,
) -> anyhow::Result<Vec<Bytes>> {
    let drawer = SaltGenerator::seeded(1);
    rows.into_iter()
        .map(|values| Ok(Bytes::copy_from_slice(&key.encode_with(&values, &drawer)?)))
        .collect()
}

/// Returns the skew of keys between split keys, in windows of `window` writes.
pub(crate) fn skew_for_keys(keys: &[Bytes], boundaries: &[Bytes], window: usize) -> Skew {
    Skew::from_keys(keys.iter().map(|key| &key[..]), boundaries, window)
}

/// Returns a field by name.
///
/// # Errors
/// Returns an error if the key has no such field.
pub(crate) fn field(key: &KeySchema, name: &str) -> anyhow::Result<FieldId> {
    key.field_id(name).with_context(|| format!("the key has no field {name}"))
}
