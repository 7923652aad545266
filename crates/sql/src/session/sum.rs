//! `sum` of whole numbers that fails where the sum is none of its type: DataFusion's wraps around.
//! It is computed in decimals of 38 digits, which no number of rows of a store fills.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::error::Result;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};
use datafusion::scalar::ScalarValue;

use crate::error::{SqlError, SqlState};

/// Type in which whole numbers are added.
const WIDE: DataType = DataType::Decimal128(38, 0);

/// Returns `sum`.
pub(super) fn checked_sum() -> AggregateUDF {
    AggregateUDF::new_from_impl(CheckedSum { inner: sum_udaf() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    inner: Arc<AggregateUDF>,
}

fn wide(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(WIDE))
}

fn is_whole(field: &FieldRef) -> bool {
    field.data_type().is_integer()
}

/// Runs `call` with arguments of which the numbers are wide.
fn with_wide<T>(
    args: &AccumulatorArgs<'_>,
    call: impl FnOnce(AccumulatorArgs<'_>) -> Result<T>,
) -> Result<T> {
    let fields: Vec<FieldRef> = args.expr_fields.iter().map(wide).collect();
    let return_field = wide(&args.return_field);
    call(AccumulatorArgs { return_field, expr_fields: &fields, ..args.clone() })
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if !is_whole(&args.return_field) {
            return self.inner.state_fields(args);
        }
        let return_field = wide(&args.return_field);
        self.inner.state_fields(StateFieldsArgs { return_field, ..args })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if !is_whole(&args.return_field) {
            return self.inner.accumulator(args);
        }
        let to = args.return_field.data_type().clone();
        let inner = with_wide(&args, |args| self.inner.accumulator(args))?;
        Ok(Box::new(Wide { inner, to }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if !is_whole(&args.return_field) {
            return self.inner.create_groups_accumulator(args);
        }
        let to = args.return_field.data_type().clone();
        let inner = with_wide(&args, |args| self.inner.create_groups_accumulator(args))?;
        Ok(Box::new(WideGroups { inner, to }))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        // Of DISTINCT in a sliding frame there is one for Int64 only.
        if args.is_distinct || !is_whole(&args.return_field) {
            return self.inner.create_sliding_accumulator(args);
        }
        let to = args.return_field.data_type().clone();
        let inner = with_wide(&args, |args| self.inner.create_sliding_accumulator(args))?;
        Ok(Box::new(Wide { inner, to }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// Sum of one group.
#[derive(Debug)]
struct Wide {
    inner: Box<dyn Accumulator>,
    to: DataType,
}

fn widened(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    values.iter().map(|array| Ok(cast(array, &WIDE)?)).collect()
}

fn narrowed(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options).map_err(|_| {
        let text = format!("a sum is outside of {to}; CAST what is added to DECIMAL");
        SqlError::new(SqlState::OutOfRange, text).into()
    })
}

impl Accumulator for Wide {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&widened(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&widened(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = narrowed(&self.inner.evaluate()?.to_array()?, &self.to)?;
        ScalarValue::try_from_array(&sum, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

/// Sums of several groups.
struct WideGroups {
    inner: Box<dyn GroupsAccumulator>,
    to: DataType,
}

impl GroupsAccumulator for WideGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.inner.update_batch(&widened(values)?, groups, filter, total)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(values, groups, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        narrowed(&self.inner.evaluate(emit_to)?, &self.to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&widened(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
