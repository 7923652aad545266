//! `halite key lint`: what is looked at, and findings as text, JSON and SARIF.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use halite::TableName;
use halite::rowkey::LanguageError;
use halite::rowkey::language::{Span, Statement, Suppression, begins_with_key, located_key, located_statements};
use halite::rowkey::lint::{
    Finding, Load, RULES, Rule, Sample, Severity, Subject, find_rule, lint, lint_declaration, lint_structs, report, unfinished_struct,
};
use halite_types::nearest::{nearest, suggestion};
use serde_json::{Value, json};

use super::declared::declared_by;
use super::keys::sample_of;
use super::sample;
use crate::cmd::key::ExpectedLoad;
use crate::place::PlaceFlags;

/// Keys that are sampled of a table.
const SAMPLED_ROWS: usize = 20_000;

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

/// What findings are about: a part of a file, or a table.
struct Source {
    /// What it is called in reports.
    name: String,
    /// The file and the lines of its parts; `None` of a table.
    file: Option<String>,
    /// The line it begins on, and those of the segments of its key where they are known.
    line: usize,
    segment_lines: Vec<usize>,
}

impl Source {
    fn line_of(&self, finding: &Finding) -> usize {
        finding.segment.and_then(|at| self.segment_lines.get(at)).copied().unwrap_or(self.line)
    }
}

type Found = (Source, Vec<Finding>);

/// Looks at the statements of a file, or at the structs that a Java source builds.
pub(crate) fn lint_file(file: &Path, format: ReportFormat, fail_on: FailOn, load: ExpectedLoad) -> anyhow::Result<ExitCode> {
    let text = read(file)?;
    let shown = |error: LanguageError| anyhow!("{} cannot be read\n{}", file.display(), error.render(&text));
    let found = if file.extension().is_some_and(|extension| extension == "java") {
        if let Some(line) = unfinished_struct(&text) {
            bail!(
                "{}, line {line}: the statement that builds a Struct is not finished, the file ends within it; give the whole source",
                file.display()
            );
        }
        of_java(file, &text)
    } else if begins_with_key(&text) {
        of_key(file, &text, load).map_err(shown)?
    } else {
        of_statements(file, &text, load).map_err(shown)?
    };
    if found.is_empty() {
        bail!("{} has nothing to look at: lint reads CREATE TABLE, ALTER TABLE .. ADOPT, one ROW KEY, or Java that builds a Struct", file.display());
    }
    tell(&found, format, fail_on)
}

fn of_java(file: &Path, text: &str) -> Vec<Found> {
    let name = file.display().to_string();
    let structs = lint_structs(text).into_iter();
    structs.map(|(line, found)| (Source { name: name.clone(), file: Some(name.clone()), line, segment_lines: Vec::new() }, found)).collect()
}

fn of_key(file: &Path, text: &str, load: ExpectedLoad) -> Result<Vec<Found>, LanguageError> {
    let (key, segments, suppressions) = located_key(text)?;
    let name = file.display().to_string();
    let line = |span: &Span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1;
    let segment_lines: Vec<usize> = segments.iter().map(line).collect();
    let source = Source { name: name.clone(), file: Some(name), line: segment_lines.first().copied().unwrap_or(1), segment_lines };
    let findings = lint(&Subject { key: Some(&key), load: load.into(), ..Subject::default() });
    Ok(vec![(source, allowed(findings, &suppressions, text))])
}

fn of_statements(file: &Path, text: &str, load: ExpectedLoad) -> Result<Vec<Found>, LanguageError> {
    let mut found = Vec::new();
    for located in located_statements(text)? {
        let known = Subject { load: load.into(), ..Subject::default() };
        let (table, key, findings) = match &located.statement {
            Statement::CreateTable(table) => (table.descriptor.name(), &table.key, lint_declaration(table, &known)),
            Statement::Adopt { table, key, .. } => (table, key, lint(&Subject { key: Some(key), ..known })),
            Statement::AlterSalt { .. } | Statement::ShowCreateTable(_) => continue,
        };
        let source = Source {
            name: format!("{}, table {table}", file.display()),
            file: Some(file.display().to_string()),
            line: located.line(text, None),
            segment_lines: (0..key.segments().len()).map(|at| located.line(text, Some(at))).collect(),
        };
        found.push((source, allowed(findings, &located.suppressions, text)));
    }
    Ok(found)
}

/// The findings that no comment allows. A comment that names no rule is told, because it allows nothing.
fn allowed(mut findings: Vec<Finding>, suppressions: &[Suppression], text: &str) -> Vec<Finding> {
    for unknown in suppressions.iter().filter(|suppression| find_rule(&suppression.rule).is_none()) {
        let line = text.bytes().take(unknown.span.start).filter(|byte| *byte == b'\n').count() + 1;
        let near = suggestion(nearest(&unknown.rule.to_ascii_uppercase(), RULES.iter().map(|rule| rule.id)));
        // Whether that can be written makes no difference to what is found.
        let _ = writeln!(std::io::stderr(), "line {line}: lint:allow {}: there is no such rule{near}, so nothing is allowed", unknown.rule);
    }
    findings.retain(|finding| !suppressions.iter().any(|suppression| suppression.rule == finding.rule.id));
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

/// Looks at a table: what it declares, its families, keys from all over it, and the cells of some of its rows.
pub(crate) fn lint_table(
    name: &TableName,
    place: &PlaceFlags,
    format: ReportFormat,
    fail_on: FailOn,
    load: ExpectedLoad,
) -> anyhow::Result<ExitCode> {
    let place = place.open_existing()?;
    let table = place.table(&name.to_string())?;
    let descriptor = table.descriptor()?;
    let declared = declared_by(&descriptor)?;
    // The first rows of a region have few values of what the key begins with, whatever the others have.
    let (sampled, regions) = sample_of(&place.cluster().table(name), SAMPLED_ROWS)?;
    let cells = sample::read(&table, &regions)?;
    let is_here = place.store().is_some();
    place.close()?;
    let sample = Sample { keys: sampled.keys, is_in_arrival_order: false };
    let starts: Vec<_> = regions.iter().map(|region| region.start.clone()).filter(|start| !start.is_empty()).collect();
    let mut load = Load::from(load);
    load.servers = load.servers.or(is_here.then_some(1));
    let known = Subject { sample: Some(&sample), cells: Some(&cells), splits: Some(&starts), load, ..Subject::default() };
    let findings = match &declared {
        Some(declared) => lint_declaration(declared, &known),
        None => lint(&Subject { table: Some(&descriptor), ..known }),
    };
    let source = Source { name: format!("table {name}"), file: None, line: 0, segment_lines: Vec::new() };
    tell(&[(source, findings)], format, fail_on)
}

impl From<ExpectedLoad> for Load {
    fn from(load: ExpectedLoad) -> Self {
        Self { rows: load.rows, writes_per_second: load.writes_per_second, servers: load.servers }
    }
}

fn tell(found: &[Found], format: ReportFormat, fail_on: FailOn) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match format {
        ReportFormat::Text => found.iter().try_for_each(|(source, findings)| write!(out, "{}", report(findings, &source.name)))?,
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

fn as_json(source: &Source, finding: &Finding) -> Value {
    json!({
        "source": source.name,
        "line": source.file.as_ref().map(|_| source.line_of(finding)),
        "rule": finding.rule.id,
        "severity": finding.severity.name(),
        "segment": finding.segment.map(|at| at + 1),
        "summary": finding.rule.summary,
        "message": finding.message,
        "evidence": finding.evidence,
        "fix": finding.fix,
    })
}

/// SARIF 2.1.0 (OASIS), as far as findings on lines of files and on tables need it.
fn as_sarif(found: &[Found]) -> Value {
    let help = |page| json!({ "text": page, "markdown": page });
    let uri = |id| format!("{}/blob/main/docs/lint/{id}.md", env!("CARGO_PKG_REPOSITORY"));
    let rule = |rule: &Rule| json!({ "id": rule.id, "shortDescription": { "text": rule.summary }, "helpUri": uri(rule.id), "help": help(rule.page) });
    let rules: Vec<_> = RULES.iter().map(rule).collect();
    let location = |source: &Source, finding: &Finding| {
        let mut location = json!({ "logicalLocations": [{ "name": source.name }] });
        if let Some(file) = &source.file {
            location["physicalLocation"] = json!({ "artifactLocation": { "uri": file }, "region": { "startLine": source.line_of(finding) } });
        }
        location
    };
    let result = |source: &Source, finding: &Finding| {
        let said: Vec<_> = [Some(&finding.message), finding.evidence.as_ref(), finding.fix.as_ref()].into_iter().flatten().cloned().collect();
        json!({
            "ruleId": finding.rule.id,
            "level": finding.severity.name(),
            "message": { "text": said.join("\n") },
            "locations": [location(source, finding)],
        })
    };
    let results: Vec<_> = found.iter().flat_map(|(source, findings)| findings.iter().map(move |finding| result(source, finding))).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": { "name": "halite key lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules } }, "results": results }],
    })
}
