//! Series in a table: points are written loose, merged by reads, and packed row by row.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_types::{
    Bytes, CellRef, CheckAndMutate, Cluster, Delete, Error, Put, Result, Row, RowMutations, RowOp,
    Scan, Table, TableDescriptor, TableName,
};

use super::points::SeriesPoints;
use super::{SeriesColumn, SeriesError, pack};
use crate::dictionary::Dictionary;
use crate::language::TableDeclaration;
use crate::plan::{KeyQuery, Plan, PlanOptions, integer};
use crate::scatter::{Scatter, ScatterOptions};
use crate::schema::KeySchema;
use crate::value::Value;

/// Rows packed per call.
const PACK_ROWS: usize = 64;
/// Rows written per call.
const WRITE_ROWS: usize = 1000;

/// Row and qualifier of a loose point.
type LooseName = (Bytes, Vec<u8>);

/// `SERIES` column of a table, in a store in this process or in a remote cluster.
pub struct Series {
    pub(super) table: Arc<dyn Table>,
    pub(super) key: Arc<KeySchema>,
    pub(super) column: SeriesColumn,
    /// Dictionary of the `DICT` fields, if the key has any.
    dictionary: Option<Arc<Dictionary>>,
}

/// Point with the fields of its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Fields of the key in order, including the time of the point.
    pub fields: Vec<Value<'static>>,
    /// Measured value.
    pub value: f64,
}

/// Result of packing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackResult {
    /// Rows that were packed.
    pub rows: u64,
    /// Loose points added to their packed cells.
    pub points: u64,
    /// Rows that were changed concurrently; the next run retries them.
    pub changed: u64,
    /// Loose points that stay loose because they were written too recently.
    pub recent: u64,
}

impl Series {
    /// Returns the series column of that name, of a table that declares its key; the only series if
    /// `name` is `None`.
    ///
    /// # Errors
    /// `NoSuchTable`; `InvalidRequest` for a table without a declared key or without that column.
    pub async fn for_table(
        cluster: &dyn Cluster,
        table: &TableName,
        name: Option<&str>,
    ) -> Result<Self> {
        let handle = cluster.table(table);
        let (key, column) = declared(&*handle.descriptor().await?, name)?;
        let dictionary = if Dictionary::is_needed(&key) {
            Some(Arc::new(Dictionary::open_lazily(cluster, table, &key).await?))
        } else {
            None
        };
        Ok(Self { table: handle, key: Arc::new(key), column, dictionary })
    }

    /// Returns the key of its table.
    pub fn key(&self) -> &Arc<KeySchema> {
        &self.key
    }

    /// Returns the column.
    pub fn column(&self) -> &SeriesColumn {
        &self.column
    }

    /// Writes points, those of one row together. A point replaces an existing one at the same time.
    ///
    /// # Errors
    /// `InvalidRequest` for fields that do not fit the key and values that do not fit the column;
    /// nothing is written then. Errors of the table; it is then unknown which points were written,
    /// and a retry is safe.
    pub async fn write(&self, points: &[Measurement]) -> Result<()> {
        if let Some(dictionary) = &self.dictionary {
            for point in points {
                dictionary.assign(&point.fields).await?;
            }
        }
        self.put(
            points
                .iter()
                .map(|point| self.loose_cell(&point.fields, &self.value_bytes(point)?))
                .collect::<Result<_>>()?,
        )
        .await
    }

    /// Removes the points at these times, packed or loose.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn remove(&self, times: &[Vec<Value<'static>>]) -> Result<()> {
        self.put(times.iter().map(|fields| self.loose_cell(fields, &[])).collect::<Result<_>>()?)
            .await
    }

    /// Writes points and removes those without a value, as if applied one by one: of two at the
    /// same time the later one counts.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn apply(&self, points: &[(Vec<Value<'static>>, Option<f64>)]) -> Result<()> {
        let mut cells = Vec::with_capacity(points.len());
        for (fields, value) in points {
            if let (Some(dictionary), Some(_)) = (&self.dictionary, value) {
                dictionary.assign(fields).await?;
            }
            let bytes = value.map_or_else(
                || Ok(Vec::new()),
                |value| self.column.value_bytes(value).map_err(Error::invalid),
            )?;
            cells.push(self.loose_cell(fields, &bytes)?);
        }
        self.put(cells).await
    }

    /// Returns the points of the rows that match a query, in the order of their rows, those of one
    /// row by time: ascending, or descending if the key has later buckets first. A limit counts
    /// points.
    ///
    /// # Errors
    /// `InvalidRequest` for conditions that are invalid for their fields.
    ///
    /// A time range of all series is a skip scan where series have many rows: a sample of them
    /// decides, which the first call of [`SeriesPoints::next`] reads.
    pub fn read(&self, query: &KeyQuery) -> Result<SeriesPoints> {
        let limit = query.limit.unwrap_or(usize::MAX);
        let query = KeyQuery { limit: None, ..query.clone() };
        let plan = self.plan(&query)?;
        Ok(SeriesPoints::new(self, plan, &query, limit))
    }

    /// Packs the loose points of the rows that match a query if they were written before
    /// `written_before_ms`. A row is changed only if it is unchanged since it was read, and a point
    /// written concurrently stays loose. Halite does this automatically at major compactions; other
    /// clusters must call it periodically, for rows that no longer receive many points.
    ///
    /// `written_before_ms` should be some seconds before the current time of the cluster's clock.
    /// Otherwise a second point at the same time, written within the same millisecond as the first,
    /// cannot be distinguished from it.
    ///
    /// # Errors
    /// Errors of the table; a damaged packed cell.
    pub async fn pack(&self, query: &KeyQuery, written_before_ms: i64) -> Result<PackResult> {
        let plan = self.plan(query)?;
        let mut rows = Scatter::new(
            Arc::clone(&self.table),
            plan,
            self.template(),
            &ScatterOptions::default(),
            None,
        )?;
        let (mut done, mut waiting) = (PackResult::default(), Vec::new());
        while let Some(row) = rows.next().await? {
            done.recent +=
                self.loose_cells(&row).filter(|cell| cell.timestamp() >= written_before_ms).count()
                    as u64;
            waiting.extend(self.packing(&row, written_before_ms)?);
            if waiting.len() >= PACK_ROWS {
                self.pack_rows(std::mem::take(&mut waiting), &mut done).await?;
            }
        }
        self.pack_rows(waiting, &mut done).await?;
        Ok(done)
    }

    async fn pack_rows(&self, rows: Vec<(u64, RowOp)>, done: &mut PackResult) -> Result<()> {
        let (points, ops): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        for (points, result) in points.into_iter().zip(self.table.batch(ops).await?) {
            if result?.processed {
                done.rows += 1;
                done.points += points;
            } else {
                done.changed += 1;
            }
        }
        Ok(())
    }

    /// Returns the changes that pack a row and the number of loose points removed; `None` if there
    /// are none.
    fn packing(&self, row: &Row, written_before_ms: i64) -> Result<Option<(u64, RowOp)>> {
        let (family, qualifier) = (self.column.family(), self.column.qualifier());
        let going: Vec<_> =
            self.loose_cells(row).filter(|cell| cell.timestamp() < written_before_ms).collect();
        let packed = row.cell(family, qualifier);
        let found = self
            .column
            .points(going.iter().copied().chain(packed))
            .map_err(|error| at_row(&self.column, row.key(), error))?;
        if found.loose == 0 {
            return Ok(None);
        }
        let mut change = RowMutations::new(row.key().to_vec());
        if found.points.is_empty() {
            change = change.add(Delete::new(row.key().to_vec()).column(family, qualifier));
        } else {
            let cell =
                pack(&found.points).map_err(|error| at_row(&self.column, row.key(), error))?;
            change = change.add(Put::new(row.key().to_vec()).add(family, qualifier, cell));
        }
        let gone = going.iter().fold(Delete::new(row.key().to_vec()), |gone, cell| {
            gone.column_up_to(family, cell.qualifier(), cell.timestamp())
        });
        change = change.add(gone);
        let (key, family, qualifier) = (row.key().to_vec(), family.clone(), qualifier.clone());
        let op = match packed {
            Some(packed) => CheckAndMutate::if_equals(
                key,
                family,
                qualifier,
                Bytes::copy_from_slice(packed.value()),
                change,
            ),
            None => CheckAndMutate::if_not_exists(key, family, qualifier, change),
        };
        Ok(Some((found.loose as u64, op.into())))
    }

    /// Returns the cells of a row that look like loose points of the column.
    fn loose_cells<'r>(&self, row: &'r Row) -> impl Iterator<Item = CellRef<'r>> {
        row.iter().filter(|cell| {
            cell.family() == self.column.family() && self.column.may_be_loose(cell.qualifier())
        })
    }

    fn plan(&self, query: &KeyQuery) -> Result<Arc<Plan>> {
        let options = self.plan_options();
        let plan = Plan::new(&self.key, query, &options)
            .map_err(|error| Error::invalid(error.to_string()))?;
        Ok(Arc::new(plan))
    }

    pub(super) fn plan_options(&self) -> PlanOptions {
        let resolver = self.dictionary.clone().map(|dictionary| dictionary as _);
        PlanOptions { resolver, ..PlanOptions::default() }
    }

    pub(super) fn template(&self) -> Scan {
        Scan::all().family(self.column.family().clone())
    }

    fn value_bytes(&self, point: &Measurement) -> Result<Vec<u8>> {
        self.column.value_bytes(point.value).map_err(Error::invalid)
    }

    /// Returns the row and qualifier of a loose point, and its value.
    fn loose_cell(&self, fields: &[Value<'static>], value: &[u8]) -> Result<(LooseName, Vec<u8>)> {
        let row = match &self.dictionary {
            Some(dictionary) => self.key.encode_with(fields, &**dictionary)?,
            None => self.key.encode(fields)?,
        };
        let time = fields
            .get(self.column.field())
            .and_then(integer)
            .ok_or_else(|| Error::invalid("a point has a time"))?;
        // The key was encoded, so the time is a number and not negative.
        let offset = u64::try_from(time.rem_euclid(self.column.width().into())).unwrap_or_default();
        Ok(((Bytes::copy_from_slice(&row), self.column.loose_qualifier(offset)), value.to_vec()))
    }

    /// Writes cells; of several with one name only the last.
    async fn put(&self, cells: Vec<(LooseName, Vec<u8>)>) -> Result<()> {
        let cells: BTreeMap<_, _> = cells.into_iter().collect();
        let mut puts: Vec<Put> = Vec::new();
        for ((row, qualifier), value) in cells {
            let put = match puts.pop() {
                Some(put) if *put.row() == row => put,
                other => {
                    puts.extend(other);
                    Put::new(row)
                }
            };
            puts.push(put.add(self.column.family(), qualifier, value));
        }
        let mut puts = puts.into_iter().map(RowOp::from).peekable();
        while puts.peek().is_some() {
            let results = self.table.batch(puts.by_ref().take(WRITE_ROWS).collect()).await?;
            results.into_iter().try_for_each(|result| result.map(drop))?;
        }
        Ok(())
    }
}

pub(super) fn at_row(column: &SeriesColumn, row: &[u8], error: SeriesError) -> Error {
    let error = Error::from(error);
    Error::new(
        error.kind(),
        format!("row {}, column {column}: {error}", halite_types::key::to_string_binary(row)),
    )
}

fn declared(descriptor: &TableDescriptor, name: Option<&str>) -> Result<(KeySchema, SeriesColumn)> {
    let table = descriptor.name();
    let declaration = TableDeclaration::from_descriptor(descriptor)
        .ok_or_else(|| {
            Error::invalid(format!(
                "table {table} declares no row key, so it has no SERIES; create it with CREATE \
                 TABLE"
            ))
        })?
        .map_err(|error| {
            Error::invalid(format!("what table {table} declares cannot be read: {error}"))
        })?;
    let series: Vec<_> = declaration
        .columns
        .iter()
        .filter(|column| matches!(column.ty, crate::language::ColumnType::Series { .. }))
        .collect();
    let known = series.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let column = match (name, &series[..]) {
        (_, []) => return Err(Error::invalid(format!("table {table} declares no SERIES"))),
        (None, [only]) => *only,
        (None, _) => {
            return Err(Error::invalid(format!(
                "table {table} has several SERIES; name one of {known}"
            )));
        }
        (Some(name), series) => {
            let found = series.iter().find(|column| column.name == name);
            *found.ok_or_else(|| {
                Error::invalid(format!("table {table} has no SERIES {name}; it has {known}"))
            })?
        }
    };
    let column = SeriesColumn::new(&declaration.key, column).map_err(Error::invalid)?;
    Ok((declaration.key, column))
}
