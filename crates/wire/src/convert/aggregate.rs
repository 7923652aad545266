//! Aggregations of a region, in a method that Halite adds to HBase's `AggregateService`.
//!
//! HBase's methods return one number each, ignore cells that are no numbers, and take as long as
//! the region needs. This one returns all numbers of a part of a region, and where the rest
//! begins. Its request is HBase's `AggregateRequest`, with the columns in the bytes that HBase
//! leaves to the interpreter. HBase answers it with `UnknownProtocolException`.

use bytes::Bytes;
use halite_types::{
    AggregatedColumn, Aggregates, Aggregation, CellValues, ColumnAggregates, CountedKeys, Error,
};
use prost::Message;

use super::scan::{self, ScanQuery};
use super::{Result, refused};
use crate::proto as pb;

/// Name of the service in the call of a region's endpoint.
pub const SERVICE: &str = "AggregateService";
/// Name of the method.
pub const METHOD: &str = "HaliteAggregate";
/// HBase's method that counts the rows of a region.
pub const HBASE_METHOD: &str = "GetRowNum";
/// Interpreter in the request, which HBase requires.
const INTERPRETER: &str = "halite";
/// Bytes of the columns and keys of a request.
const MAX_SPECIFIC_BYTES: usize = 64 << 10;

/// What is added up of the rows of the scan.
#[derive(Clone, PartialEq, Message)]
struct SpecificProto {
    #[prost(message, repeated, tag = "1")]
    columns: Vec<ColumnProto>,
    /// Declaration of the keys that count.
    #[prost(string, optional, tag = "2")]
    keys: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnProto {
    #[prost(bytes = "bytes", tag = "1")]
    family: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    qualifier: Bytes,
    /// Bytes of signed numbers; 0 for other values.
    #[prost(uint32, tag = "3")]
    signed_bytes: u32,
    #[prost(bool, tag = "4")]
    is_text: bool,
}

#[derive(Clone, PartialEq, Message)]
struct AnswerProto {
    #[prost(uint64, tag = "1")]
    rows: u64,
    #[prost(uint64, tag = "2")]
    other_keys: u64,
    #[prost(uint64, tag = "3")]
    rows_examined: u64,
    #[prost(message, repeated, tag = "4")]
    columns: Vec<ColumnAnswerProto>,
    #[prost(bytes = "bytes", optional, tag = "5")]
    rest: Option<Bytes>,
    #[prost(uint64, tag = "6")]
    read_point: u64,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnAnswerProto {
    #[prost(uint64, tag = "1")]
    values: u64,
    #[prost(uint64, tag = "2")]
    other_bytes: u64,
    /// Sixteen bytes, big-endian, in two's complement.
    #[prost(bytes = "bytes", tag = "3")]
    sum: Bytes,
    #[prost(sint64, optional, tag = "4")]
    min: Option<i64>,
    #[prost(sint64, optional, tag = "5")]
    max: Option<i64>,
}

/// Request as a server reads it.
#[derive(Clone, Debug)]
pub struct RegionAggregation {
    /// Scan, and the read point of an earlier part of the region.
    pub query: ScanQuery,
    /// Columns.
    pub columns: Vec<AggregatedColumn>,
    /// Declaration of the keys that count, in the row-key language.
    pub keys: Option<String>,
}

/// Answer for a part of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionAggregates {
    /// Aggregates of the rows that were examined.
    pub aggregates: Aggregates,
    /// Number of rows that were examined.
    pub rows_examined: u64,
    /// Row at which the rest of the region begins; `None` at its end.
    pub rest: Option<Bytes>,
    /// Sequence id up to which the part saw writes, for the request of the rest.
    pub read_point: u64,
}

/// Returns the bytes of the request for `aggregation`, of which `query` is the scan that is left.
///
/// # Errors
/// As [`scan::to_proto`].
pub fn request_to_bytes(aggregation: &Aggregation, query: &ScanQuery) -> Result<Bytes, Error> {
    Ok(request_to_proto(aggregation, query)?.encode_to_vec().into())
}

/// Returns the bytes of the request of HBase's method [`HBASE_METHOD`].
///
/// # Errors
/// As [`scan::to_proto`].
pub fn hbase_request_to_bytes(query: &ScanQuery) -> Result<Bytes, Error> {
    let request = pb::AggregateRequest {
        interpreter_class_name: String::new(),
        scan: scan::to_proto(query)?,
        interpreter_specific_bytes: None,
    };
    Ok(request.encode_to_vec().into())
}

/// Returns the number of rows that HBase's method answers; `None` for other bytes.
pub fn hbase_rows_from_bytes(bytes: Bytes) -> Option<u64> {
    let answer = pb::AggregateResponse::decode(bytes).ok()?;
    let rows = answer.first_part.first()?.as_ref().try_into().ok()?;
    u64::try_from(i64::from_be_bytes(rows)).ok()
}

fn request_to_proto(
    aggregation: &Aggregation,
    query: &ScanQuery,
) -> Result<pb::AggregateRequest, Error> {
    let column = |column: &AggregatedColumn| ColumnProto {
        family: column.family.clone(),
        qualifier: column.qualifier.clone(),
        signed_bytes: match column.values {
            CellValues::Signed(bytes) => bytes.into(),
            CellValues::Bytes | CellValues::Text => 0,
        },
        is_text: column.values == CellValues::Text,
    };
    let specific = SpecificProto {
        columns: aggregation.columns.iter().map(column).collect(),
        keys: aggregation.keys.as_ref().map(|keys: &CountedKeys| keys.declaration.clone()),
    };
    Ok(pb::AggregateRequest {
        interpreter_class_name: INTERPRETER.to_owned(),
        scan: scan::to_proto(query)?,
        interpreter_specific_bytes: Some(specific.encode_to_vec().into()),
    })
}

/// Returns what a request asks for.
///
/// # Errors
/// Those of its scan; `DoNotRetryIOException` for columns that cannot be read, or over 64 KiB of
/// them.
pub fn request_from_proto(request: &pb::AggregateRequest) -> Result<RegionAggregation> {
    let specific = request.interpreter_specific_bytes.clone().unwrap_or_default();
    if specific.len() > MAX_SPECIFIC_BYTES {
        return Err(refused(format!(
            "an aggregation has {} bytes of columns; {MAX_SPECIFIC_BYTES} are allowed",
            specific.len()
        )));
    }
    let specific = SpecificProto::decode(specific)
        .map_err(|error| refused(format!("the columns of an aggregation are damaged: {error}")))?;
    let column = |column: ColumnProto| {
        let values = match (column.signed_bytes, column.is_text) {
            (0, true) => CellValues::Text,
            (0, false) => CellValues::Bytes,
            (bytes, _) => CellValues::Signed(u8::try_from(bytes).unwrap_or(u8::MAX)),
        };
        AggregatedColumn { family: column.family, qualifier: column.qualifier, values }
    };
    Ok(RegionAggregation {
        query: scan::from_proto(&request.scan)?,
        columns: specific.columns.into_iter().map(column).collect(),
        keys: specific.keys,
    })
}

/// Returns the answer as the bytes of its message.
pub fn answer_to_bytes(answer: &RegionAggregates) -> Bytes {
    let column = |column: &ColumnAggregates| ColumnAnswerProto {
        values: column.values,
        other_bytes: column.other_bytes,
        sum: Bytes::copy_from_slice(&column.sum.to_be_bytes()),
        min: column.min,
        max: column.max,
    };
    let message = AnswerProto {
        rows: answer.aggregates.rows,
        other_keys: answer.aggregates.other_keys,
        rows_examined: answer.rows_examined,
        columns: answer.aggregates.columns.iter().map(column).collect(),
        rest: answer.rest.clone(),
        read_point: answer.read_point,
    };
    message.encode_to_vec().into()
}

/// Returns the answer that bytes are, for `columns` columns.
///
/// # Errors
/// `Io` for other bytes.
pub fn answer_from_bytes(bytes: Bytes, columns: usize) -> Result<RegionAggregates, Error> {
    let damaged = |what: &str| {
        let text = format!("the answer to an aggregation cannot be read: {what}");
        Error::new(halite_types::ErrorKind::Io, text)
    };
    let message = AnswerProto::decode(bytes).map_err(|error| damaged(&error.to_string()))?;
    if message.columns.len() != columns {
        return Err(damaged("it has another number of columns"));
    }
    let column = |column: &ColumnAnswerProto| {
        let sum = column.sum.as_ref().try_into().map_err(|_| damaged("a sum has not 16 bytes"))?;
        Ok(ColumnAggregates {
            values: column.values,
            other_bytes: column.other_bytes,
            sum: i128::from_be_bytes(sum),
            min: column.min,
            max: column.max,
        })
    };
    Ok(RegionAggregates {
        aggregates: Aggregates {
            rows: message.rows,
            other_keys: message.other_keys,
            columns: message.columns.iter().map(column).collect::<Result<_, Error>>()?,
        },
        rows_examined: message.rows_examined,
        rest: message.rest,
        read_point: message.read_point,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_types::{RowCheck, Scan};

    use super::*;

    #[derive(Debug)]
    struct All;

    impl RowCheck for All {
        fn check(&self, _: &[u8]) -> Result<(), Error> {
            Ok(())
        }
    }

    fn column(qualifier: &'static str, values: CellValues) -> AggregatedColumn {
        AggregatedColumn { family: "f".into(), qualifier: qualifier.into(), values }
    }

    #[test]
    fn requests_and_answers_are_read_back() {
        let columns = vec![
            column("", CellValues::Bytes),
            column("t", CellValues::Text),
            column("n", CellValues::Signed(8)),
        ];
        let keys =
            CountedKeys { declaration: "ROW KEY (a STRING)".to_owned(), check: Arc::new(All) };
        let aggregation =
            Aggregation { scan: Scan::prefix("a"), columns: columns.clone(), keys: Some(keys) };
        let query = ScanQuery { mvcc_read_point: Some(7), ..aggregation.scan.clone().into() };
        let request = request_to_proto(&aggregation, &query).unwrap();
        let read = request_from_proto(&request).unwrap();
        assert_eq!((&read.columns, read.keys.as_deref()), (&columns, Some("ROW KEY (a STRING)")));
        assert_eq!(
            (read.query.mvcc_read_point, &read.query.scan.range),
            (Some(7), &query.scan.range)
        );
        let of_column =
            |sum, min, max| ColumnAggregates { values: 3, other_bytes: 1, sum, min, max };
        let answer = RegionAggregates {
            aggregates: Aggregates {
                rows: 5,
                other_keys: 6,
                columns: vec![
                    of_column(i128::MIN, Some(i64::MIN), Some(-1)),
                    of_column(1 << 70, Some(0), Some(i64::MAX)),
                    of_column(0, None, None),
                ],
            },
            rows_examined: 12,
            rest: Some(Bytes::from_static(b"m")),
            read_point: 9,
        };
        let bytes = answer_to_bytes(&answer);
        assert_eq!(answer_from_bytes(bytes.clone(), 3).unwrap(), answer);
        assert!(answer_from_bytes(bytes.clone(), 2).is_err());
        assert!(answer_from_bytes(bytes.slice(1..), 3).is_err());
    }

    #[test]
    fn answers_of_hbase_are_numbers_of_rows() {
        let answer = |part: &'static [u8]| {
            let first_part = vec![Bytes::from_static(part)];
            let answer = pb::AggregateResponse { first_part, second_part: None };
            hbase_rows_from_bytes(answer.encode_to_vec().into())
        };
        assert_eq!(answer(b"\0\0\0\0\0\0\x01\x02"), Some(258));
        assert_eq!((answer(b"\xff\0\0\0\0\0\x01\x02"), answer(b"\x01")), (None, None));
        assert_eq!(hbase_rows_from_bytes(Bytes::new()), None);
    }

    #[test]
    fn columns_that_cannot_be_read_are_refused() {
        let aggregation = Aggregation { scan: Scan::all(), columns: Vec::new(), keys: None };
        let query = ScanQuery::from(Scan::all());
        let mut request = request_to_proto(&aggregation, &query).unwrap();
        request.interpreter_specific_bytes = Some(vec![0xff; 100].into());
        assert!(request_from_proto(&request).is_err());
        request.interpreter_specific_bytes = Some(vec![0; MAX_SPECIFIC_BYTES + 1].into());
        assert!(request_from_proto(&request).is_err());
        request.interpreter_specific_bytes = None;
        assert!(request_from_proto(&request).unwrap().columns.is_empty());
    }
}
