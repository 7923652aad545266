//! HBase's `AggregateService` over 8-byte numbers (`LongColumnInterpreter`): what one region contributes.
//!
//! Minima, maxima and sums are a `LongMsg`, counts 8 bytes; averages send the sum and the rows, deviations also the sum of
//! the squares of the rows' sums, medians the sums of values and weights. A region that has nothing to say sends no part.
//! The client puts the parts of the regions together.

use bytes::Bytes;
use halite_engine::scan::{RegionScanner, ScanBudget};
use halite_types::{Filter, Row, Tier};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc;
use halite_wire::service::Method;
use prost::Message;

use super::exec::damaged;
use super::region::{self, Target};
use crate::call::{Fault, Peer};
use crate::context::Context;

/// How long one slice of work takes, in milliseconds, and the bytes of cells it may hold.
const SLICE_MS: u64 = 10;
const SLICE_BYTES: usize = 1 << 20;

const LONG: &str = "LongColumnInterpreter";

/// An aggregation under way.
pub(super) struct Aggregate {
    method: Method,
    scanner: RegionScanner,
    fault: Box<dyn Fn(&halite_types::Error) -> Fault + Send>,
    /// Whether the second column of a median weighs the first.
    is_weighted: bool,
    figures: Figures,
}

/// What has been gathered. `None` where no number was seen.
#[derive(Default)]
struct Figures {
    rows: i64,
    best: Option<i64>,
    sum: Option<i64>,
    squares: Option<i64>,
    weights: Option<i64>,
}

impl Aggregate {
    /// Begins a method of the service.
    pub(super) fn new(method: Method, context: &Context, peer: &Peer, target: &Target, request: &Bytes) -> Result<Self, Fault> {
        rpc::check_unfolded(method, request, &context.config.limits.of_calls())?;
        let request = pb::AggregateRequest::decode(request.clone()).map_err(|error| damaged(&error))?;
        let interpreter = &request.interpreter_class_name;
        let mut scan = convert::scan::from_proto(&request.scan)?.scan;
        let columns = scan.selection.columns.first_key_value().map(|(_, columns)| columns.as_ref().map_or(0, std::collections::BTreeSet::len));
        // HBase's client counts rows of all families so, and names one for everything else.
        if columns.is_none() && method != Method::AggregateGetRowNum {
            return Err(Fault::do_not_retry("an aggregation's scan names no family; add one, and a column unless rows are counted"));
        }
        let columns = columns.unwrap_or(0);
        if method == Method::AggregateGetRowNum {
            if scan.selection.filter.is_none() && columns == 0 {
                scan.selection.filter = Some(Filter::FirstKeyOnly);
            }
        } else if !interpreter.ends_with(LONG) {
            let text = format!("{interpreter} is not offered by Halite; use org.apache.hadoop.hbase.client.coprocessor.{LONG}");
            return Err(Fault::new(ExceptionKind::DoNotRetry, text));
        }
        // What HBase does with rows in pieces is to take the pieces for rows.
        scan.batch = None;
        let (scanner, name) = match target {
            Target::Region(region) => (region.scan(&scan, Tier::Disk), Some(std::sync::Arc::clone(region))),
            Target::Meta => (context.meta(peer, Tier::Disk)?.scan(&scan), None),
        };
        let peer = peer.clone();
        let fault = move |error: &halite_types::Error| match &name {
            Some(region) => region::read_fault(&peer, region, error),
            None => error.into(),
        };
        let scanner = scanner.map_err(|error| fault(&error))?;
        Ok(Self { method, scanner, fault: Box::new(fault), is_weighted: columns > 1, figures: Figures::default() })
    }

    /// Works for a little while; whether that was all.
    pub(super) fn work(&mut self) -> Result<bool, Fault> {
        let budget = ScanBudget { bytes: SLICE_BYTES, time_ms: Some(SLICE_MS), ..ScanBudget::default() };
        let batch = self.scanner.next_rows(budget).map_err(|error| (self.fault)(&error))?;
        for row in &batch.rows {
            self.figures.add(self.method, self.is_weighted, row);
        }
        Ok(!batch.more())
    }

    /// What the region contributes.
    pub(super) fn response(&self) -> pb::AggregateResponse {
        let figures = &self.figures;
        let number = |number: i64| Bytes::from(pb::LongMsg { long_msg: number }.encode_to_vec());
        let rows = Bytes::copy_from_slice(&figures.rows.to_be_bytes());
        let parts = |first: Vec<i64>, second: Option<Bytes>| pb::AggregateResponse {
            first_part: first.into_iter().map(number).collect(),
            second_part: second,
        };
        match (self.method, figures.sum) {
            (Method::AggregateGetMax | Method::AggregateGetMin, _) => parts(figures.best.into_iter().collect(), None),
            (Method::AggregateGetRowNum, _) => pb::AggregateResponse { first_part: vec![rows], second_part: None },
            (Method::AggregateGetMedian, sum) => parts(vec![sum.unwrap_or(0), figures.weights.unwrap_or(i64::MIN)], None),
            (_, None) => pb::AggregateResponse::default(),
            (Method::AggregateGetAvg, Some(sum)) => parts(vec![sum], Some(rows)),
            (Method::AggregateGetStd, Some(sum)) => parts(vec![sum, figures.squares.unwrap_or(0)], Some(rows)),
            (_, Some(sum)) => parts(vec![sum], None),
        }
    }
}

impl Figures {
    fn add(&mut self, method: Method, is_weighted: bool, row: &Row) {
        self.rows += 1;
        // As in Java: a value that is not 8 bytes long is none, and sums wrap around.
        let values = || row.iter().filter_map(|cell| Some(i64::from_be_bytes(cell.value().try_into().ok()?)));
        match method {
            Method::AggregateGetMax => self.best = self.best.max(values().max()),
            Method::AggregateGetMin => self.best = [self.best, values().min()].into_iter().flatten().min(),
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
            cells.push_parts(CellParts { row: b"r", family: b"f", qualifier: &qualifier, timestamp: 1, cell_type, value, tags: b"" });
        }
        Row::new(cells.finish())
    }

    fn gathered(method: Method, rows: &[Row]) -> Figures {
        let mut figures = Figures::default();
        rows.iter().for_each(|row| figures.add(method, false, row));
        figures
    }

    #[test]
    fn numbers_are_gathered_over_cells_and_squares_over_rows() {
        let long = |number: i64| number.to_be_bytes();
        let rows = [row(&[&long(2), &long(3)]), row(&[&long(-4)]), row(&[b"text"])];
        assert_eq!(gathered(Method::AggregateGetMax, &rows).best, Some(3));
        assert_eq!(gathered(Method::AggregateGetMin, &rows).best, Some(-4));
        let figures = gathered(Method::AggregateGetStd, &rows);
        assert_eq!((figures.sum, figures.squares, figures.rows), (Some(1), Some(25 + 16), 3));
        assert_eq!(gathered(Method::AggregateGetMax, &[row(&[b"text"])]).best, None);
    }
}
