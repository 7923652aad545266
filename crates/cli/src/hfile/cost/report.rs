//! Costs of families as a table, or as JSON.

use std::io::Write;

use halite::{TableName, to_string_binary};
use halite_types::BloomType;
use serde_json::{Value, json};

use super::measure::Measurement;
use super::recommend::name;
use super::{CostSettings, FamilyCost};
use crate::text_table::{TextTable, size};

/// Prints the costs of families of a table, or of a file.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub(super) fn write(
    out: &mut impl Write,
    costs: &[FamilyCost],
    table: Option<&TableName>,
    settings: CostSettings,
) -> anyhow::Result<()> {
    if settings.json {
        let families: Vec<Value> = costs.iter().map(as_json).collect();
        let all = json!({ "table": table.map(ToString::to_string), "families": families });
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    for (at, cost) in costs.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_family(out, cost, table, settings.rounds)?;
    }
    let slack = settings.slack * 100.0;
    let legend = [
        "* current, > recommended".to_owned(),
        "B/cell: data, index and bloom filters on disk; index: the last two of it".to_owned(),
        "MB/s: bytes of plain cells per second of one processor".to_owned(),
        "seek: a get whose block is in no cache, without the disk".to_owned(),
        format!("+-: variation of the seek between {} rounds", settings.rounds),
        format!(
            "recommended: the cheapest seek within {slack:.0} % of the fewest bytes; see \
             docs/bulkload.md"
        ),
    ];
    writeln!(out)?;
    legend.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}

fn write_family(
    out: &mut impl Write,
    cost: &FamilyCost,
    table: Option<&TableName>,
    rounds: usize,
) -> anyhow::Result<()> {
    let family = to_string_binary(&cost.family);
    writeln!(
        out,
        "family {family}: {}; blocks of {}, bloom filter {}\n",
        cost.origin,
        size(cost.options.block_bytes as u64),
        bloom_name(cost.options.bloom)
    )?;
    let now = cost.measurements.iter().find(|one| is(one, cost.current));
    let mut lines = TextTable::new(&[
        "",
        "encoding",
        "codec",
        ">B/cell",
        ">index",
        ">of now",
        ">encode MB/s",
        ">scan MB/s",
        ">seek us",
        ">+-",
    ]);
    for one in &cost.measurements {
        let mark = match (is(one, cost.current), is(one, Some(cost.recommendation.choice))) {
            (true, true) => "*>",
            (true, false) => "*",
            (false, true) => " >",
            (false, false) => "",
        };
        let of_now = now.map_or_else(String::new, |now| {
            let part = one.sizes.bytes_per_cell() / now.sizes.bytes_per_cell();
            format!("{:.0} %", part * 100.0)
        });
        lines.row([
            mark.to_owned(),
            one.encoding.name().to_owned(),
            one.codec.name().to_owned(),
            format!("{:.2}", one.sizes.bytes_per_cell()),
            format!("{:.2}", one.sizes.index_bytes_per_cell()),
            of_now,
            format!("{:.0}", one.encode.megabytes_per_second(one.sizes.plain_bytes)),
            format!("{:.0}", one.scan.megabytes_per_second(one.sizes.plain_bytes)),
            format!("{:.1}", one.seek.median_ns / 1e3),
            if rounds > 1 { format!("{:.0} %", one.seek.noise * 100.0) } else { "-".to_owned() },
        ]);
    }
    lines.lines().try_for_each(|line| writeln!(out, "{line}"))?;
    write_recommendation(out, cost, table, &family)
}

fn write_recommendation(
    out: &mut impl Write,
    cost: &FamilyCost,
    table: Option<&TableName>,
    family: &str,
) -> anyhow::Result<()> {
    let found = &cost.recommendation;
    let (encoding, codec) = found.choice;
    let verb = if cost.current == Some(found.choice) { "keep" } else { "recommended:" };
    writeln!(out, "\n{verb} {}, certainty {}", name(found.choice), found.certainty.name())?;
    found.reasons.iter().try_for_each(|reason| writeln!(out, "  {reason}"))?;
    found.doubts.iter().try_for_each(|doubt| writeln!(out, "  against it: {doubt}"))?;
    if let Some(table) = table.filter(|_| cost.current != Some(found.choice)) {
        writeln!(
            out,
            "  alter '{table}', {{NAME => '{family}', DATA_BLOCK_ENCODING => '{}', COMPRESSION => \
             '{}'}}",
            encoding.name(),
            codec.name()
        )?;
    }
    Ok(())
}

fn is(one: &Measurement, combination: Option<super::Combination>) -> bool {
    combination == Some((one.encoding, one.codec))
}

fn bloom_name(bloom: BloomType) -> String {
    match bloom {
        BloomType::None => "NONE".to_owned(),
        BloomType::Row => "ROW".to_owned(),
        BloomType::RowCol => "ROWCOL".to_owned(),
        BloomType::RowPrefix(bytes) => format!("of row prefixes of {bytes} bytes"),
    }
}

fn as_json(cost: &FamilyCost) -> Value {
    let pair = |(encoding, codec): super::Combination| json!({ "encoding": encoding.name(), "codec": codec.name() });
    let row = |one: &Measurement| {
        json!({
            "encoding": one.encoding.name(),
            "codec": one.codec.name(),
            "bytes_per_cell": one.sizes.bytes_per_cell(),
            "data_bytes_per_cell": one.sizes.data_bytes_per_cell(),
            "index_bytes_per_cell": one.sizes.index_bytes_per_cell(),
            "encode_mb_per_s": one.encode.megabytes_per_second(one.sizes.plain_bytes),
            "scan_mb_per_s": one.scan.megabytes_per_second(one.sizes.plain_bytes),
            "seek_us": one.seek.median_ns / 1e3,
            "seek_noise": one.seek.noise,
        })
    };
    let found = &cost.recommendation;
    let plain = cost.measurements.first().map(|one| one.sizes.plain_bytes_per_cell());
    json!({
        "family": to_string_binary(&cost.family),
        "sample": cost.origin,
        "sample_bytes": cost.evidence.sample_bytes,
        "plain_bytes_per_cell": plain,
        "current": cost.current.map(pair),
        "measurements": cost.measurements.iter().map(row).collect::<Vec<_>>(),
        "recommended": pair(found.choice),
        "certainty": found.certainty.name(),
        "reasons": found.reasons,
        "against": found.doubts,
    })
}
