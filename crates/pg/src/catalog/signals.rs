//! `pg_cancel_backend` and `pg_terminate_backend`: they end the statement of a session, or the
//! session.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use halite_sql::datafusion::arrow::array::{Array as _, AsArray as _, BooleanArray};
use halite_sql::datafusion::arrow::compute::cast;
use halite_sql::datafusion::arrow::datatypes::{DataType, Int64Type};
use halite_sql::datafusion::error::Result;
use halite_sql::datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use halite_sql::{Access, SqlError, SqlState};

use crate::connection::{Cancels, Signal, Signalled};

/// Session that calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) user: String,
    /// Admins end sessions of all users, others their own.
    pub(crate) access: Access,
    pub(crate) cancels: Cancels,
}

/// One of the functions.
#[derive(Debug)]
struct Function {
    name: &'static str,
    signal: Signal,
    caller: Caller,
    signature: Signature,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        (self.name, &self.caller.user) == (other.name, &other.caller.user)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Returns the functions for a session.
pub(super) fn all(caller: &Caller) -> Vec<ScalarUDF> {
    let functions =
        [("pg_cancel_backend", Signal::Statement), ("pg_terminate_backend", Signal::Session)];
    let functions = functions.into_iter().map(|(name, signal)| {
        // Volatile, so that planning a statement does not call it.
        let signature = Signature::any(1, Volatility::Volatile);
        ScalarUDF::from(Function { name, signal, caller: caller.clone(), signature })
    });
    functions.collect()
}

impl Function {
    fn send(&self, number: i64) -> Result<bool> {
        let is_admin = self.caller.access == Access::Admin;
        let of = (!is_admin).then_some(self.caller.user.as_str());
        let number = u32::try_from(number).unwrap_or(0);
        match self.caller.cancels.signal(number, self.signal, of) {
            Signalled::Done => Ok(true),
            Signalled::Unknown => Ok(false),
            Signalled::Refused => Err(SqlError::new(
                SqlState::NotPermitted,
                format!(
                    "session {number} is one of another user: {} needs the role admin for it",
                    self.name
                ),
            )
            .into()),
        }
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
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Int64)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let send = |row: usize| numbers.is_valid(row).then(|| self.send(numbers.value(row)));
        let sent = (0..numbers.len()).map(|row| send(row).transpose());
        Ok(ColumnarValue::Array(Arc::new(sent.collect::<Result<BooleanArray>>()?)))
    }
}
