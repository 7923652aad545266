//! `halite key infer`: the inferred structure of sampled keys, human-readable or as JSON.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use halite::{TableName, to_string_binary};
use halite_rowkey_tools::infer::{InferOptions, Inference, Inferred, infer};
use halite_rowkey_tools::lint::Finding;
use serde_json::{Value, json};

use super::sampling::{SampledKeys, keys_from_file, sample_named_table};
use crate::backend::BackendArgs;
use crate::text_table::{TextTable, grouped};

/// Maximum printed bytes of a key.
const MAX_PRINTED_KEY_BYTES: usize = 80;

/// Output format.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// Human-readable text
    Text,
    /// One JSON object
    Json,
}

/// Infers the structure of the keys in a file.
pub(crate) fn infer_file(file: &Path, keys: u32, format: OutputFormat) -> anyhow::Result<ExitCode> {
    let sampled = keys_from_file(file)?;
    // The table name is a placeholder; the operator changes it in the statement.
    let options = InferOptions { max_keys: keys as usize, ..InferOptions::default() };
    run_inference(
        &sampled,
        &TableName::new("default", "t")?,
        &options,
        &format!("{}", file.display()),
        format,
    )
}

/// Infers the structure of the keys of a table.
pub(crate) fn infer_table(
    table: &TableName,
    place: &BackendArgs,
    keys: u32,
    format: OutputFormat,
) -> anyhow::Result<ExitCode> {
    let (sampled, _) = sample_named_table(table, place, keys as usize)?;
    let options =
        InferOptions { max_keys: keys as usize, from_all_over: true, ..InferOptions::default() };
    run_inference(&sampled, table, &options, &format!("table {table}"), format)
}

fn run_inference(
    sampled: &SampledKeys,
    table: &TableName,
    options: &InferOptions,
    source: &str,
    format: OutputFormat,
) -> anyhow::Result<ExitCode> {
    if sampled.keys.is_empty() {
        bail!("{source} has no keys to look at");
    }
    let now_ms = Some(jiff::Timestamp::now().as_millisecond());
    let inference =
        infer(&sampled.keys, &sampled.times_ms, &InferOptions { now_ms, ..options.clone() });
    match format {
        OutputFormat::Text => print_text(&inference, table, source)?,
        OutputFormat::Json => writeln!(
            std::io::stdout(),
            "{}",
            serde_json::to_string_pretty(&as_json(&inference, table))?
        )?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print_text(inference: &Inference, table: &TableName, source: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let of = if inference.given > inference.keys {
        format!(" of {}", grouped(inference.given as u64))
    } else {
        String::new()
    };
    writeln!(out, "{}{of} keys of {source}\n", grouped(inference.keys as u64))?;
    for (at, candidate) in inference.candidates.iter().enumerate() {
        if at == 1 {
            writeln!(out, "What they may be as well:\n")?;
        }
        for line in lines(candidate, at == 0) {
            writeln!(out, "{line}")?;
        }
        if at == 0 {
            writeln!(out, "\n{};", candidate.statement(table))?;
        }
        writeln!(out)?;
    }
    for Finding { rule, severity, message, evidence, fix, .. } in &inference.findings {
        let more: Vec<_> =
            [evidence, fix].into_iter().flatten().map(|text| format!("  {text}")).collect();
        writeln!(out, "{} {}: {message}", severity.name(), rule.id)?;
        more.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    inference.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    Ok(())
}

/// Formats a candidate; only the best one includes the evidence for each segment.
fn lines(candidate: &Inferred, is_best: bool) -> Vec<String> {
    let mut lines = vec![candidate.schema.to_text()];
    lines.push(format!("confidence {:.0} %", candidate.confidence * 100.0));
    lines.push(format!(
        "explains {} of {} keys, {:.1} %",
        grouped(candidate.explained as u64),
        grouped(candidate.keys as u64),
        candidate.share() * 100.0
    ));
    let doubts: Vec<String> =
        candidate.doubts.iter().map(|doubt| format!("against it: {doubt}")).collect();
    if !is_best {
        lines.extend(doubts);
        return lines;
    }
    let mut table = TextTable::new(&["bytes", "segment", "what speaks for it"]);
    for (at, evidence) in candidate.evidence.iter().enumerate() {
        table.row([
            evidence.place.clone(),
            candidate.schema.segment_text(at),
            evidence.text.clone(),
        ]);
    }
    lines.push(String::new());
    lines.extend(table.lines());
    if !doubts.is_empty() {
        lines.push(String::new());
        lines.extend(doubts);
    }
    if !candidate.counter_examples.is_empty() {
        lines.push(format!(
            "\nnot explained, {} of {}:",
            grouped((candidate.keys - candidate.explained) as u64),
            grouped(candidate.keys as u64)
        ));
        lines.extend(
            candidate
                .counter_examples
                .iter()
                .map(|example| format!("  {}: {}", shortened(&example.key), example.reason)),
        );
    }
    lines.extend(candidate.notes.iter().map(|note| format!("\nNote: {note}")));
    lines
}

fn shortened(key: &[u8]) -> String {
    match key.get(..MAX_PRINTED_KEY_BYTES) {
        Some(begin) if key.len() > MAX_PRINTED_KEY_BYTES => {
            format!("{}... ({} bytes)", to_string_binary(begin), key.len())
        }
        _ => to_string_binary(key),
    }
}

fn as_json(inference: &Inference, table: &TableName) -> Value {
    let candidate = |inferred: &Inferred| {
        let segments = inferred
            .evidence
            .iter()
            .enumerate()
            .map(|(at, evidence)| json!({ "segment": inferred.schema.segment_text(at), "bytes": evidence.place, "evidence": evidence.text }));
        let examples: Vec<_> =
            inferred.counter_examples.iter().map(|example| json!({ "key": to_string_binary(&example.key), "reason": example.reason })).collect();
        json!({
            "row_key": inferred.schema.to_text(),
            "statement": inferred.statement(table),
            "explained": inferred.explained,
            "keys": inferred.keys,
            "share": inferred.share(),
            "confidence": (inferred.confidence * 1000.0).round() / 1000.0,
            "doubts": inferred.doubts,
            "segments": segments.collect::<Vec<_>>(),
            "counter_examples": examples,
            "notes": inferred.notes,
        })
    };
    let finding = |finding: &Finding| json!({ "rule": finding.rule.id, "severity": finding.severity.name(), "message": finding.message, "evidence": finding.evidence, "fix": finding.fix });
    json!({
        "keys": inference.keys,
        "of": inference.given,
        "candidates": inference.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "findings": inference.findings.iter().map(finding).collect::<Vec<_>>(),
        "notes": inference.notes,
    })
}
