//! UUIDs and addresses as text, which a cast would take for letters.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable as _, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use crate::cell_text;
use crate::types::TYPE_KEY;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ShownAsText {
    signature: Signature,
}

/// Returns a cast with the function inside, if it makes text of a UUID or an address.
pub(crate) fn shown_as_text(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::Cast(Cast { expr: of, field }) = expr else { return Transformed::no(expr) };
    let is_named = |(_, field): (_, FieldRef)| {
        matches!(field.data_type(), DataType::FixedSizeBinary(_))
            && field.metadata().contains_key(TYPE_KEY)
    };
    let is_text =
        matches!(field.data_type(), DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8);
    if !is_text || !of.to_field(schema).is_ok_and(is_named) {
        return Transformed::no(Expr::Cast(Cast { expr: of, field }));
    }
    let function = ShownAsText { signature: Signature::any(1, Volatility::Immutable) };
    let function = Arc::new(ScalarUDF::new_from_impl(function));
    let shown = Expr::ScalarFunction(ScalarFunction { func: function, args: vec![*of] });
    Transformed::yes(Expr::Cast(Cast { expr: Box::new(shown), field }))
}

impl ScalarUDFImpl for ShownAsText {
    fn name(&self) -> &'static str {
        "text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let field = args.arg_fields[0].as_ref();
        let text = |row| cell_text(field, values.as_ref(), row);
        let texts = (0..values.len()).map(text).collect::<crate::Result<StringArray>>()?;
        Ok(ColumnarValue::Array(Arc::new(texts) as ArrayRef))
    }
}
