//! `decode(bytes, 'I64', 'TEXT')`: the value that the bytes of a cell are, by a type and an encoding
//! of the row-key language.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::arrow::array::{Array as _, AsArray as _};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use halite_types::key::to_string_binary;

use crate::catalog::extra::{cell_column, declared};
use crate::catalog::shape::ShapeColumn;
use crate::error::{SqlError, SqlState};
use crate::session::settings::{BadCells, Settings};
use crate::types::builder::ColumnBuilder;
use crate::types::cells::read_declared;
use crate::types::literals::text_of;

/// Name of the function, which statements write as `decode`.
pub(crate) const DECODE_CELL: &str = "decode_cell";
/// Bytes that an error shows.
const SHOWN_BYTES: usize = 32;

pub(super) fn decode_cell(settings: &Arc<RwLock<Settings>>) -> ScalarUDF {
    let counts = vec![TypeSignature::Any(2), TypeSignature::Any(3)];
    ScalarUDF::new_from_impl(DecodeCell {
        signature: Signature::one_of(counts, Volatility::Stable),
        settings: SessionSettings(Arc::clone(settings)),
    })
}

/// Settings of a session, which differ from those of any other.
#[derive(Debug)]
struct SessionSettings(Arc<RwLock<Settings>>);

impl PartialEq for SessionSettings {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SessionSettings {}

impl Hash for SessionSettings {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DecodeCell {
    signature: Signature,
    settings: SessionSettings,
}

impl ScalarUDFImpl for DecodeCell {
    fn name(&self) -> &'static str {
        DECODE_CELL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        datafusion::common::internal_err!("the type follows from the arguments")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        if let Some(first) = args.arg_fields.first()
            && !is_bytes(first.data_type())
        {
            let text = format!(
                "decode of a value of type {}: it reads the bytes of a cell",
                first.data_type()
            );
            return Err(SqlError::new(SqlState::WrongType, text).into());
        }
        let texts = args.scalar_arguments.iter().skip(1).map(|scalar| text_of((*scalar)?));
        let column = column(texts.collect::<Option<Vec<&str>>>())?;
        Ok(Arc::new(column.field.with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let texts = args.args.iter().skip(1).map(|arg| match arg {
            ColumnarValue::Scalar(scalar) => text_of(scalar),
            ColumnarValue::Array(_) => None,
        });
        let column = column(texts.collect::<Option<Vec<&str>>>())?;
        let Some(first) = args.args.first() else {
            return datafusion::common::internal_err!("decode has bytes");
        };
        let is_scalar = matches!(first, ColumnarValue::Scalar(_));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let array = first.to_array(rows)?;
        let array = cast(&array, &DataType::BinaryView)?;
        let settings = self.settings.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_null = settings.bad_cells == BadCells::Null;
        drop(settings);
        let mut builder = ColumnBuilder::of(column.ty, &column.field);
        for bytes in array.as_binary_view() {
            let Some(bytes) = bytes else {
                builder.append_null();
                continue;
            };
            let read = read_declared(column.ty, column.cell.as_deref(), bytes)
                .and_then(|value| builder.append(&value));
            match read {
                Ok(()) => {}
                Err(_) if is_null => builder.append_null(),
                Err(what) => return Err(bad(&what, bytes).into()),
            }
        }
        let array = builder.finish();
        if is_scalar && array.len() == 1 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(array))
    }
}

fn bad(what: &str, bytes: &[u8]) -> SqlError {
    let shown = to_string_binary(&bytes[..bytes.len().min(SHOWN_BYTES)]);
    let more = if bytes.len() > SHOWN_BYTES { ".." } else { "" };
    let text = format!(
        "decode: {what}: {shown}{more}; SET halite.bad_cells = 'null' shows such cells as NULL"
    );
    SqlError::new(SqlState::InvalidValue, text)
}

/// Returns the column whose cells have a type, and an encoding if one is given.
fn column(texts: Option<Vec<&str>>) -> Result<ShapeColumn> {
    let text = match texts.as_deref() {
        Some([ty]) => (*ty).to_owned(),
        Some([ty, encoding]) => format!("{ty} ENCODING {encoding}"),
        _ => {
            let text = "decode(bytes, 'I64', 'TEXT') takes the type and the encoding as constants";
            return Err(SqlError::new(SqlState::WrongType, text).into());
        }
    };
    let name = bytes::Bytes::new();
    Ok(cell_column(DECODE_CELL, &name, &name, &declared("", &text)?)?)
}

fn is_bytes(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Binary
            | DataType::BinaryView
            | DataType::LargeBinary
            | DataType::FixedSizeBinary(_)
            | DataType::Null
    )
}
