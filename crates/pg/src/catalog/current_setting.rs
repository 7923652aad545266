//! `current_setting`: the value of a setting of PostgreSQL.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use halite_sql::datafusion::arrow::array::{Array as _, AsArray as _, StringArray};
use halite_sql::datafusion::arrow::compute::cast;
use halite_sql::datafusion::arrow::datatypes::DataType;
use halite_sql::datafusion::error::Result;
use halite_sql::datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use halite_sql::{SqlError, SqlState};

use crate::session::settings::Settings;

/// The function of one session.
#[derive(Debug)]
struct CurrentSetting {
    settings: Arc<RwLock<Settings>>,
    signature: Signature,
}

impl PartialEq for CurrentSetting {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings)
    }
}

impl Eq for CurrentSetting {}

impl Hash for CurrentSetting {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.signature.hash(state);
    }
}

/// Returns the function for a session with these settings.
pub(super) fn current_setting(settings: &Arc<RwLock<Settings>>) -> ScalarUDF {
    let shapes = vec![
        TypeSignature::Exact(vec![DataType::Utf8]),
        TypeSignature::Exact(vec![DataType::Utf8, DataType::Boolean]),
    ];
    let signature = Signature::one_of(shapes, Volatility::Stable);
    ScalarUDF::from(CurrentSetting { settings: Arc::clone(settings), signature })
}

impl ScalarUDFImpl for CurrentSetting {
    fn name(&self) -> &'static str {
        "current_setting"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let names = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Utf8)?;
        let names = names.as_string::<i32>();
        // With a second argument, a setting that there is not is null.
        let may_miss = args.args.len() > 1;
        let settings = self.settings.read().unwrap_or_else(PoisonError::into_inner);
        let value = |row: usize| -> Result<Option<String>> {
            if names.is_null(row) {
                return Ok(None);
            }
            let name = names.value(row).to_ascii_lowercase();
            match settings.get(&name) {
                Some(value) => Ok(Some(value.to_owned())),
                None if may_miss => Ok(None),
                None => {
                    let text = format!("there is no setting {name} of PostgreSQL; SHOW {name}");
                    Err(SqlError::new(SqlState::UndefinedObject, text).into())
                }
            }
        };
        let values: StringArray = (0..names.len()).map(value).collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(values)))
    }
}
