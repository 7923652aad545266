//! `halite key lint`: what is looked at, and findings as text, JSON and SARIF.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use halite::TableName;
use halite::rowkey::language::{Statement, statements};
use halite::rowkey::lint::{Finding, RULES, Rule, Severity, Subject, find_rule, lint, lint_declaration, lint_struct, report};
use halite::rowkey::{KeySchema, LanguageError};
use halite_types::nearest::nearest;
use serde_json::{Value, json};

use super::declared::declared_by;
use super::sample;
use crate::place::PlaceFlags;

/// How findings are written.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// An array with an object for each finding
    Json,
    /// SARIF 2.1.0, which code review tools read
    Sarif,
}

/// From how bad a finding on the command ends with 1.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Note,
}

/// Prints the page of a rule.
pub(crate) fn explain_rule(id: &str) -> anyhow::Result<ExitCode> {
    let Some(rule) = find_rule(&id.to_ascii_uppercase()) else {
        let near = nearest(&id.to_ascii_uppercase(), RULES.iter().map(|rule| rule.id));
        let hint = near.map_or_else(|| "docs/lint/README.md has all of them".to_owned(), |near| format!("did you mean {near}?"));
        return Err(anyhow!("there is no rule {id}; {hint}"));
    };
    write!(std::io::stdout(), "{}", rule.page)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks at the statements of a file, or at the structs that a Java source builds.
pub(crate) fn lint_file(file: &Path, format: ReportFormat, fail_on: FailOn) -> anyhow::Result<ExitCode> {
    let text = read(file)?;
    let shown = |error: LanguageError| anyhow!("{} cannot be read\n{}", file.display(), error.render(&text));
    let mut found = Vec::new();
    let first = text.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with("--"));
    if file.extension().is_some_and(|extension| extension == "java") {
        found.push((file.display().to_string(), lint_struct(&text)));
    } else if first.and_then(|line| line.get(..7)).is_some_and(|begin| begin.eq_ignore_ascii_case("ROW KEY")) {
        let key: KeySchema = text.parse().map_err(shown)?;
        found.push((file.display().to_string(), lint(&Subject { key: Some(&key), ..Subject::default() })));
    } else {
        for statement in statements(&text).map_err(shown)? {
            match statement {
                Statement::CreateTable(table) => {
                    found.push((format!("{}, table {}", file.display(), table.descriptor.name()), lint_declaration(&table, &Subject::default())));
                }
                Statement::Adopt { table, key } => {
                    found.push((format!("{}, table {table}", file.display()), lint(&Subject { key: Some(&key), ..Subject::default() })));
                }
                Statement::AlterSalt { .. } | Statement::ShowCreateTable(_) => {}
            }
        }
    }
    tell(&found, format, fail_on)
}

fn read(file: &Path) -> anyhow::Result<String> {
    if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("file {}", file.display()))
}

/// Looks at a table: what it declares, its families, and some of its rows.
pub(crate) fn lint_table(name: &TableName, place: &PlaceFlags, format: ReportFormat, fail_on: FailOn) -> anyhow::Result<ExitCode> {
    let place = place.open()?;
    let table = place.table(&name.to_string())?;
    let descriptor = table.descriptor()?;
    let declared = declared_by(&descriptor)?;
    let regions = table.regions()?;
    let (sample, cells) = sample::read(&table, &regions)?;
    place.close()?;
    let starts: Vec<_> = regions.iter().map(|region| region.start.clone()).filter(|start| !start.is_empty()).collect();
    let known = Subject { sample: Some(&sample), cells: Some(&cells), splits: Some(&starts), ..Subject::default() };
    let findings = match &declared {
        Some(declared) => lint_declaration(declared, &known),
        None => lint(&Subject { table: Some(&descriptor), ..known }),
    };
    tell(&[(format!("table {name}"), findings)], format, fail_on)
}

fn tell(found: &[(String, Vec<Finding>)], format: ReportFormat, fail_on: FailOn) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match format {
        ReportFormat::Text => found.iter().try_for_each(|(source, findings)| write!(out, "{}", report(findings, source)))?,
        ReportFormat::Json => {
            let all: Vec<_> = found.iter().flat_map(|(source, findings)| findings.iter().map(move |finding| as_json(source, finding))).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        ReportFormat::Sarif => writeln!(out, "{}", serde_json::to_string_pretty(&as_sarif(found))?)?,
    }
    let least = match fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Note => Severity::Note,
    };
    let fails = found.iter().flat_map(|(_, findings)| findings).any(|finding| finding.severity >= least);
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn as_json(source: &str, finding: &Finding) -> Value {
    json!({
        "source": source,
        "rule": finding.rule.id,
        "severity": finding.severity.name(),
        "segment": finding.segment.map(|at| at + 1),
        "summary": finding.rule.summary,
        "message": finding.message,
        "evidence": finding.evidence,
        "fix": finding.fix,
    })
}

/// SARIF 2.1.0 (OASIS), as far as findings without lines need it.
fn as_sarif(found: &[(String, Vec<Finding>)]) -> Value {
    let help = |page| json!({ "text": page, "markdown": page });
    let uri = |id| format!("{}/blob/main/docs/lint/{id}.md", env!("CARGO_PKG_REPOSITORY"));
    let rule = |rule: &Rule| json!({ "id": rule.id, "shortDescription": { "text": rule.summary }, "helpUri": uri(rule.id), "help": help(rule.page) });
    let rules: Vec<_> = RULES.iter().map(rule).collect();
    let result = |source: &str, finding: &Finding| {
        let said: Vec<_> = [Some(&finding.message), finding.evidence.as_ref(), finding.fix.as_ref()].into_iter().flatten().cloned().collect();
        json!({
            "ruleId": finding.rule.id,
            "level": finding.severity.name(),
            "message": { "text": said.join("\n") },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": source.split(", table ").next() } }, "logicalLocations": [{ "name": source }] }],
        })
    };
    let results: Vec<_> = found.iter().flat_map(|(source, findings)| findings.iter().map(move |finding| result(source, finding))).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": { "name": "halite key lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules } }, "results": results }],
    })
}
