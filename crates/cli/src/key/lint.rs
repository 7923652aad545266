//! `halite key lint`: collects the input of lint, and prints findings as text, JSON and SARIF.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use halite::TableName;
use halite::rowkey::LanguageError;
use halite::rowkey::language::{
    Span, Statement, Suppression, begins_with_key, located_key, located_statements,
};
use halite_rowkey_tools::lint::{
    Finding, KeySample, LintInput, LoadEstimate, RULES, Rule, Severity, find_rule, lint,
    lint_declaration, lint_structs, report, unfinished_struct,
};
use halite_types::suggest::{closest_match, did_you_mean};
use serde_json::{Value, json};

use super::cell_sample;
use super::key_spec::table_declaration;
use super::sampling::sample_table;
use crate::backend::BackendArgs;
use crate::key::arguments::ExpectedLoadArgs;

/// Keys sampled per table.
const SAMPLED_ROWS: usize = 20_000;

/// Output format of findings.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum LintFormat {
    /// Human-readable text
    Text,
    /// JSON array with one object per finding
    Json,
    /// SARIF 2.1.0, for code review tools
    Sarif,
}

/// Minimum severity that causes exit status 1.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Note,
}

/// Prints the page of a rule.
pub(crate) fn explain_rule(id: &str) -> anyhow::Result<ExitCode> {
    let Some(rule) = find_rule(&id.to_ascii_uppercase()) else {
        let near = closest_match(&id.to_ascii_uppercase(), RULES.iter().map(|rule| rule.id));
        let hint = near.map_or_else(
            || "docs/lint/README.md has all of them".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        return Err(anyhow!("there is no rule {id}; {hint}"));
    };
    write!(std::io::stdout(), "{}", rule.page)?;
    Ok(ExitCode::SUCCESS)
}

/// Source of findings: a part of a file, or a table.
struct LintSource {
    /// Name in reports.
    name: String,
    /// File and the lines of its parts; `None` for a table.
    file: Option<String>,
    /// First line, and the lines of the key segments where known.
    line: usize,
    segment_lines: Vec<usize>,
}

impl LintSource {
    fn line_for(&self, finding: &Finding) -> usize {
        finding.segment.and_then(|at| self.segment_lines.get(at)).copied().unwrap_or(self.line)
    }
}

type SourceFindings = (LintSource, Vec<Finding>);

/// Checks the statements of a file, or the structs that a Java source builds.
pub(crate) fn lint_file(
    file: &Path,
    format: LintFormat,
    fail_on: FailOn,
    load: ExpectedLoadArgs,
) -> anyhow::Result<ExitCode> {
    let text = read(file)?;
    let shown = |error: LanguageError| {
        anyhow!("{} cannot be read\n{}", file.display(), error.render(&text))
    };
    let found = if file.extension().is_some_and(|extension| extension == "java") {
        if let Some(line) = unfinished_struct(&text) {
            bail!(
                "{}, line {line}: the statement that builds a Struct is not finished, the file \
                 ends within it; give the whole source",
                file.display()
            );
        }
        lint_java(file, &text)
    } else if begins_with_key(&text) {
        lint_key(file, &text, load).map_err(shown)?
    } else {
        lint_statements(file, &text, load).map_err(shown)?
    };
    if found.is_empty() {
        bail!(
            "{} has nothing to look at: lint reads CREATE TABLE, ALTER TABLE .. ADOPT, one ROW \
             KEY, or Java that builds a Struct",
            file.display()
        );
    }
    print_findings(&found, format, fail_on)
}

fn lint_java(file: &Path, text: &str) -> Vec<SourceFindings> {
    let name = file.display().to_string();
    let structs = lint_structs(text).into_iter();
    structs
        .map(|(line, found)| {
            (
                LintSource {
                    name: name.clone(),
                    file: Some(name.clone()),
                    line,
                    segment_lines: Vec::new(),
                },
                found,
            )
        })
        .collect()
}

fn lint_key(
    file: &Path,
    text: &str,
    load: ExpectedLoadArgs,
) -> Result<Vec<SourceFindings>, LanguageError> {
    let (key, segments, suppressions) = located_key(text)?;
    let name = file.display().to_string();
    let line =
        |span: &Span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1;
    let segment_lines: Vec<usize> = segments.iter().map(line).collect();
    let source = LintSource {
        name: name.clone(),
        file: Some(name),
        line: segment_lines.first().copied().unwrap_or(1),
        segment_lines,
    };
    let findings = lint(&LintInput { key: Some(&key), load: load.into(), ..LintInput::default() });
    Ok(vec![(source, allowed(findings, &suppressions, text))])
}

fn lint_statements(
    file: &Path,
    text: &str,
    load: ExpectedLoadArgs,
) -> Result<Vec<SourceFindings>, LanguageError> {
    let mut found = Vec::new();
    for located in located_statements(text)? {
        let known = LintInput { load: load.into(), ..LintInput::default() };
        let (table, key, findings) = match &located.statement {
            Statement::CreateTable(table) => {
                (table.descriptor.name(), &table.key, lint_declaration(table, &known))
            }
            Statement::Adopt { table, key, .. } => {
                (table, key, lint(&LintInput { key: Some(key), ..known }))
            }
            Statement::AlterSalt { .. } | Statement::ShowCreateTable(_) | Statement::Schema(_) => {
                continue;
            }
        };
        let source = LintSource {
            name: format!("{}, table {table}", file.display()),
            file: Some(file.display().to_string()),
            line: located.line(text, None),
            segment_lines: (0..key.segments().len())
                .map(|at| located.line(text, Some(at)))
                .collect(),
        };
        found.push((source, allowed(findings, &located.suppressions, text)));
    }
    Ok(found)
}

/// Returns the findings that no comment suppresses. Reports suppressions of unknown rules, because
/// they have no effect.
fn allowed(mut findings: Vec<Finding>, suppressions: &[Suppression], text: &str) -> Vec<Finding> {
    for unknown in suppressions.iter().filter(|suppression| find_rule(&suppression.rule).is_none())
    {
        let line = text.bytes().take(unknown.span.start).filter(|byte| *byte == b'\n').count() + 1;
        let near = did_you_mean(closest_match(
            &unknown.rule.to_ascii_uppercase(),
            RULES.iter().map(|rule| rule.id),
        ));
        // A failed write of this warning does not affect the findings.
        let _ = writeln!(
            std::io::stderr(),
            "line {line}: lint:allow {}: there is no such rule{near}, so nothing is allowed",
            unknown.rule
        );
    }
    findings.retain(|finding| {
        !suppressions.iter().any(|suppression| suppression.rule == finding.rule.id)
    });
    findings
}

fn read(file: &Path) -> anyhow::Result<String> {
    if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("file {}", file.display()))
}

/// Checks a table: its declaration, its families, keys sampled from all regions, and the cells of
/// some rows.
pub(crate) fn lint_table(
    name: &TableName,
    place: &BackendArgs,
    format: LintFormat,
    fail_on: FailOn,
    load: ExpectedLoadArgs,
) -> anyhow::Result<ExitCode> {
    let place = place.open_existing()?;
    let table = place.table(name)?;
    let descriptor = table.descriptor()?;
    let declared = table_declaration(&descriptor)?;
    // The first rows of a region contain few values of the leading field, unlike the other rows.
    let (sampled, regions) = sample_table(&place.cluster().table(name), SAMPLED_ROWS)?;
    let cells = cell_sample::read(&table, &regions)?;
    let is_here = place.store().is_some();
    place.close()?;
    let sample = KeySample { keys: sampled.keys, is_in_arrival_order: false };
    let starts: Vec<_> = regions
        .iter()
        .map(|region| region.start.clone())
        .filter(|start| !start.is_empty())
        .collect();
    let mut load = LoadEstimate::from(load);
    load.servers = load.servers.or(is_here.then_some(1));
    let known = LintInput {
        sample: Some(&sample),
        cells: Some(&cells),
        splits: Some(&starts),
        load,
        ..LintInput::default()
    };
    let findings = match &declared {
        Some(declared) => lint_declaration(declared, &known),
        None => lint(&LintInput { table: Some(&descriptor), ..known }),
    };
    let source = LintSource {
        name: format!("table {name}"),
        file: None,
        line: 0,
        segment_lines: Vec::new(),
    };
    print_findings(&[(source, findings)], format, fail_on)
}

impl From<ExpectedLoadArgs> for LoadEstimate {
    fn from(load: ExpectedLoadArgs) -> Self {
        Self { rows: load.rows, writes_per_second: load.writes_per_second, servers: load.servers }
    }
}

fn print_findings(
    found: &[SourceFindings],
    format: LintFormat,
    fail_on: FailOn,
) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match format {
        LintFormat::Text => found
            .iter()
            .try_for_each(|(source, findings)| write!(out, "{}", report(findings, &source.name)))?,
        LintFormat::Json => {
            let all: Vec<_> = found
                .iter()
                .flat_map(|(source, findings)| {
                    findings.iter().map(move |finding| as_json(source, finding))
                })
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        LintFormat::Sarif => writeln!(out, "{}", serde_json::to_string_pretty(&as_sarif(found))?)?,
    }
    let least = match fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Note => Severity::Note,
    };
    let fails =
        found.iter().flat_map(|(_, findings)| findings).any(|finding| finding.severity >= least);
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn as_json(source: &LintSource, finding: &Finding) -> Value {
    json!({
        "source": source.name,
        "line": source.file.as_ref().map(|_| source.line_for(finding)),
        "rule": finding.rule.id,
        "severity": finding.severity.name(),
        "segment": finding.segment.map(|at| at + 1),
        "summary": finding.rule.summary,
        "message": finding.message,
        "evidence": finding.evidence,
        "fix": finding.fix,
    })
}

/// Formats findings as SARIF 2.1.0 (OASIS), limited to the parts needed for findings on lines of
/// files and on tables.
fn as_sarif(found: &[SourceFindings]) -> Value {
    let help = |page| json!({ "text": page, "markdown": page });
    let uri = |id| format!("{}/blob/main/docs/lint/{id}.md", env!("CARGO_PKG_REPOSITORY"));
    let rule = |rule: &Rule| json!({ "id": rule.id, "shortDescription": { "text": rule.summary }, "helpUri": uri(rule.id), "help": help(rule.page) });
    let rules: Vec<_> = RULES.iter().map(rule).collect();
    let location = |source: &LintSource, finding: &Finding| {
        let mut location = json!({ "logicalLocations": [{ "name": source.name }] });
        if let Some(file) = &source.file {
            location["physicalLocation"] = json!({ "artifactLocation": { "uri": file }, "region": { "startLine": source.line_for(finding) } });
        }
        location
    };
    let result = |source: &LintSource, finding: &Finding| {
        let results: Vec<_> =
            [Some(&finding.message), finding.evidence.as_ref(), finding.fix.as_ref()]
                .into_iter()
                .flatten()
                .cloned()
                .collect();
        json!({
            "ruleId": finding.rule.id,
            "level": finding.severity.name(),
            "message": { "text": results.join("\n") },
            "locations": [location(source, finding)],
        })
    };
    let results: Vec<_> = found
        .iter()
        .flat_map(|(source, findings)| findings.iter().map(move |finding| result(source, finding)))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": { "name": "halite key lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules } }, "results": results }],
    })
}
