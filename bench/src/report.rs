//! Report of the children's measurements as medians, ratios and targets.

use std::collections::BTreeMap;
use std::fmt;

use crate::Result;

/// Store whose ratio to the best of the others is printed.
const OURS: &str = "halite";

/// Targets of the ratio of `OURS` to the best of the others.
const TARGETS: [(&str, &str, f64); 4] = [
    ("put", "ops/s", 1.0),
    ("put in batches of 100", "ops/s", 1.0),
    ("get, cached", "ops/s", 0.8),
    ("scan", "ops/s", 1.0),
];

/// Targets of the same ratios in the workload `large`.
const LARGE_TARGETS: [(&str, &str, f64); 7] = [
    ("large fill", "ops/s", 1.0),
    ("large mixed, put or delete", "ops/s", 1.0),
    ("large get, cold", "ops/s", 1.0),
    ("large scan of 100, cold", "ops/s", 1.0),
    ("large full scan", "rows/s", 1.0),
    ("large get, warm", "ops/s", 1.0),
    ("large scan of 100, warm", "ops/s", 1.0),
];

/// Upper limits of the ratio of `OURS` to a store, or to the best of the others.
const CEILINGS: [(&str, &str, Option<&str>, f64); 10] = [
    ("large fill", "p99.9 us", None, 1.0),
    ("large mixed, put or delete", "p99.9 us", None, 1.0),
    ("large mixed, get", "p99.9 us", None, 1.0),
    ("large mixed, scan of 100", "p99.9 us", None, 1.0),
    ("large get, cold", "p99.9 us", None, 1.0),
    ("large scan of 100, cold", "p99.9 us", None, 1.0),
    ("large get, warm", "p99.9 us", None, 1.0),
    ("large scan of 100, warm", "p99.9 us", None, 1.0),
    ("large fill", "bytes on disk per live byte", Some("rocksdb"), 1.15),
    ("large mixed", "bytes on disk per live byte", Some("rocksdb"), 1.15),
];

/// Start of a child's line with a remark.
pub(crate) const NOTE: &str = "note|";
/// Start of a child's line with the reason why it cannot run.
pub(crate) const SKIP: &str = "skip|";

/// Absolute targets: upper limits, independent of the other stores.
const LIMITS: [(&str, &str, f64); 2] =
    [("open after a clean close", "ms to first read", 200.0), ("idle", "MB resident", 20.0)];

/// Target speedup of batches of 100 rows over single puts.
const BATCH_GAIN: f64 = 3.0;

/// Measurements so far, in order of first appearance.
#[derive(Default)]
pub(crate) struct Report {
    order: Vec<Figure>,
    values: BTreeMap<(Figure, String), Vec<f64>>,
    engines: Vec<String>,
    notes: Vec<String>,
}

/// Answer to a child's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Measured,
    /// The engine cannot run this workload.
    Skipped,
}

/// Name and unit of a measurement.
type Figure = (String, String);

impl Report {
    /// Adds the output of a child: `name|unit|value` lines, remarks, or a reason not to run.
    pub(crate) fn take(&mut self, engine: &str, output: &str) -> Result<Taken> {
        if !self.engines.iter().any(|known| known == engine) {
            self.engines.push(engine.to_string());
            self.engines.sort_by_key(|name| (name != OURS, name.clone()));
        }
        for line in output.lines() {
            if let Some(text) = line.strip_prefix(NOTE) {
                self.note(text.to_string());
                continue;
            }
            if let Some(reason) = line.strip_prefix(SKIP) {
                self.note(format!("{engine} is skipped: {reason}"));
                return Ok(Taken::Skipped);
            }
            let mut parts = line.splitn(3, '|');
            let (Some(name), Some(unit), Some(Ok(value))) =
                (parts.next(), parts.next(), parts.next().map(str::parse))
            else {
                return Err(format!("{engine}: invalid measurement line: {line:?}"));
            };
            let figure = (name.to_string(), unit.to_string());
            if !self.order.contains(&figure) {
                self.order.push(figure.clone());
            }
            self.values.entry((figure, engine.to_string())).or_default().push(value);
        }
        Ok(Taken::Measured)
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn median(&self, figure: &Figure, engine: &str) -> Option<f64> {
        let mut values = self.values.get(&(figure.clone(), engine.to_string()))?.clone();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        Some(if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        })
    }

    fn cell(&self, figure: &Figure, engine: &str) -> String {
        let Some(values) = self.values.get(&(figure.clone(), engine.to_string())) else {
            return "-".to_string();
        };
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!(
            "{} ({}-{})",
            short(self.median(figure, engine).unwrap_or_default()),
            short(lowest),
            short(highest)
        )
    }

    /// Returns our value divided by the best of the others. More is better for a rate, less for
    /// everything else.
    fn ratio(&self, figure: &Figure) -> Option<f64> {
        let others = self
            .engines
            .iter()
            .filter(|name| *name != OURS)
            .filter_map(|name| self.median(figure, name));
        let best = others
            .reduce(|one, other| if is_rate(figure) { one.max(other) } else { one.min(other) })?;
        Some(self.median(figure, OURS)? / best)
    }

    fn verdict(&self, figure: &Figure) -> Option<String> {
        let same = |name: &str, unit: &str| figure.0 == name && figure.1 == unit;
        let mut targets = TARGETS.iter().chain(&LARGE_TARGETS);
        if let Some((.., target)) = targets.find(|(name, unit, _)| same(name, unit)) {
            return Some(word(self.ratio(figure)? >= *target, &format!("at least {target:.1} x")));
        }
        let ceiling = CEILINGS.iter().find(|(name, unit, ..)| same(name, unit));
        if let Some((.., rival, most)) = ceiling {
            let (ratio, whose) = match rival {
                Some(rival) => (
                    self.median(figure, OURS)? / self.median(figure, rival)?,
                    format!(" of {rival}"),
                ),
                None => (self.ratio(figure)?, String::new()),
            };
            return Some(word(ratio <= *most, &format!("at most {most} x{whose}")));
        }
        let (.., limit) = LIMITS.iter().find(|(name, unit, _)| same(name, unit))?;
        Some(word(self.median(figure, OURS)? <= *limit, &format!("at most {limit}")))
    }

    fn batch_gain(&self) -> Option<f64> {
        let rate = |name: &str| self.median(&(name.to_string(), "ops/s".to_string()), OURS);
        Some(rate("put in batches of 100")? / rate("put")?)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "\n| what | unit |")?;
        self.engines.iter().try_for_each(|engine| write!(out, " {engine} |"))?;
        writeln!(out, " {OURS} : best other | target |")?;
        writeln!(out, "|---|---|{}---|---|", "---|".repeat(self.engines.len()))?;
        for figure in &self.order {
            write!(out, "| {} | {} |", figure.0, figure.1)?;
            self.engines
                .iter()
                .try_for_each(|engine| write!(out, " {} |", self.cell(figure, engine)))?;
            let ratio = self.ratio(figure).map_or(String::new(), |ratio| format!("{ratio:.2}"));
            writeln!(out, " {ratio} | {} |", self.verdict(figure).unwrap_or_default())?;
        }
        self.notes.iter().try_for_each(|note| write!(out, "\n{note}\n"))?;
        if let Some(gain) = self.batch_gain() {
            let verdict = word(gain >= BATCH_GAIN, &format!("at least {BATCH_GAIN} x"));
            writeln!(
                out,
                "\n{OURS}: batches of 100 are {gain:.1} x as fast as single puts; {verdict}"
            )?;
        }
        Ok(())
    }
}

fn is_rate(figure: &Figure) -> bool {
    figure.1.ends_with("/s")
}

fn word(reached: bool, target: &str) -> String {
    format!("{target}: {}", if reached { "reached" } else { "MISSED" })
}

/// Formats a value with at least three significant digits, and thousands as `k`.
fn short(value: f64) -> String {
    match value {
        value if value >= 10_000.0 => format!("{:.0} k", value / 1000.0),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ours: &[f64], fast: &[f64], slow: &[f64], unit: &str) -> Report {
        let mut report = Report::default();
        for (engine, values) in [("fast", fast), (OURS, ours), ("slow", slow)] {
            for value in values {
                report.take(engine, &format!("put|{unit}|{value}\n")).unwrap();
            }
        }
        report
    }

    #[test]
    fn own_median_is_compared_with_best_other_median() {
        let figure = ("put".to_string(), "ops/s".to_string());
        let rates = report(&[90.0, 300.0, 100.0], &[200.0, 50.0, 200.0], &[10.0], "ops/s");
        assert_eq!(rates.ratio(&figure), Some(0.5));
        assert_eq!(rates.verdict(&figure).as_deref(), Some("at least 1.0 x: MISSED"));
        assert_eq!(rates.engines, [OURS, "fast", "slow"]);
    }

    #[test]
    fn smallest_time_and_size_is_best() {
        let figure = ("put".to_string(), "cpu us/op".to_string());
        assert_eq!(report(&[3.0], &[2.0, 4.0], &[9.0], "cpu us/op").ratio(&figure), Some(1.0));
    }

    #[test]
    fn ceiling_refers_to_named_store_or_best_other() {
        let mut report = Report::default();
        let (tail, disk) = ("large fill|p99.9 us", "large fill|bytes on disk per live byte");
        for (engine, us, bytes) in [(OURS, 10, 1.15), ("fjall", 10, 0.5), ("rocksdb", 20, 1.0)] {
            let lines = format!("{tail}|{us}\n{disk}|{bytes}\n");
            assert_eq!(report.take(engine, &lines), Ok(Taken::Measured));
        }
        let verdict = |line: &str| {
            let (name, unit) = line.split_once('|').unwrap();
            report.verdict(&(name.to_string(), unit.to_string())).unwrap()
        };
        assert_eq!(verdict(tail), "at most 1 x: reached");
        assert_eq!(verdict(disk), "at most 1.15 x of rocksdb: reached");
    }

    #[test]
    fn skipped_engine_and_notes_are_printed_once() {
        let mut report = Report::default();
        for _ in 0..2 {
            assert_eq!(report.take("fjall", "skip|no zstd\n"), Ok(Taken::Skipped));
            let lines = "note|cold\nput|ops/s|1\n";
            assert_eq!(report.take(OURS, lines), Ok(Taken::Measured));
        }
        let text = report.to_string();
        assert_eq!(text.matches("fjall is skipped: no zstd").count(), 1, "{text}");
        assert_eq!(text.matches("cold").count(), 1, "{text}");
        assert!(text.contains("| put | ops/s | 1.00 (1.00-1.00) | - |"), "{text}");
    }

    #[test]
    fn invalid_measurement_line_is_rejected() {
        assert!(Report::default().take("fjall", "panicked at\n").is_err());
        assert!(Report::default().take("fjall", "put|ops/s|fast\n").is_err());
    }
}
