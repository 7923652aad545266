//! Series in a table: points are written loose, read merged, and packed row by row where nobody else does it.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_types::{
    Bytes, CellRef, CheckAndMutate, Cluster, Delete, Error, Put, Result, Row, RowMutations, RowOp, Scan, Table, TableDescriptor, TableName,
};

use super::{SeriesColumn, SeriesError, pack};
use crate::codec::Decoded;
use crate::dictionary::Dictionary;
use crate::language::TableDeclaration;
use crate::plan::{KeyQuery, Plan, PlanOptions, from_integer, integer};
use crate::scatter::{Scatter, ScatterOptions};
use crate::schema::KeySchema;
use crate::value::Value;

/// Rows that are packed with one call.
const PACK_ROWS: usize = 64;
/// Rows that are written with one call.
const WRITE_ROWS: usize = 1000;

/// Row and qualifier of a loose point.
type LooseName = (Bytes, Vec<u8>);

/// A `SERIES` column of a table, on a store in this process or a cluster elsewhere.
pub struct Series {
    table: Arc<dyn Table>,
    key: Arc<KeySchema>,
    column: SeriesColumn,
    /// The numbers of `DICT` fields, if the key has some.
    dictionary: Option<Arc<Dictionary>>,
}

/// A point with all that says where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The fields of the key in their order, the time of the point among them.
    pub fields: Vec<Value<'static>>,
    /// What was measured.
    pub value: f64,
}

/// What packing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Rows that were packed.
    pub rows: u64,
    /// Loose points that went into their packed cells.
    pub points: u64,
    /// Rows that somebody else changed meanwhile; the next run finds them again.
    pub changed: u64,
    /// Loose points that stay loose because they were written too late.
    pub recent: u64,
}

impl Series {
    /// The series column of that name, of a table that declares its key; the only one where `name` is `None`.
    ///
    /// # Errors
    /// `NoSuchTable`; `InvalidRequest` for a table that declares no key or no such column.
    pub async fn of_table(cluster: &dyn Cluster, table: &TableName, name: Option<&str>) -> Result<Self> {
        let handle = cluster.table(table);
        let (key, column) = declared(&*handle.descriptor().await?, name)?;
        let dictionary = if Dictionary::is_needed(&key) { Some(Arc::new(Dictionary::open_lazily(cluster, table, &key).await?)) } else { None };
        Ok(Self { table: handle, key: Arc::new(key), column, dictionary })
    }

    /// The key of its table.
    pub fn key(&self) -> &Arc<KeySchema> {
        &self.key
    }

    /// The column.
    pub fn column(&self) -> &SeriesColumn {
        &self.column
    }

    /// Writes points, those of one row together. A point at a time that has one already takes its place.
    ///
    /// # Errors
    /// `InvalidRequest` for fields that do not fit the key and values that do not fit the column; nothing is written then. As the table's; which
    /// points were written is not known then, and writing them again does no harm.
    pub async fn write(&self, points: &[Measurement]) -> Result<()> {
        if let Some(dictionary) = &self.dictionary {
            for point in points {
                dictionary.assign(&point.fields).await?;
            }
        }
        self.put(points.iter().map(|point| self.loose_cell(&point.fields, &self.value_bytes(point)?)).collect::<Result<_>>()?).await
    }

    /// Takes the points at these times away, packed or not.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn remove(&self, times: &[Vec<Value<'static>>]) -> Result<()> {
        self.put(times.iter().map(|fields| self.loose_cell(fields, &[])).collect::<Result<_>>()?).await
    }

    /// Writes points and takes those away that come without a value, as one after the other would: of two at one time the later counts.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn apply(&self, points: &[(Vec<Value<'static>>, Option<f64>)]) -> Result<()> {
        let mut cells = Vec::with_capacity(points.len());
        for (fields, value) in points {
            if let (Some(dictionary), Some(_)) = (&self.dictionary, value) {
                dictionary.assign(fields).await?;
            }
            let bytes = value.map_or_else(|| Ok(Vec::new()), |value| self.column.value_bytes(value).map_err(Error::invalid))?;
            cells.push(self.loose_cell(fields, &bytes)?);
        }
        self.put(cells).await
    }

    /// The points of the rows a question asks for, in the order of their rows, those of one row by time: from the earliest on, or from
    /// the latest where the key has later buckets first. A limit counts points.
    ///
    /// # Errors
    /// `InvalidRequest` for conditions that make no sense for their fields.
    pub fn read(&self, query: &KeyQuery) -> Result<SeriesPoints> {
        let limit = query.limit.unwrap_or(usize::MAX);
        let plan = self.plan(&KeyQuery { limit: None, ..query.clone() })?;
        let rows = Scatter::new(Arc::clone(&self.table), Arc::clone(&plan), self.template(), &ScatterOptions::default(), None)?;
        let is_descending = self.column.is_descending() != query.reverse;
        Ok(SeriesPoints { rows, plan, column: self.column.clone(), is_descending, left: limit, points: Vec::new().into_iter() })
    }

    /// Packs the loose points of the rows a question asks for, where they were written before `written_before_ms`: a row is changed
    /// only if it is as it was read, and a point that comes meanwhile stays loose. Halite does this by itself at major
    /// compactions; elsewhere it is to be called now and then, for rows that get few points any more.
    ///
    /// `written_before_ms` should lie some seconds in the past of the cluster's clock: a second point at the same time within the same
    /// millisecond as the first could not be told from it.
    ///
    /// # Errors
    /// As the table's; a packed cell that is damaged.
    pub async fn pack(&self, query: &KeyQuery, written_before_ms: i64) -> Result<Packed> {
        let plan = self.plan(query)?;
        let mut rows = Scatter::new(Arc::clone(&self.table), plan, self.template(), &ScatterOptions::default(), None)?;
        let (mut done, mut waiting) = (Packed::default(), Vec::new());
        while let Some(row) = rows.next().await? {
            done.recent += self.loose_cells(&row).filter(|cell| cell.timestamp() >= written_before_ms).count() as u64;
            waiting.extend(self.packing(&row, written_before_ms)?);
            if waiting.len() >= PACK_ROWS {
                self.pack_rows(std::mem::take(&mut waiting), &mut done).await?;
            }
        }
        self.pack_rows(waiting, &mut done).await?;
        Ok(done)
    }

    async fn pack_rows(&self, rows: Vec<(u64, RowOp)>, done: &mut Packed) -> Result<()> {
        let (points, ops): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        for (points, result) in points.into_iter().zip(self.table.apply(ops).await?) {
            if result?.processed {
                done.rows += 1;
                done.points += points;
            } else {
                done.changed += 1;
            }
        }
        Ok(())
    }

    /// How to pack a row, and how many loose points go; `None` if there are none.
    fn packing(&self, row: &Row, written_before_ms: i64) -> Result<Option<(u64, RowOp)>> {
        let (family, qualifier) = (self.column.family(), self.column.qualifier());
        let going: Vec<_> = self.loose_cells(row).filter(|cell| cell.timestamp() < written_before_ms).collect();
        let packed = row.cell(family, qualifier);
        let found = self.column.points(going.iter().copied().chain(packed)).map_err(|error| at_row(&self.column, row.key(), error))?;
        if found.loose == 0 {
            return Ok(None);
        }
        let mut change = RowMutations::new(row.key().to_vec());
        if found.points.is_empty() {
            change = change.then(Delete::new(row.key().to_vec()).column(family, qualifier));
        } else {
            let cell = pack(&found.points).map_err(|error| at_row(&self.column, row.key(), error))?;
            change = change.then(Put::new(row.key().to_vec()).add(family, qualifier, cell));
        }
        let gone = going.iter().fold(Delete::new(row.key().to_vec()), |gone, cell| gone.column_up_to(family, cell.qualifier(), cell.timestamp()));
        change = change.then(gone);
        let (key, family, qualifier) = (row.key().to_vec(), family.clone(), qualifier.clone());
        let op = match packed {
            Some(packed) => CheckAndMutate::if_equals(key, family, qualifier, Bytes::copy_from_slice(packed.value()), change),
            None => CheckAndMutate::if_absent(key, family, qualifier, change),
        };
        Ok(Some((found.loose as u64, op.into())))
    }

    /// The cells of a row that look like loose points of the column.
    fn loose_cells<'r>(&self, row: &'r Row) -> impl Iterator<Item = CellRef<'r>> {
        row.iter().filter(|cell| cell.family() == self.column.family() && self.column.may_be_loose(cell.qualifier()))
    }

    fn plan(&self, query: &KeyQuery) -> Result<Arc<Plan>> {
        let helper = self.dictionary.clone().map(|dictionary| dictionary as _);
        let options = PlanOptions { helper, ..PlanOptions::default() };
        let plan = Plan::new(&self.key, query, &options).map_err(|error| Error::invalid(error.to_string()))?;
        Ok(Arc::new(plan))
    }

    fn template(&self) -> Scan {
        Scan::all().family(self.column.family().clone())
    }

    fn value_bytes(&self, point: &Measurement) -> Result<Vec<u8>> {
        self.column.value_bytes(point.value).map_err(Error::invalid)
    }

    /// Row and qualifier of a loose point, and its value.
    fn loose_cell(&self, fields: &[Value<'static>], value: &[u8]) -> Result<(LooseName, Vec<u8>)> {
        let row = match &self.dictionary {
            Some(dictionary) => self.key.encode_with(fields, &**dictionary)?,
            None => self.key.encode(fields)?,
        };
        let time = fields.get(self.column.field()).and_then(integer).ok_or_else(|| Error::invalid("a point has a time"))?;
        // The key was encoded, so the time is a number and not before 0.
        let offset = u64::try_from(time.rem_euclid(self.column.width().into())).unwrap_or_default();
        Ok(((Bytes::copy_from_slice(&row), self.column.loose_qualifier(offset)), value.to_vec()))
    }

    /// Writes cells, the last of those with one name.
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
            let results = self.table.apply(puts.by_ref().take(WRITE_ROWS).collect()).await?;
            results.into_iter().try_for_each(|result| result.map(drop))?;
        }
        Ok(())
    }
}

/// The points of a question.
pub struct SeriesPoints {
    rows: Scatter,
    plan: Arc<Plan>,
    column: SeriesColumn,
    is_descending: bool,
    /// Points that may still be handed out.
    left: usize,
    /// Those of the row at hand.
    points: std::vec::IntoIter<Measurement>,
}

impl SeriesPoints {
    /// The next point; `None` at the end.
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
            let Some(row) = self.rows.next().await? else { return Ok(None) };
            self.points = self.of_row(&row)?.into_iter();
        }
    }

    /// The points of a row whose times the conditions allow.
    fn of_row(&self, row: &Row) -> Result<Vec<Measurement>> {
        let decoded = self.plan.decode(row.key())?;
        let found = self.column.points(row.iter()).map_err(|error| at_row(&self.column, row.key(), error))?;
        let fields = owned(&decoded);
        let start = fields.get(self.column.field()).and_then(integer).unwrap_or_default();
        let ty = self.plan.schema().fields()[self.column.field()].ty;
        let with_time = |offset: i64| {
            let mut fields = fields.clone();
            fields[self.column.field()] = from_integer(ty, start + i128::from(offset)).unwrap_or(Value::Null);
            fields
        };
        let points = found.points.iter().map(|point| Measurement { fields: with_time(point.offset), value: point.value });
        let mut points: Vec<_> = points.filter(|point| self.plan.admits_value(self.column.field(), &point.fields[self.column.field()])).collect();
        if self.is_descending {
            points.reverse();
        }
        Ok(points)
    }
}

fn owned(decoded: &Decoded<'_>) -> Vec<Value<'static>> {
    decoded.values().iter().map(|value| value.clone().into_owned()).collect()
}

fn at_row(column: &SeriesColumn, row: &[u8], error: SeriesError) -> Error {
    let error = Error::from(error);
    Error::new(error.kind(), format!("row {}, column {column}: {error}", halite_types::key::print_bytes(row)))
}

fn declared(descriptor: &TableDescriptor, name: Option<&str>) -> Result<(KeySchema, SeriesColumn)> {
    let table = descriptor.name();
    let declaration = TableDeclaration::of_table(descriptor)
        .ok_or_else(|| Error::invalid(format!("table {table} declares no row key, so it has no SERIES; create it with CREATE TABLE")))?
        .map_err(|error| Error::invalid(format!("what table {table} declares cannot be read: {error}")))?;
    let series: Vec<_> = declaration.columns.iter().filter(|column| matches!(column.ty, crate::language::ColumnType::Series { .. })).collect();
    let known = series.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let column = match (name, &series[..]) {
        (_, []) => return Err(Error::invalid(format!("table {table} declares no SERIES"))),
        (None, [only]) => *only,
        (None, _) => return Err(Error::invalid(format!("table {table} has several SERIES; name one of {known}"))),
        (Some(name), series) => {
            let found = series.iter().find(|column| column.name == name);
            *found.ok_or_else(|| Error::invalid(format!("table {table} has no SERIES {name}; it has {known}")))?
        }
    };
    let column = SeriesColumn::new(&declaration.key, column).map_err(Error::invalid)?;
    Ok((declaration.key, column))
}
