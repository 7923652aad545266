//! `information_schema._pg_expandarray`: items of a list with their positions, by which drivers read
//! the columns of a key.

use std::sync::Arc;

use halite_sql::datafusion::arrow::array::{
    Array as _, ArrayRef, AsArray as _, Int64Array, ListArray, StructArray,
};
use halite_sql::datafusion::arrow::datatypes::{DataType, Field, Fields, Int64Type};
use halite_sql::datafusion::error::Result;
use halite_sql::datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Name of the function, whose list `rewrite/` unnests.
pub(super) const EXPAND: &str = "pg_expand_list";

/// List of numbers to a list of items `x` and positions `n`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Expand {
    signature: Signature,
}

/// Returns the function.
pub(super) fn expand() -> ScalarUDF {
    let numbers = DataType::List(Arc::new(Field::new_list_field(DataType::Int64, true)));
    let signature = Signature::exact(vec![numbers], Volatility::Immutable);
    ScalarUDF::from(Expand { signature })
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("x", DataType::Int64, true),
        Field::new("n", DataType::Int64, true),
    ])
}

fn item() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::Struct(fields()), true))
}

impl ScalarUDFImpl for Expand {
    fn name(&self) -> &'static str {
        EXPAND
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(item()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].to_array(args.number_rows)?;
        let lists = lists.as_list::<i32>();
        let items = lists.values().as_primitive::<Int64Type>().clone();
        let mut positions = vec![0; items.len()];
        for row in lists.value_offsets().windows(2) {
            let range = usize::try_from(row[0]).unwrap_or(0)..usize::try_from(row[1]).unwrap_or(0);
            positions[range].iter_mut().zip(1..).for_each(|(position, n)| *position = n);
        }
        let columns: Vec<ArrayRef> = vec![Arc::new(items), Arc::new(Int64Array::from(positions))];
        let values = Arc::new(StructArray::try_new(fields(), columns, None)?);
        let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
        Ok(ColumnarValue::Array(Arc::new(ListArray::try_new(item(), offsets, values, nulls)?)))
    }
}
