//! Measurements of a recipe as JSON lines: one for each kind of operation and one for all, with the
//! same fields for every target, so that two targets are compared line by line.

use std::io::Write;
use std::time::Duration;

use halite_recipes::{BenchConfig, BenchReport};
use serde_json::{Map, Value, json};

/// Load, and where it was sent.
pub(crate) struct BenchContext<'a> {
    pub(crate) recipe: &'a str,
    pub(crate) target: &'a str,
    /// Items that gen wrote.
    pub(crate) items: u64,
    pub(crate) config: BenchConfig,
    /// Processor time of the server during the load; `None` if its process is not known.
    pub(crate) server_processor: Option<Duration>,
}

/// Returns the processor time of each operation in microseconds.
#[expect(clippy::cast_precision_loss, reason = "it is rounded")]
pub(crate) fn micros_per_operation(time: Duration, operations: u64) -> f64 {
    time.as_secs_f64() * 1e6 / operations.max(1) as f64
}

impl BenchContext<'_> {
    /// Prints the lines.
    pub(crate) fn write(&self, report: &BenchReport, out: &mut dyn Write) -> anyhow::Result<()> {
        for operation in report.operations() {
            // Of operations that all failed, nothing else is known.
            let known = |number: f64| (operation.count > 0).then_some(number);
            let fields = json!({
                "operation": operation.name,
                "count": operation.count,
                "errors": operation.errors,
                "per_second": operation.per_second,
                "p50_ms": known(operation.p50_ms),
                "p99_ms": known(operation.p99_ms),
                "p999_ms": known(operation.p999_ms),
                "rows": known(operation.rows),
                "examined_per_row": operation.examined,
                "fan_out": operation.fan_out,
            });
            writeln!(out, "{}", self.line(fields))?;
        }
        let count = report.succeeded();
        let fields = json!({
            "operation": "all",
            "count": count,
            "per_second": report.reached_per_second(),
            "errors": report.errors(),
            "stopped": report.is_stopped(),
            "first_error": report.first_error(),
            "server_cpu_seconds": self.server_processor.map(|time| time.as_secs_f64()),
            "server_cpu_us_per_operation":
                self.server_processor.map(|time| micros_per_operation(time, count)),
        });
        writeln!(out, "{}", self.line(fields))?;
        Ok(())
    }

    /// Adds the fields that all lines have.
    fn line(&self, fields: Value) -> Value {
        let mut line = Map::new();
        line.insert("recipe".to_owned(), self.recipe.into());
        line.insert("target".to_owned(), self.target.into());
        line.insert("items".to_owned(), self.items.into());
        line.insert("requested_per_second".to_owned(), self.config.rate.into());
        line.insert("duration_seconds".to_owned(), self.config.duration.as_secs_f64().into());
        line.insert("threads".to_owned(), self.config.threads.into());
        line.insert("writes_percent".to_owned(), self.config.writes.into());
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        Value::Object(line)
    }
}
