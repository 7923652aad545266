//! The columns of `hits` that ClickBench's queries name, for a store, SQLite and Arrow.

use std::ops::Range;
use std::sync::Arc;

use halite::sql::datafusion::arrow::array::{
    ArrayRef, Date32Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMillisecondArray,
};
use halite::sql::datafusion::arrow::datatypes::{Field, Schema};
use rusqlite::types::Value;

use super::hits::{Hit, Hits};
use crate::error::Result;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Zone of the times of a store.
const UTC: &str = "+00:00";

/// Values of a column.
#[derive(Clone, Copy)]
enum Values {
    I16(fn(&Hit) -> i16),
    I32(fn(&Hit) -> i32),
    I64(fn(&Hit) -> i64),
    Day(fn(&Hit) -> i32),
    Millis(fn(&Hit) -> i64),
    Text(fn(&Hit) -> String),
}

/// A column of `hits`.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    values: Values,
}

const fn column(name: &'static str, values: Values) -> Column {
    Column { name, values }
}

/// Columns of the key, which are the first ones.
pub(super) const KEY: usize = 5;

/// Of the 105 columns of ClickBench's table these are in its queries.
pub(super) const COLUMNS: [Column; 25] = [
    column("CounterID", Values::I32(Hit::counter)),
    column("EventDate", Values::Day(Hit::day)),
    column("UserID", Values::I64(Hit::user)),
    column("EventTime", Values::Millis(Hit::millis)),
    column("WatchID", Values::I64(Hit::watch)),
    column("AdvEngineID", Values::I16(Hit::advertiser)),
    column("ClientIP", Values::I32(Hit::address)),
    column("DontCountHits", Values::I16(Hit::is_not_counted)),
    column("IsDownload", Values::I16(Hit::is_download)),
    column("IsLink", Values::I16(Hit::is_link)),
    column("IsRefresh", Values::I16(Hit::is_refresh)),
    column("MobilePhone", Values::I16(Hit::phone)),
    column("MobilePhoneModel", Values::Text(Hit::phone_model)),
    column("Referer", Values::Text(Hit::referer)),
    column("RefererHash", Values::I64(Hit::referer_hash)),
    column("RegionID", Values::I32(Hit::region)),
    column("ResolutionWidth", Values::I16(Hit::screen_width)),
    column("SearchEngineID", Values::I16(Hit::search_engine)),
    column("SearchPhrase", Values::Text(Hit::search_phrase)),
    column("Title", Values::Text(Hit::title)),
    column("TraficSourceID", Values::I16(Hit::source_number)),
    column("URL", Values::Text(Hit::url)),
    column("URLHash", Values::I64(Hit::url_hash)),
    column("WindowClientHeight", Values::I16(Hit::window_height)),
    column("WindowClientWidth", Values::I16(Hit::window_width)),
];

impl Column {
    /// Returns the type in a declaration of a store.
    pub(super) fn declared_type(&self) -> &'static str {
        match self.values {
            Values::I16(_) => "I16",
            Values::I32(_) => "I32",
            Values::I64(_) => "I64",
            Values::Day(_) => "DATE",
            Values::Millis(_) => "TIMESTAMP",
            Values::Text(_) => "STRING",
        }
    }

    /// Returns the type in SQLite, where days and times are numbers.
    pub(super) fn sqlite_type(&self) -> &'static str {
        if matches!(self.values, Values::Text(_)) { "TEXT" } else { "INTEGER" }
    }

    pub(super) fn sqlite_value(&self, hit: &Hit) -> Value {
        match self.values {
            Values::I16(of) => Value::Integer(of(hit).into()),
            Values::I32(of) | Values::Day(of) => Value::Integer(of(hit).into()),
            Values::I64(of) | Values::Millis(of) => Value::Integer(of(hit)),
            Values::Text(of) => Value::Text(of(hit)),
        }
    }

    fn array(&self, hits: &[Hit]) -> ArrayRef {
        let hits = hits.iter();
        match self.values {
            Values::I16(of) => Arc::new(Int16Array::from_iter_values(hits.map(of))),
            Values::I32(of) => Arc::new(Int32Array::from_iter_values(hits.map(of))),
            Values::I64(of) => Arc::new(Int64Array::from_iter_values(hits.map(of))),
            Values::Day(of) => Arc::new(Date32Array::from_iter_values(hits.map(of))),
            Values::Millis(of) => {
                let times = TimestampMillisecondArray::from_iter_values(hits.map(of));
                Arc::new(times.with_timezone(UTC))
            }
            Values::Text(of) => Arc::new(StringViewArray::from_iter_values(hits.map(of))),
        }
    }
}

/// Returns batches of some columns of the hits with these numbers.
pub(super) fn batches<'a>(
    hits: &'a Hits,
    numbers: Range<u64>,
    columns: &'a [Column],
) -> impl Iterator<Item = Result<RecordBatch>> + 'a {
    let starts = numbers.clone().step_by(BATCH_ROWS);
    starts.map(move |first| {
        let end = numbers.end.min(first + BATCH_ROWS as u64);
        let some: Vec<Hit> = (first..end).map(|number| hits.hit(number)).collect();
        let arrays: Vec<ArrayRef> = columns.iter().map(|column| column.array(&some)).collect();
        let named = columns.iter().zip(&arrays);
        let fields =
            named.map(|(column, of)| Field::new(column.name, of.data_type().clone(), false));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        Ok(RecordBatch::try_new(Arc::new(schema), arrays)?)
    })
}
