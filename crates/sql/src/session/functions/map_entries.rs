//! `map_entries(m)`: the entries of a `MAP` as a list. That of DataFusion takes only maps whose
//! fields are called as in its result and say nothing about their types.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, ListArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MapEntries {
    signature: Signature,
}

impl MapEntries {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for MapEntries {
    fn name(&self) -> &'static str {
        "map_entries"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [DataType::Map(entries, _)] = types else {
            return plan_err!("map_entries takes a MAP");
        };
        let DataType::Struct(fields) = entries.data_type() else {
            return plan_err!("map_entries takes a MAP");
        };
        Ok(DataType::List(item(fields)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = args.args[0].to_array(args.number_rows)?;
        let Some(maps) = array.as_map_opt() else {
            return plan_err!("map_entries takes a MAP");
        };
        let entries = maps.entries();
        let item = item(entries.fields());
        let DataType::Struct(fields) = item.data_type() else {
            return plan_err!("map_entries takes a MAP");
        };
        let columns = entries.columns().to_vec();
        let entries = StructArray::try_new(fields.clone(), columns, entries.nulls().cloned())?;
        let (offsets, nulls) = (maps.offsets().clone(), maps.nulls().cloned());
        let lists = ListArray::try_new(item, offsets, Arc::new(entries), nulls)?;
        Ok(ColumnarValue::Array(Arc::new(lists) as ArrayRef))
    }
}

/// Returns the field of an entry.
fn item(fields: &Fields) -> FieldRef {
    let names = [("key", false), ("value", true)];
    let named = fields.iter().zip(names);
    let named = named
        .map(|(field, (name, nullable))| Field::new(name, field.data_type().clone(), nullable));
    Arc::new(Field::new_list_field(DataType::Struct(named.collect()), false))
}
