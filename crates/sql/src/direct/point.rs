//! Whole keys that differ by the values of a statement only: what is read of the row is decided
//! once, by the scan of the first key.

use std::sync::{Arc, OnceLock};

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use halite_rowkey::value::FieldType;
use halite_types::Bytes;

use crate::catalog::provider::HaliteTable;
use crate::catalog::shape::{Pseudo, Source};
use crate::scan::spec::ScanSpec;
use crate::session::parameters::number;
use crate::types::literals::value_of;

/// Query of one row by its whole key.
pub(super) struct Point {
    /// Types of the fields of the key, and where their values come from.
    fields: Vec<(FieldType, Given)>,
    /// Scan of the first key that was read.
    spec: OnceLock<Arc<ScanSpec>>,
}

enum Given {
    Constant(ScalarValue),
    /// Parameter, from 1 on.
    Parameter(usize),
}

impl Point {
    /// Returns the query of `columns` whose conditions are `field = value` for each field of the key
    /// and nothing else.
    pub(super) fn of(table: &HaliteTable, conditions: &[Expr], columns: &[usize]) -> Option<Self> {
        let shape = &table.shape;
        let fields = shape.key.fields();
        // Where a row is may change.
        let is_region = |at: &usize| shape.columns[*at].source == Source::Pseudo(Pseudo::Region);
        if conditions.len() != fields.len() || columns.iter().any(is_region) {
            return None;
        }
        let mut given: Vec<Option<Given>> = fields.iter().map(|_| None).collect();
        for condition in conditions {
            let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else {
                return None;
            };
            let ((Expr::Column(column), value) | (value, Expr::Column(column))) =
                (left.as_ref(), right.as_ref())
            else {
                return None;
            };
            let column = &shape.columns[shape.position(&column.name)?];
            let Source::Key(field) = column.source else { return None };
            // Floats have several zeros and NaN.
            if !shape.is_whole(field) || matches!(column.ty, FieldType::F32 | FieldType::F64) {
                return None;
            }
            given[field] = Some(match value {
                Expr::Literal(value, _) => Given::Constant(value.clone()),
                Expr::Placeholder(parameter) => Given::Parameter(number(parameter)?),
                _ => return None,
            });
        }
        let types = fields.iter().map(|field| field.ty);
        let fields: Option<Vec<_>> =
            types.zip(given).map(|(ty, given)| Some((ty, given?))).collect();
        Some(Self { fields: fields?, spec: OnceLock::new() })
    }

    /// Remembers the scan of a key, if keys that differ by their values are read alike.
    pub(super) fn learn(&self, spec: &Arc<ScanSpec>, values: &[ScalarValue]) {
        let key = self.encoded(spec, values);
        // A salt that is drawn makes several keys of one.
        if key.is_some()
            && spec.plan.points().map(|points| points.into_iter().next()) == Some(key)
            && spec.plan.ranges().count() == 1
        {
            let _ = self.spec.set(Arc::clone(spec));
        }
    }

    /// Returns the key of a row, and the scan that tells what to read of it; `None` if no key was
    /// read before, and for values that are none of their fields.
    pub(super) fn key(&self, values: &[ScalarValue]) -> Option<(Bytes, &Arc<ScanSpec>)> {
        let spec = self.spec.get()?;
        Some((self.encoded(spec, values)?, spec))
    }

    fn encoded(&self, spec: &ScanSpec, values: &[ScalarValue]) -> Option<Bytes> {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (ty, given) in &self.fields {
            let value = match given {
                Given::Constant(value) => value,
                Given::Parameter(at) => values.get(at - 1)?,
            };
            fields.push(value_of(*ty, value)?);
        }
        let key = spec.plan.schema().encode(&fields).ok()?;
        (!key.is_empty() && key.len() <= halite_types::cell::MAX_ROW_BYTES)
            .then(|| Bytes::copy_from_slice(&key))
    }
}
