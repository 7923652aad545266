//! Simulation report: a table with one column per design, character graphics, and JSON.

use std::io::Write as _;

use halite::to_string_binary;
use halite_rowkey_tools::picture::{Picture, TerminalStyle, terminal_panel, terminal_scale};
use halite_rowkey_tools::simulate::{SimulateOptions, Simulation, Skew};
use serde_json::{Value, json};

use super::simulate::SimulatedDesign;
use crate::text_table::{TextTable, grouped};

/// Column headings. Statistics of further designs appear only in JSON.
const NAMES: [&str; 9] = ["", ">A", ">B", ">C", ">D", ">E", ">F", ">G", ">H"];
/// Minimum number of windows for which the median window is reported, and the number that is
/// suggested.
const MIN_WINDOWS: usize = 4;
const SUGGESTED_WINDOWS: u64 = 16;
/// Maximum printed characters of a key.
const MAX_KEY_CHARS: usize = 32;

/// What a report is about.
pub(super) struct Report<'r> {
    pub(super) planned: &'r [SimulatedDesign],
    pub(super) found: &'r [Simulation],
    /// Description of the traffic.
    pub(super) traffic: &'r [String],
}

/// Prints the statistics side by side, a verdict for each design, and their panels of the picture.
pub(super) fn print_text(
    &Report { planned, found, traffic }: &Report<'_>,
    options: &SimulateOptions,
    picture: &Picture,
    style: TerminalStyle,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let shown = &found[..found.len().min(NAMES.len() - 1)];
    for ((one, simulation), name) in planned.iter().zip(shown).zip(&NAMES[1..]) {
        writeln!(
            out,
            "{}  {}\n   split {}",
            name.trim_start_matches('>'),
            simulation.name,
            one.split
        )?;
    }
    if found.len() > shown.len() {
        writeln!(out, "   {} more, which --format json has", found.len() - shown.len())?;
    }
    writeln!(out, "\ntraffic, from seed {}: {}\n", options.seed, traffic.join(", "))?;
    let mut table = TextTable::new(&NAMES[..=shown.len()]);
    for (figure, of) in metrics(options) {
        let entries: Vec<String> = shown.iter().map(of).collect();
        if entries.iter().any(|entry| !entry.is_empty()) {
            table.row(std::iter::once(figure).chain(entries));
        }
    }
    lists(&mut table, shown);
    table.lines().try_for_each(|line| writeln!(out, "{line}"))?;
    let letters = NAMES[1..].iter().map(|name| name.trim_start_matches('>'));
    for ((simulation, panel), letter) in shown.iter().zip(&picture.panels).zip(letters) {
        writeln!(out, "\n{letter}: {}", verdict(simulation))?;
        for doubt in &simulation.uniqueness.doubts {
            writeln!(out, "   rows lost: {doubt}")?;
        }
        let lines = terminal_panel(picture, panel, style);
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    writeln!(out)?;
    terminal_scale(picture, style).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}

type MetricFormatter = fn(&Simulation) -> String;

fn metrics(options: &SimulateOptions) -> Vec<(String, MetricFormatter)> {
    let figure = |name: &str, of: MetricFormatter| (name.to_owned(), of);
    vec![
        figure("writes", |of| grouped(of.writes.operations)),
        figure("keys that are none of this design", |of| {
            if of.misfits == 0 { String::new() } else { grouped(of.misfits) }
        }),
        figure("regions", |of| of.writes.regions().to_string()),
        figure("busiest region over the mean, all writes", |of| {
            format!("{:.2}", of.writes.max_over_mean)
        }),
        (
            format!("  in a window of {} writes: median, p99", grouped(options.window as u64)),
            |of| windows(&of.writes),
        ),
        (format!("  in a window of {} ms: median, p99", options.window_ms), |of| {
            windows(&of.writes_by_time)
        }),
        figure("  reads: all, window median, p99", |of| {
            of.reads.as_ref().map_or_else(String::new, |reads| {
                format!("{:.2}, {}", reads.max_over_mean, windows(reads))
            })
        }),
        figure("regions in use at a time", |of| {
            format!("{:.1}", of.writes.window_effective_regions)
        }),
        figure("regions without writes", |of| of.writes.empty_regions.to_string()),
        figure("Gini of regions, all writes", |of| format!("{:.2}", of.writes.gini)),
        figure("greatest region over the mean, rows at the end", |of| {
            format!("{:.2}", of.rows_max_over_mean)
        }),
        figure("new keys greater than 99 % of the existing ones", |of| {
            if_new_keys(of, || format!("{:.0} %", of.insert_pattern.in_last_percent * 100.0))
        }),
        figure("places where keys grow", |of| {
            if_new_keys(of, || format!("{:.0}", of.insert_pattern.insert_points))
        }),
        figure("correlation of arrival and key", |of| {
            format!("{:.2}", of.insert_pattern.correlation)
        }),
        figure("busiest row, of all operations", |of| {
            format!("{:.2} %", of.hot_rows.top_share * 100.0)
        }),
        figure("busiest first field, of all operations", |of| {
            format!("{:.2} %", of.hot_prefixes.top_share * 100.0)
        }),
        figure("rows of a first field: median, p99, most", |of| {
            let rows = &of.partitions;
            format!(
                "{}, {}, {}",
                grouped(rows.median_rows),
                grouped(rows.p99_rows),
                grouped(rows.max_rows)
            )
        }),
        figure("rows that were written again", |of| {
            grouped(of.uniqueness.writes - of.uniqueness.rows)
        }),
        figure("rows lost in a second: counted", |of| {
            of.uniqueness
                .lost_per_second
                .map_or_else(String::new, |_| format!("{:.2}", of.uniqueness.counted_per_second))
        }),
        figure("  expected at random times, within", |of| {
            of.uniqueness.lost_per_second.map_or_else(String::new, |lost| {
                format!("{lost:.2}, {:.2}", of.uniqueness.lost_bound)
            })
        }),
    ]
}

/// Formats a statistic of new keys, or an empty text if there were none.
fn if_new_keys(simulation: &Simulation, figure: impl FnOnce() -> String) -> String {
    if simulation.insert_pattern.new == 0 { String::new() } else { figure() }
}

fn windows(skew: &Skew) -> String {
    format!("{:.2}, {:.2}", skew.window_median, skew.window_p99)
}

/// Adds statistics with several values per design: fields, salts, digests, queries.
fn lists(table: &mut TextTable, shown: &[Simulation]) {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (at, simulation) in shown.iter().enumerate() {
        for (name, entry) in listed(simulation) {
            let known = rows.iter().position(|(known, _)| *known == name);
            let place = known.unwrap_or_else(|| {
                rows.push((name, vec![String::new(); shown.len()]));
                rows.len() - 1
            });
            rows[place].1[at] = entry;
        }
    }
    rows.into_iter().for_each(|(name, entries)| table.row(std::iter::once(name).chain(entries)));
}

fn listed(simulation: &Simulation) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for field in &simulation.cardinalities {
        let least = if field.is_lower_bound { "at least " } else { "" };
        rows.push((
            format!("values of {}", field.field),
            format!("{least}{}", grouped(field.distinct as u64)),
        ));
    }
    for spread in &simulation.spreads {
        rows.push((
            format!("places that segment {} can spread to", spread.segment + 1),
            format!("{} of {}", grouped(spread.places), grouped(spread.of)),
        ));
    }
    for digest in &simulation.uniqueness.digests {
        let least = if digest.is_lower_bound { "at least " } else { "" };
        rows.push((
            format!("values that share the digest of segment {}", digest.segment + 1),
            format!("{least}{:.3} expected", digest.expected),
        ));
    }
    for query in &simulation.queries {
        let all = if query.reads_all { ", full" } else { "" };
        let cost = match &query.error {
            Some(why) => format!("cannot be asked: {why}"),
            None => {
                format!("{}, {}{all}", grouped(query.ranges as u64), grouped(query.regions as u64))
            }
        };
        rows.push((format!("query {}: ranges, regions", query.name), cost));
    }
    rows
}

/// Returns a verdict in one sentence.
#[expect(clippy::cast_precision_loss, reason = "a number of regions")]
fn verdict(simulation: &Simulation) -> String {
    let (skew, regions) = (&simulation.writes, simulation.writes.regions() as f64);
    let hot = simulation.hot_prefixes.top.first().filter(|_| {
        simulation.hot_prefixes.top_share > 2.0 / regions && simulation.hot_prefixes.distinct > 1
    });
    if regions >= 2.0 && skew.windows < MIN_WINDOWS {
        return format!(
            "{} writes make {} window(s), too few to tell what each moment is like; take more \
             --operations, or a --window-operations of at most {}",
            grouped(skew.operations),
            skew.windows,
            grouped((skew.operations / SUGGESTED_WINDOWS).max(1))
        );
    }
    let at_once = format!("{:.1} of {regions} regions at a time", skew.window_effective_regions);
    match (skew.window_median, hot) {
        (window, _) if regions < 2.0 => {
            format!("one region does everything ({window:.0}); split it")
        }
        (_, Some((prefix, _)))
            if skew.window_median >= 2.0
                && (simulation.insert_pattern.new == 0
                    || simulation.insert_pattern.in_last_percent < 0.9) =>
        {
            let prefix: String = to_string_binary(prefix).chars().take(MAX_KEY_CHARS).collect();
            format!(
                "{prefix} alone has {:.0} % of the operations: no split divides it (writes use \
                 {at_once})",
                simulation.hot_prefixes.top_share * 100.0
            )
        }
        (window, _) if window >= regions / 2.0 && skew.max_over_mean < 2.0 => {
            format!(
                "even as a whole, and one region does the work of every moment: writes use \
                 {at_once}"
            )
        }
        (window, _) if window >= 2.0 => format!(
            "uneven: the busiest region has {window:.1} times the mean, writes use {at_once}"
        ),
        _ => format!("even: writes use {at_once}"),
    }
}

/// Prints all statistics as one JSON object.
pub(super) fn print_json(
    planned: &[SimulatedDesign],
    found: &[Simulation],
    traffic: &[String],
    options: &SimulateOptions,
) -> anyhow::Result<()> {
    let designs: Vec<Value> =
        planned.iter().zip(found).map(|(one, simulation)| design(one, simulation)).collect();
    let all = json!({
        "seed": options.seed, "window_operations": options.window, "window_ms": options.window_ms, "traffic": traffic, "designs": designs,
    });
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&all)?)?;
    Ok(())
}

fn skew(skew: &Skew) -> Value {
    json!({
        "operations": skew.operations,
        "counts": skew.counts,
        "max_over_mean": skew.max_over_mean,
        "gini": skew.gini,
        "empty_regions": skew.empty_regions,
        "effective_regions": skew.effective_regions,
        "windows": skew.windows,
        "window_mean": skew.window_mean,
        "window_median": skew.window_median,
        "window_p99": skew.window_p99,
        "window_effective_regions": skew.window_effective_regions,
    })
}

fn design(one: &SimulatedDesign, of: &Simulation) -> Value {
    let hot = |hot: &[(halite::Bytes, u64)]| {
        hot.iter()
            .map(|(key, count)| json!({ "key": to_string_binary(key), "operations": count }))
            .collect::<Vec<_>>()
    };
    json!({
        "row_key": of.key,
        "misfits": of.misfits,
        "split": one.split,
        "boundaries": of.boundaries.iter().map(|boundary| to_string_binary(boundary)).collect::<Vec<_>>(),
        "verdict": verdict(of),
        "shape": of.panel.verdict.as_ref().map(|found| found.shape.name()),
        "confidence": of.panel.verdict.as_ref().map(|found| found.confidence),
        "writes": skew(&of.writes),
        "writes_by_time": skew(&of.writes_by_time),
        "reads": of.reads.as_ref().map(skew),
        "rows_max_over_mean": of.rows_max_over_mean,
        "insert_pattern": {
            "writes": of.insert_pattern.writes, "new": of.insert_pattern.new, "in_last_percent": of.insert_pattern.in_last_percent, "in_first_percent": of.insert_pattern.in_first_percent,
            "insert_points": of.insert_pattern.insert_points, "correlation": of.insert_pattern.correlation,
        },
        "hot_rows": hot(&of.hot_rows.top),
        "hot_first_fields": hot(&of.hot_prefixes.top),
        "cardinalities": of.cardinalities.iter().map(|field| json!({ "field": field.field, "distinct": field.distinct, "is_lower_bound": field.is_lower_bound })).collect::<Vec<_>>(),
        "spreads": of.spreads.iter().map(|spread| json!({ "segment": spread.segment + 1, "places": spread.places, "of": spread.of })).collect::<Vec<_>>(),
        "partitions": {
            "count": of.partitions.count, "median_rows": of.partitions.median_rows, "p99_rows": of.partitions.p99_rows,
            "max_rows": of.partitions.max_rows, "max_key_bytes": of.partitions.max_key_bytes, "max_share": of.partitions.max_share,
        },
        "uniqueness": {
            "writes": of.uniqueness.writes, "rows": of.uniqueness.rows, "writes_per_second": of.uniqueness.writes_per_second,
            "lost_per_second": of.uniqueness.lost_per_second, "lost_bound": of.uniqueness.lost_bound,
            "counted_per_second": of.uniqueness.counted_per_second, "doubts": of.uniqueness.doubts,
            "digests": of.uniqueness.digests.iter().map(|digest| json!({ "segment": digest.segment + 1, "bits": digest.bits, "values": digest.values, "is_lower_bound": digest.is_lower_bound, "expected_pairs": digest.expected })).collect::<Vec<_>>(),
        },
        "queries": of.queries.iter().map(|query| json!({ "name": query.name, "weight": query.weight, "ranges": query.ranges, "regions": query.regions, "reads_all": query.reads_all, "error": query.error })).collect::<Vec<_>>(),
    })
}
