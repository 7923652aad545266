//! Human-readable result table.

use std::fmt::Write as _;

/// Medians of one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ServerMedians {
    pub(super) rate: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) cpu_us: f64,
}

/// One command on both servers.
pub(super) struct Row {
    pub(super) command: &'static str,
    pub(super) hbase: ServerMedians,
    pub(super) halite: ServerMedians,
}

/// Returns the median.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Formats a Markdown table; ratios are Halite's value divided by HBase's, with the targets.
pub(super) fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| command | HBase op/s | Halite op/s | ratio (more than 1) | HBase p50, p99 us | Halite \
         p50, p99 us | p99 ratio (at most 0.33) | HBase CPU us/op | Halite CPU us/op | ratio (at \
         most 0.17) |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for Row { command, hbase, halite } in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {command} | {:.0} | {:.0} | {:.2} | {:.0}, {:.0} | {:.0}, {:.0} | {:.2} | {:.1} | \
             {:.1} | {:.3} |",
            hbase.rate,
            halite.rate,
            halite.rate / hbase.rate,
            hbase.p50_us,
            hbase.p99_us,
            halite.p50_us,
            halite.p99_us,
            halite.p99_us / hbase.p99_us,
            hbase.cpu_us,
            halite.cpu_us,
            halite.cpu_us / hbase.cpu_us,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_ignores_one_disturbed_run() {
        assert!((median([9.0, 1.0, 2.0].into_iter()) - 2.0).abs() < f64::EPSILON);
    }

    #[test]
    fn ratio_is_halite_divided_by_hbase() {
        let hbase = ServerMedians { rate: 1000.0, p50_us: 300.0, p99_us: 3000.0, cpu_us: 200.0 };
        let halite = ServerMedians { rate: 2500.0, p50_us: 100.0, p99_us: 600.0, cpu_us: 20.0 };
        let text = markdown(&[Row { command: "randomRead", hbase, halite }]);
        assert_eq!(
            text.lines().last(),
            Some(
                "| randomRead | 1000 | 2500 | 2.50 | 300, 3000 | 100, 600 | 0.20 | 200.0 | 20.0 | \
                 0.100 |"
            )
        );
    }
}
