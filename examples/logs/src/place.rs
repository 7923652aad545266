//! One table: lines to its rows and back, by its declared key.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use halite::rowkey::{
    Dictionary, FieldId, KeyQuery, KeyResolver, KeySchema, NoResolver, Plan, PlanOptions, Value,
};
use halite::{
    BlockingCluster, BlockingTable, Bytes, Error, Put, Result, Row, RowOp, Scan, block_on,
};

use crate::key::{FAMILY, Layout, MESSAGE, QUARTER_MS};
use crate::{Found, Line, Question};

/// Table of one layout.
pub(crate) struct Place {
    pub(crate) layout: Layout,
    table: BlockingTable,
    key: Arc<KeySchema>,
    /// Numbers of names, for a key with `DICT`.
    codes: Option<Arc<Dictionary>>,
}

impl Place {
    pub(crate) fn open(
        cluster: &BlockingCluster,
        namespace: &str,
        layout: Layout,
        key: KeySchema,
    ) -> Result<Self> {
        let table = cluster.table(&format!("{namespace}:{}", layout.table()))?;
        let codes = Dictionary::is_needed(&key).then(|| {
            let name = table.inner().name();
            block_on(Dictionary::open(&**cluster.cluster(), name, &key)).map(Arc::new)
        });
        Ok(Self { layout, table, key: Arc::new(key), codes: codes.transpose()? })
    }

    /// Returns the row of a line. A name that has no number yet is assigned one.
    pub(crate) fn row(&self, line: &Line) -> Result<Bytes> {
        let values = self.key.fields().iter().map(|field| match &field.name[..] {
            "host" => Ok(Value::Text(line.host.clone().into())),
            "event" => Ok(Value::Text(line.event.clone().into())),
            "ts" => Ok(Value::Signed(line.at_ms)),
            "sequence" => Ok(Value::Unsigned(line.sequence.into())),
            other => Err(Error::invalid(format!("a line has no {other}"))),
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let row = match &self.codes {
            Some(codes) => {
                block_on(codes.assign(&values))?;
                self.key.encode_with(&values, &**codes)?
            }
            None => self.key.encode_with(&values, &NoResolver)?,
        };
        Ok(Bytes::copy_from_slice(&row))
    }

    /// Writes lines. The lines of one row are one operation. Cells have the time of the write, from
    /// which the table's time to live counts.
    pub(crate) fn write(&self, lines: &[Line]) -> Result<()> {
        let mut puts: BTreeMap<Bytes, Put> = BTreeMap::new();
        for line in lines {
            let row = self.row(line)?;
            let qualifier = match self.layout {
                Layout::Quarter => quarter_qualifier(line).to_vec(),
                _ => MESSAGE.into(),
            };
            let put = puts.remove(&row).unwrap_or_else(|| Put::new(row.clone()));
            puts.insert(row, put.add(FAMILY, qualifier, line.message.clone()));
        }
        let puts: Vec<RowOp> = puts.into_values().map(RowOp::from).collect();
        self.table.apply_all(puts).map(drop)
    }

    /// Answers a question. Numbers that another program has assigned to names since are loaded.
    pub(crate) fn read(&self, question: &Question) -> Result<Found> {
        let Some(codes) = &self.codes else {
            return Ok(self.read_once(question)?.unwrap_or_default());
        };
        let knows = |name: &str, value: &Option<String>| {
            let field = self.key.field_id(name);
            value
                .as_ref()
                .zip(field)
                .is_none_or(|(value, field)| codes.dictionary_id(field, value.as_bytes()).is_some())
        };
        let knows_all = || knows("host", &question.host) && knows("event", &question.event);
        if knows_all()
            && let Some(found) = self.read_once(question)?
        {
            return Ok(found);
        }
        block_on(codes.refresh())?;
        if !knows_all() {
            return Ok(Found::default());
        }
        self.read_once(question)?.ok_or_else(|| {
            Error::corrupt(format!(
                "{}: a key has a number without a name in its dictionary; write the lines again \
                 from by_time, into a new table",
                self.layout.table()
            ))
        })
    }

    /// Returns `None` if a key has a number that is not loaded.
    fn read_once(&self, question: &Question) -> Result<Option<Found>> {
        let resolver = self.codes.clone().map(|codes| codes as _);
        let options = PlanOptions { resolver, ..PlanOptions::default() };
        let plan = Plan::new(&self.key, &self.query(question)?, &options)
            .map_err(|error| Error::invalid(error.to_string()))?;
        let mut rows = self.table.query(plan, Scan::all().family(FAMILY))?;
        let mut lines = Vec::new();
        for row in &mut rows {
            if !self.add_lines(&row?, &mut lines)? {
                return Ok(None);
            }
        }
        // A quarter may begin before the range, and end after it.
        lines.retain(|line| question.at_ms.contains(&line.at_ms));
        lines.sort_by(|one, other| one.order().cmp(&other.order()));
        Ok(Some(Found { lines, examined: rows.examined() }))
    }

    fn query(&self, question: &Question) -> Result<KeyQuery> {
        let text = |text: &String| Value::Text(text.clone().into());
        let mut query = KeyQuery::all().ordered(false).range(
            self.field("ts")?,
            Bound::Included(Value::Signed(question.at_ms.start)),
            Bound::Excluded(Value::Signed(question.at_ms.end)),
        );
        if let Some(host) = &question.host {
            query = query.equals(self.field("host")?, text(host));
        }
        if let Some(event) = &question.event {
            query = query.equals(self.field("event")?, text(event));
        }
        Ok(query)
    }

    fn field(&self, name: &str) -> Result<FieldId> {
        let missing = || Error::invalid(format!("{}: its key has no {name}", self.layout.table()));
        self.key.field_id(name).ok_or_else(missing)
    }

    /// Adds the lines of a row. Returns `false` if its key has a number that is not loaded.
    fn add_lines(&self, row: &Row, lines: &mut Vec<Line>) -> Result<bool> {
        let codes: &dyn KeyResolver = match &self.codes {
            Some(codes) => &**codes,
            None => &NoResolver,
        };
        let key = match self.key.decode_with(row.key(), codes) {
            Err(_) if self.codes.is_some() => return Ok(false),
            key => key?,
        };
        let value = |name: &str| self.key.field_id(name).and_then(|field| key.get(field));
        let text = |name| match value(name) {
            Some(Value::Text(text)) => Ok(text.to_string()),
            _ => Err(Error::corrupt(format!(
                "{}, row {}: its key has no {name}; create the table with its own key",
                self.layout.table(),
                halite::to_string_binary(row.key())
            ))),
        };
        let number = |name: &str| match value(name) {
            Some(Value::Signed(number)) => *number,
            Some(Value::Unsigned(number)) => i64::try_from(*number).unwrap_or(0),
            _ => 0,
        };
        let (host, event) = (text("host")?, text("event")?);
        for cell in row {
            let (at_ms, sequence) = match self.layout {
                Layout::Quarter => of_quarter(number("ts"), row.key(), cell.qualifier())?,
                _ => (number("ts"), u32::try_from(number("sequence")).unwrap_or(0)),
            };
            let message = String::from_utf8_lossy(cell.value()).into_owned();
            let (host, event) = (host.clone(), event.clone());
            lines.push(Line { host, event, at_ms, sequence, message });
        }
        Ok(true)
    }
}

/// Returns the column of a line in its quarter of an hour: the offset of its time, and its number.
fn quarter_qualifier(line: &Line) -> [u8; 8] {
    let offset_ms = line.at_ms.rem_euclid(QUARTER_MS).cast_unsigned();
    (offset_ms << 32 | u64::from(line.sequence)).to_be_bytes()
}

/// Returns the time and the number of a column.
fn of_quarter(start_ms: i64, row: &[u8], qualifier: &[u8]) -> Result<(i64, u32)> {
    let bytes = <[u8; 8]>::try_from(qualifier).map_err(|_| {
        let [row, column] = [row, qualifier].map(halite::to_string_binary);
        Error::corrupt(format!("by_quarter, row {row}: {column} is not 8 bytes; delete the column"))
    })?;
    let number = u64::from_be_bytes(bytes);
    let sequence = u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
    Ok((start_ms.saturating_add((number >> 32).cast_signed()), sequence))
}
