//! Human-readable result table.

use std::fmt::Write as _;

use super::ClientLoad;
use super::programs::RunMetrics;

/// One load with each client: Halite's, gohbase, Java.
pub(super) struct Row {
    pub(super) load: &'static ClientLoad,
    pub(super) metrics: [RunMetrics; 3],
}

/// Formats a Markdown table; ratios are the Rust client's value divided by the other's, with the
/// targets.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| work | rows/s: Halite's client | gohbase | Java | ratio to gohbase (1 or more; scan 2) \
         | client CPU us/row: Halite's | gohbase | Java | ratio to gohbase (at most 1) | to Java \
         (at most 0.33) |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for Row { load, metrics: [ours, gohbase, java] } in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            load.title,
            ours.rate,
            gohbase.rate,
            java.rate,
            ours.rate / gohbase.rate,
            ours.cpu_us,
            gohbase.cpu_us,
            java.cpu_us,
            ours.cpu_us / gohbase.cpu_us,
            ours.cpu_us / java.cpu_us,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_bench::LOADS;

    #[test]
    fn ratio_is_halite_client_divided_by_other() {
        let side = |rate, cpu_us| RunMetrics { rate, cpu_us };
        let row = Row {
            load: &LOADS[0],
            metrics: [side(2000.0, 10.0), side(1000.0, 20.0), side(500.0, 40.0)],
        };
        let text = markdown(&[row]);
        assert_eq!(
            text.lines().last(),
            Some(
                "| get, 1 caller | 2000 | 1000 | 500 | 2.00 | 10.00 | 20.00 | 40.00 | 0.50 | 0.25 |"
            )
        );
    }
}
