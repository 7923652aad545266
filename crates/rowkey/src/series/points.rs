//! Points of a query: rows read as its plan says, or by a skip scan if series have many rows.

use std::sync::Arc;

use halite_types::{Result, Row, Scan, Table};

use super::SeriesColumn;
use super::table::{Measurement, Series, at_row};
use crate::codec::DecodedKey;
use crate::plan::{KeyQuery, Plan, PlanOptions, from_integer, integer};
use crate::scatter::{Scatter, ScatterOptions, UndecodableRows};
use crate::schema::{FieldId, Segment};
use crate::value::Value;

/// Series of a sample, and rows of a series from which on it is skipped: each costs two scans then.
const SAMPLE_SERIES: usize = 8;
const MANY_ROWS: u64 = 20;

/// Points of a query result.
pub struct SeriesPoints {
    rows: Rows,
    plan: Arc<Plan>,
    column: SeriesColumn,
    is_descending: bool,
    /// Points that may still be returned.
    left: usize,
    /// Points of the current row.
    points: std::vec::IntoIter<Measurement>,
    /// Rows of the sample.
    sampled: u64,
}

enum Rows {
    /// Nothing was read yet.
    Unopened(Box<Unopened>),
    Open(Box<Scatter>),
}

struct Unopened {
    table: Arc<dyn Table>,
    template: Scan,
    query: KeyQuery,
    options: PlanOptions,
}

impl SeriesPoints {
    pub(super) fn new(series: &Series, plan: Arc<Plan>, query: &KeyQuery, left: usize) -> Self {
        Self {
            rows: Rows::Unopened(Box::new(Unopened {
                table: Arc::clone(&series.table),
                template: series.template(),
                query: query.clone(),
                options: series.plan_options(),
            })),
            plan,
            column: series.column.clone(),
            is_descending: series.column.is_descending() != query.reverse,
            left,
            points: Vec::new().into_iter(),
            sampled: 0,
        }
    }

    /// Returns the number of rows that the table returned so far, including those without a point
    /// that the conditions allow.
    pub fn examined(&self) -> u64 {
        match &self.rows {
            Rows::Open(rows) => self.sampled + rows.examined(),
            Rows::Unopened(_) => 0,
        }
    }

    /// Returns the next point; `None` at the end.
    ///
    /// # Errors
    /// As the table's; a packed cell that is damaged, with its row.
    pub async fn next(&mut self) -> Result<Option<Measurement>> {
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            if let Some(point) = self.points.next() {
                self.left -= 1;
                return Ok(Some(point));
            }
            let Some(row) = self.open().await?.next().await? else { return Ok(None) };
            self.points = self.row_points(&row)?.into_iter();
        }
    }

    /// Returns the rows, which the first call begins to read.
    async fn open(&mut self) -> Result<&mut Scatter> {
        if let Rows::Unopened(unopened) = &self.rows {
            let (plan, sampled) = unopened.skipping(&self.plan, self.column.field()).await?;
            let rows = unopened.scatter(Arc::clone(&plan), &ScatterOptions::default())?;
            (self.plan, self.sampled) = (plan, sampled);
            self.rows = Rows::Open(Box::new(rows));
        }
        match &mut self.rows {
            Rows::Open(rows) => Ok(rows),
            Rows::Unopened(_) => unreachable!("it was opened above"),
        }
    }

    /// Returns the points of a row whose times the conditions allow.
    fn row_points(&self, row: &Row) -> Result<Vec<Measurement>> {
        let decoded = self.plan.decode(row.key())?;
        let found = self
            .column
            .points(row.iter())
            .map_err(|error| at_row(&self.column, row.key(), error))?;
        let fields = owned(&decoded);
        let start = fields.get(self.column.field()).and_then(integer).unwrap_or_default();
        let ty = self.plan.schema().fields()[self.column.field()].ty;
        let with_time = |offset: i64| {
            let mut fields = fields.clone();
            fields[self.column.field()] =
                from_integer(ty, start + i128::from(offset)).unwrap_or(Value::Null);
            fields
        };
        let points = found
            .points
            .iter()
            .map(|point| Measurement { fields: with_time(point.offset), value: point.value });
        let mut points: Vec<_> = points
            .filter(|point| {
                self.plan.admits_value(self.column.field(), &point.fields[self.column.field()])
            })
            .collect();
        if self.is_descending {
            points.reverse();
        }
        Ok(points)
    }
}

impl Unopened {
    fn scatter(&self, plan: Arc<Plan>, options: &ScatterOptions) -> Result<Scatter> {
        Scatter::new(Arc::clone(&self.table), plan, self.template.clone(), options, None)
    }

    /// Returns the plan that skips what is between the times of one series and the next, if that
    /// is possible and series have many rows; otherwise `plan`. Also the rows read to know that.
    async fn skipping(&self, plan: &Arc<Plan>, time: FieldId) -> Result<(Arc<Plan>, u64)> {
        let known = || (Arc::clone(plan), 0);
        let schema = plan.schema();
        let is_of_time = |segment: &Segment| segment.kind.field() == Some(time);
        let leading = schema.segments().iter().take_while(|segment| !is_of_time(segment));
        let before: Vec<FieldId> = leading.filter_map(|one| one.kind.carries()).collect();
        // The sample is of the whole table, whose series may be longer than those of the query.
        if self.query.conditions.iter().any(|condition| before.contains(&condition.field)) {
            return Ok(known());
        }
        let distinct = before.iter().map(|field| (*field, 1)).collect();
        let options = PlanOptions { distinct, ..self.options.clone() };
        let skipping = Arc::new(Plan::new(schema, &self.query, &options)?);
        if !skipping.is_skip_scan() || plan.is_skip_scan() {
            return Ok(known());
        }
        let (series, sampled) = self.sample(plan, &before).await?;
        let has_many = series > 0 && sampled >= series * MANY_ROWS * 3 / 4;
        Ok((if has_many { skipping } else { Arc::clone(plan) }, sampled))
    }

    /// Looks at the first rows of some series. Returns the number of series and of rows; a series
    /// of more than twenty rows counts as twenty.
    async fn sample(&self, plan: &Plan, before: &[FieldId]) -> Result<(u64, u64)> {
        let all = KeyQuery { reverse: self.query.reverse, ..KeyQuery::all() };
        let all = Arc::new(Plan::new(plan.schema(), &all.limit(SAMPLE_SERIES), &self.options)?);
        let Some(groups) = all.groups(before) else { return Ok((0, 0)) };
        let options = ScatterOptions {
            first_of: Some(groups),
            undecodable_rows: UndecodableRows::Count,
            ..ScatterOptions::default()
        };
        let mut rows = self.scatter(all, &options)?;
        let mut series = 0;
        while rows.next().await?.is_some() {
            series += 1;
        }
        Ok((series, rows.examined()))
    }
}

fn owned(decoded: &DecodedKey<'_>) -> Vec<Value<'static>> {
    decoded.values().iter().map(|value| value.clone().into_owned()).collect()
}
