//! HBase's `AggregateService` over 8-byte numbers (`LongColumnInterpreter`): the result of one
//! region.
//!
//! Minima, maxima and sums are a `LongMsg`, counts are 8 bytes. Averages return the sum and the row
//! count. Deviations also return the sum of the squares of the row sums. Medians return the sums of
//! values and weights. A region without values sends no part. The client combines the parts of all
//! regions.

use bytes::Bytes;
use halite_engine::scan::{RegionScanner, ScanLimits};
use halite_types::{Filter, ReadTier, Row};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc;
use halite_wire::service::Method;
use prost::Message;

use super::exec::damaged;
use super::region::{self, RequestTarget};
use crate::base::call::{CallError, Peer};
use crate::base::context::Context;

/// Duration of one slice of work, in milliseconds, and the maximum bytes of cells in it.
const SLICE_MS: u64 = 10;
const SLICE_BYTES: usize = 1 << 20;

const LONG: &str = "LongColumnInterpreter";

/// Aggregation in progress.
pub(super) struct Aggregate {
    method: Method,
    scanner: RegionScanner,
    to_call_error: Box<dyn Fn(&halite_types::Error) -> CallError + Send>,
    /// `true` if the second column of a median contains the weights of the first.
    is_weighted: bool,
    accumulator: Accumulator,
}

/// Accumulated results; `None` if no number was found.
#[derive(Default)]
struct Accumulator {
    rows: i64,
    best: Option<i64>,
    sum: Option<i64>,
    squares: Option<i64>,
    weights: Option<i64>,
}

impl Aggregate {
    /// Begins a method of the service.
    pub(super) fn new(
        method: Method,
        context: &Context,
        peer: &Peer,
        target: &RequestTarget,
        request: &Bytes,
    ) -> Result<Self, CallError> {
        rpc::check_decoded_size(method, request, &context.config.limits.rpc_limits())?;
        let request =
            pb::AggregateRequest::decode(request.clone()).map_err(|error| damaged(&error))?;
        let interpreter = &request.interpreter_class_name;
        let mut scan = convert::scan::from_proto(&request.scan)?.scan;
        let columns = scan
            .selection
            .columns
            .first_key_value()
            .map(|(_, columns)| columns.as_ref().map_or(0, std::collections::BTreeSet::len));
        // HBase's client counts the rows of all families this way, and names one family for other
        // methods.
        if columns.is_none() && method != Method::AggregateGetRowNum {
            return Err(CallError::do_not_retry(
                "an aggregation's scan names no family; add one, and a column unless rows are \
                 counted",
            ));
        }
        let columns = columns.unwrap_or(0);
        if method == Method::AggregateGetRowNum {
            if scan.selection.filter.is_none() && columns == 0 {
                scan.selection.filter = Some(Filter::FirstKeyOnly);
            }
        } else if !interpreter.ends_with(LONG) {
            let text = format!(
                "{interpreter} is not offered by Halite; use \
                 org.apache.hadoop.hbase.client.coprocessor.{LONG}"
            );
            return Err(CallError::new(ExceptionKind::DoNotRetry, text));
        }
        // HBase would treat each batch of a row as a row.
        scan.batch = None;
        let (scanner, name) = match target {
            RequestTarget::Region(region) => {
                (region.scan(&scan, ReadTier::Disk), Some(std::sync::Arc::clone(region)))
            }
            RequestTarget::Meta => (context.meta(peer, ReadTier::Disk)?.scan(&scan), None),
        };
        let peer = peer.clone();
        let fault = move |error: &halite_types::Error| match &name {
            Some(region) => region::read_error(&peer, region, error),
            None => error.into(),
        };
        let scanner = scanner.map_err(|error| fault(&error))?;
        Ok(Self {
            method,
            scanner,
            to_call_error: Box::new(fault),
            is_weighted: columns > 1,
            accumulator: Accumulator::default(),
        })
    }

    /// Runs one slice. Returns `true` if the aggregation is complete.
    pub(super) fn work(&mut self) -> Result<bool, CallError> {
        let budget =
            ScanLimits { bytes: SLICE_BYTES, time_ms: Some(SLICE_MS), ..ScanLimits::default() };
        let batch = self.scanner.next_rows(budget).map_err(|error| (self.to_call_error)(&error))?;
        for row in &batch.rows {
            self.accumulator.add(self.method, self.is_weighted, row);
        }
        Ok(!batch.more())
    }

    /// Returns the result of the region.
    pub(super) fn response(&self) -> pb::AggregateResponse {
        let results = &self.accumulator;
        let number = |number: i64| Bytes::from(pb::LongMsg { long_msg: number }.encode_to_vec());
        let rows = Bytes::copy_from_slice(&results.rows.to_be_bytes());
        let parts = |first: Vec<i64>, second: Option<Bytes>| pb::AggregateResponse {
            first_part: first.into_iter().map(number).collect(),
            second_part: second,
        };
        match (self.method, results.sum) {
            (Method::AggregateGetMax | Method::AggregateGetMin, _) => {
                parts(results.best.into_iter().collect(), None)
            }
            (Method::AggregateGetRowNum, _) => {
                pb::AggregateResponse { first_part: vec![rows], second_part: None }
            }
            (Method::AggregateGetMedian, sum) => {
                parts(vec![sum.unwrap_or(0), results.weights.unwrap_or(i64::MIN)], None)
            }
            (_, None) => pb::AggregateResponse::default(),
            (Method::AggregateGetAvg, Some(sum)) => parts(vec![sum], Some(rows)),
            (Method::AggregateGetStd, Some(sum)) => {
                parts(vec![sum, results.squares.unwrap_or(0)], Some(rows))
            }
            (_, Some(sum)) => parts(vec![sum], None),
        }
    }
}

impl Accumulator {
    fn add(&mut self, method: Method, is_weighted: bool, row: &Row) {
        self.rows += 1;
        // As in Java: a value that is not 8 bytes long is ignored, and sums wrap around.
        let values = || {
            row.iter().filter_map(|cell| Some(i64::from_be_bytes(cell.value().try_into().ok()?)))
        };
        match method {
            Method::AggregateGetMax => self.best = self.best.max(values().max()),
            Method::AggregateGetMin => {
                self.best = [self.best, values().min()].into_iter().flatten().min();
            }
            Method::AggregateGetRowNum => {}
            _ => {
                let Some(sum) = values().reduce(i64::wrapping_add) else { return };
                add(&mut self.sum, sum);
                add(&mut self.squares, sum.wrapping_mul(sum));
                if is_weighted {
                    add(&mut self.weights, sum);
                }
            }
        }
    }
}

fn add(sum: &mut Option<i64>, number: i64) {
    *sum = Some(sum.map_or(number, |sum| sum.wrapping_add(number)));
}

#[cfg(test)]
mod tests {
    use halite_types::cell::CellParts;
    use halite_types::{CellType, CellsBuilder};

    use super::*;

    fn row(values: &[&[u8]]) -> Row {
        let mut cells = CellsBuilder::default();
        for (at, value) in values.iter().enumerate() {
            let qualifier = [b'a' + u8::try_from(at).unwrap()];
            let cell_type = CellType::Put;
            cells.push_parts(CellParts {
                row: b"r",
                family: b"f",
                qualifier: &qualifier,
                timestamp: 1,
                cell_type,
                value,
                tags: b"",
            });
        }
        Row::new(cells.finish())
    }

    fn accumulate(method: Method, rows: &[Row]) -> Accumulator {
        let mut results = Accumulator::default();
        rows.iter().for_each(|row| results.add(method, false, row));
        results
    }

    #[test]
    fn aggregates_sum_cells_and_square_row_sums() {
        let long = |number: i64| number.to_be_bytes();
        let rows = [row(&[&long(2), &long(3)]), row(&[&long(-4)]), row(&[b"text"])];
        assert_eq!(accumulate(Method::AggregateGetMax, &rows).best, Some(3));
        assert_eq!(accumulate(Method::AggregateGetMin, &rows).best, Some(-4));
        let results = accumulate(Method::AggregateGetStd, &rows);
        assert_eq!((results.sum, results.squares, results.rows), (Some(1), Some(25 + 16), 3));
        assert_eq!(accumulate(Method::AggregateGetMax, &[row(&[b"text"])]).best, None);
    }
}
