//! Ranges of the scans of a plan, as the rows of `halite_ranges('SELECT ..')`.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryViewBuilder, Int64Builder, RecordBatch, StringViewBuilder,
};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::ExecutionPlan;
use halite_rowkey::plan::KeyRange;
use halite_rowkey::{KeyResolver, NoResolver};
use halite_types::{Bytes, RegionInfo};

use crate::error::Result;
use crate::scan::aggregated::as_aggregated;
use crate::scan::exec::as_scan;
use crate::scan::spec::ScanSpec;

/// Rows of the table, beyond which there are no more.
const MAX_ROWS: usize = 100_000;

/// Returns the ranges of all scans of a plan, a row for each range and region.
///
/// # Errors
/// None in practice: the columns have the same number of rows.
pub(crate) fn ranges(plan: &dyn ExecutionPlan) -> Result<RecordBatch> {
    let mut scans = Vec::new();
    add_scans(plan, &mut scans);
    let mut lines = Lines::default();
    for (spec, number) in scans.into_iter().zip(1..) {
        for (range, at) in spec.plan.ranges().zip(1..) {
            let touches = |region: &&RegionInfo| range.touches(&region.start, &region.end);
            let mut regions: Vec<Option<&RegionInfo>> =
                spec.target.regions.iter().filter(touches).map(Some).collect();
            if regions.is_empty() {
                regions.push(None);
            }
            for region in regions {
                if lines.rows == MAX_ROWS {
                    return lines.finish();
                }
                lines.add(spec, (number, at), range, region);
            }
        }
    }
    lines.finish()
}

fn add_scans<'p>(plan: &'p dyn ExecutionPlan, scans: &mut Vec<&'p ScanSpec>) {
    if let Some(scan) = as_scan(plan) {
        scans.push(&scan.spec);
    } else if let Some(aggregated) = as_aggregated(plan) {
        add_scans(aggregated.scan().as_ref(), scans);
    } else {
        plan.children().into_iter().for_each(|child| add_scans(child.as_ref(), scans));
    }
}

/// Columns of the table.
#[derive(Default)]
struct Lines {
    rows: usize,
    scan: Int64Builder,
    table: StringViewBuilder,
    range: Int64Builder,
    kind: StringViewBuilder,
    salt: StringViewBuilder,
    start_fields: StringViewBuilder,
    end_fields: StringViewBuilder,
    start: BinaryViewBuilder,
    end: BinaryViewBuilder,
    region: StringViewBuilder,
}

impl Lines {
    fn add(
        &mut self,
        spec: &ScanSpec,
        (scan, at): (i64, i64),
        range: &KeyRange,
        region: Option<&RegionInfo>,
    ) {
        let bounds = KeyBounds { spec, range };
        self.rows += 1;
        self.scan.append_value(scan);
        self.table.append_value(spec.target.table.name().to_string());
        self.range.append_value(at);
        self.kind.append_value(if range.point().is_some() { "get" } else { "range" });
        self.salt.append_option(bounds.salts());
        self.start_fields.append_option(bounds.first());
        self.end_fields.append_option(bounds.last());
        self.start.append_option(key_of(&range.range.start));
        self.end.append_option(key_of(&range.range.end));
        self.region.append_option(region.map(|region| region.encoded_name.as_str()));
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: [(&str, ArrayRef, bool); 10] = [
            ("scan", Arc::new(self.scan.finish()), false),
            ("table_name", Arc::new(self.table.finish()), false),
            ("range", Arc::new(self.range.finish()), false),
            ("kind", Arc::new(self.kind.finish()), false),
            ("salt", Arc::new(self.salt.finish()), true),
            ("start_fields", Arc::new(self.start_fields.finish()), true),
            ("end_fields", Arc::new(self.end_fields.finish()), true),
            ("start_key", Arc::new(self.start.finish()), true),
            ("end_key", Arc::new(self.end.finish()), true),
            ("region", Arc::new(self.region.finish()), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns)
            .map_err(|error| DataFusionError::from(error).into())
    }
}

fn key_of(bound: &Bound<Bytes>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Bounds of a range, decoded.
struct KeyBounds<'s> {
    spec: &'s ScanSpec,
    range: &'s KeyRange,
}

impl KeyBounds<'_> {
    fn resolver(&self) -> &dyn KeyResolver {
        match &self.spec.target.dictionary {
            Some(dictionary) => &**dictionary,
            None => &NoResolver,
        }
    }

    /// Returns the salts that all keys of the range have.
    fn salts(&self) -> Option<String> {
        let schema = self.spec.plan.schema();
        let salts = schema.beginning(self.range.fixed_bytes(), self.resolver()).salts;
        let texts: Vec<String> = salts.iter().map(ToString::to_string).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Returns the fields with which the first keys begin.
    fn first(&self) -> Option<String> {
        let schema = self.spec.plan.schema();
        let found = schema.beginning(key_of(&self.range.range.start)?, self.resolver());
        (!found.fields.is_empty()).then(|| found.text(schema))
    }

    /// Returns the fields with which the last keys begin, or before which they end.
    fn last(&self) -> Option<String> {
        if self.range.point().is_some() {
            return self.first();
        }
        let schema = self.spec.plan.schema();
        let whole = |key: &[u8]| {
            let found = schema.beginning(key, self.resolver());
            let is_whole = found.bytes == key.len() && !found.fields.is_empty();
            is_whole.then(|| found.text(schema))
        };
        let end = key_of(&self.range.range.end)?;
        if let Some(text) = whole(end) {
            return Some(format!("before {text}"));
        }
        // The end of all keys with a beginning is that beginning with a greater last byte.
        let mut beginning = end.to_vec();
        let last = beginning.last_mut()?;
        *last = last.checked_sub(1)?;
        whole(&beginning).map(|text| format!("through {text}"))
    }
}
