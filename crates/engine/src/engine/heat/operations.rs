//! The log of operations: written with the columns, and asked by table and time.

use halite_heat::operations::LoggedCalls;
use halite_types::{Error, ErrorKind, Result, TableName};

use crate::engine::Engine;
use crate::options::HeatLevel;

impl Engine {
    /// Writes the operations since the last call to the disk, if it has room. A failure is reported
    /// by [`Engine::heat_failure`], and loses them.
    pub(super) fn write_operations(&self) {
        let log = &self.shared.operation_log;
        if !log.is_on() || self.shared.disk.is_low() {
            return;
        }
        // Without the lock the directory may be another process's.
        let written = self.shared.lock.check().and_then(|()| log.write(&self.shared.env));
        self.heat.recorded.lock().failures.2 = written.err();
    }

    /// Returns the logged operations of a table in a span of time in milliseconds since 1970, the
    /// newest `limit` of them. The log has one of
    /// [`Options::operation_log_rate`](crate::Options::operation_log_rate) operations, or all at
    /// [`HeatLevel::Full`], as far back as
    /// [`Options::operation_log_bytes`](crate::Options::operation_log_bytes) reach.
    ///
    /// # Errors
    /// `NoSuchTable`; `InvalidRequest` if operations are not logged.
    pub fn logged_calls(
        &self,
        table: &TableName,
        span_ms: (i64, i64),
        limit: usize,
    ) -> Result<LoggedCalls> {
        self.check_heat(table)?;
        self.check_operation_log()?;
        self.write_operations();
        let env = &self.shared.env;
        Ok(self.shared.operation_log.calls(env, &table.to_string(), span_ms, limit))
    }

    fn check_operation_log(&self) -> Result<()> {
        let is_off = self.shared.options.heat_level < HeatLevel::Sub;
        if !is_off && self.shared.operation_log.is_on() {
            return Ok(());
        }
        let text = if is_off {
            "operations are not logged; open the store with heat_level Sub or Full"
        } else {
            "operations are not logged; open the store with operation_log_bytes above 0"
        };
        Err(Error::new(ErrorKind::Unsupported, text))
    }
}
