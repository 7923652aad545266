//! Functions that clients of PostgreSQL call.

use std::sync::Arc;

use halite_sql::datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, StringArray};
use halite_sql::datafusion::arrow::compute::cast;
use halite_sql::datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use halite_sql::datafusion::common::ScalarValue;
use halite_sql::datafusion::error::Result;
use halite_sql::datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use super::names::{CURRENT_SCHEMAS, DATABASE, OWNER};
use crate::values::types;
use crate::version::SERVER_VERSION;

/// Arguments that a function takes at most.
const MAX_ARGUMENTS: usize = 4;

/// Function of the catalog.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    signature: Signature,
    result: Kind,
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// The same, whatever its arguments are.
    Constant(ScalarValue),
    /// The name of the type of the first argument's number.
    TypeName,
}

impl Function {
    fn udf(name: &'static str, result: Kind) -> ScalarUDF {
        let any = (1..=MAX_ARGUMENTS).map(TypeSignature::Any);
        let shapes = std::iter::once(TypeSignature::Nullary).chain(any).collect();
        let signature = Signature::one_of(shapes, Volatility::Stable);
        ScalarUDF::from(Self { name, signature, result })
    }

    fn constant(name: &'static str, value: ScalarValue) -> ScalarUDF {
        Self::udf(name, Kind::Constant(value))
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match &self.result {
            Kind::Constant(value) => value.data_type(),
            Kind::TypeName => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match (&self.result, args.args.first()) {
            (Kind::Constant(value), _) => Ok(ColumnarValue::Scalar(value.clone())),
            (Kind::TypeName, None) => Ok(ColumnarValue::Scalar(ScalarValue::Utf8(None))),
            (Kind::TypeName, Some(oids)) => {
                let oids = oids.to_array(args.number_rows)?;
                let details = args.args.get(1).map(|detail| detail.to_array(args.number_rows));
                let names = type_names(&oids, details.transpose()?.as_ref())?;
                Ok(ColumnarValue::Array(names))
            }
        }
    }
}

/// Names of types by their numbers, with the details such as the length.
fn type_names(oids: &ArrayRef, details: Option<&ArrayRef>) -> Result<ArrayRef> {
    let oids = cast(oids, &DataType::Int64)?;
    let details = details.map(|details| cast(details, &DataType::Int64)).transpose()?;
    let oids = oids.as_primitive::<Int64Type>();
    let detail = |row: usize| {
        let details = details.as_ref()?.as_primitive::<Int64Type>();
        details.is_valid(row).then(|| details.value(row)).filter(|detail| *detail >= 0)
    };
    let name = |row: usize| oids.is_valid(row).then(|| type_name(oids.value(row), detail(row)));
    Ok(Arc::new((0..oids.len()).map(name).collect::<StringArray>()))
}

fn type_name(oid: i64, detail: Option<i64>) -> String {
    let known = u32::try_from(oid).ok();
    if let Some(ty) = known.and_then(types::by_oid) {
        return match (ty.oid, detail) {
            (types::NUMERIC, Some(detail)) => {
                format!("numeric({},{})", (detail - 4) >> 16, (detail - 4) & 0xffff)
            }
            (types::BPCHAR | types::VARCHAR, Some(detail)) => {
                format!("{}({})", ty.long_name, detail - 4)
            }
            _ => ty.long_name.to_owned(),
        };
    }
    let element = types::TYPES.iter().find(|ty| Some(ty.array) == known && ty.array != 0);
    match element {
        Some(element) => format!("{}[]", element.long_name),
        None if oid == 0 => "-".to_owned(),
        None => "???".to_owned(),
    }
}

/// Returns the functions for a session of a user.
pub(super) fn all(user: &str, connection: u32) -> Vec<ScalarUDF> {
    let text = |value: &str| ScalarValue::Utf8(Some(value.to_owned()));
    let no_text = ScalarValue::Utf8(None);
    let yes = ScalarValue::Boolean(Some(true));
    let no = ScalarValue::Boolean(Some(false));
    let mut found = vec![
        Function::constant("version", text(&format!("PostgreSQL {SERVER_VERSION}"))),
        Function::constant("current_database", text(DATABASE)),
        Function::constant("current_catalog", text(DATABASE)),
        Function::constant("current_schema", text("public")),
        Function::constant("current_schemas", schemas()),
        Function::constant("pg_backend_pid", ScalarValue::Int64(Some(i64::from(connection)))),
        Function::constant("pg_get_userbyid", text(OWNER)),
        Function::constant("pg_encoding_to_char", text("UTF8")),
        Function::udf("format_type", Kind::TypeName),
    ];
    for name in ["current_user", "session_user", "user", "current_role"] {
        found.push(Function::constant(name, text(user)));
    }
    for name in [
        "has_any_column_privilege",
        "has_column_privilege",
        "has_database_privilege",
        "has_function_privilege",
        "has_schema_privilege",
        "has_table_privilege",
        "has_type_privilege",
        "pg_collation_is_visible",
        "pg_function_is_visible",
        "pg_has_role",
        "pg_type_is_visible",
    ] {
        found.push(Function::constant(name, yes.clone()));
    }
    for name in ["pg_is_in_recovery", "pg_is_other_temp_schema", "pg_relation_is_publishable"] {
        found.push(Function::constant(name, no.clone()));
    }
    // There are no defaults, generated columns and rules.
    for name in [
        "col_description",
        "obj_description",
        "pg_get_expr",
        "pg_get_function_result",
        "pg_get_partkeydef",
        "pg_get_ruledef",
        "pg_get_serial_sequence",
        "pg_get_triggerdef",
        "pg_get_viewdef",
        "pg_size_pretty",
        "pg_tablespace_location",
        "shobj_description",
    ] {
        found.push(Function::constant(name, no_text.clone()));
    }
    for name in [
        "pg_database_size",
        "pg_my_temp_schema",
        "pg_relation_size",
        "pg_stat_get_numscans",
        "pg_table_size",
        "pg_tablespace_size",
        "pg_total_relation_size",
    ] {
        let value = (name == "pg_my_temp_schema").then_some(0);
        found.push(Function::constant(name, ScalarValue::Int64(value)));
    }
    found
}

/// Schemas in which names are looked for.
fn schemas() -> ScalarValue {
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let names = CURRENT_SCHEMAS.map(|name| ScalarValue::Utf8(Some(name.to_owned())));
    ScalarValue::List(ScalarValue::new_list_from_iter(names.into_iter(), field.data_type(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_names() {
        assert_eq!(type_name(20, None), "bigint");
        assert_eq!(type_name(1700, Some(38 * 65_536 + 10 + 4)), "numeric(38,10)");
        assert_eq!(type_name(1042, Some(7)), "character(3)");
        assert_eq!(type_name(1009, Some(-1)), "text[]");
        assert_eq!([type_name(0, None), type_name(1, None)], ["-", "???"]);
    }
}
