//! Plans of queries on declared row keys, and lint.

use std::ops::Bound;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use halite_rowkey::language::{
    Statement, Suppression, TableDeclaration, begins_with_key, located_key, located_statements,
};
use halite_rowkey::plan::KeyQuery;
use halite_rowkey::{LanguageError, spread_regions, values_of_line};
use halite_rowkey_tools::lint::{
    Finding, KeySample, LintInput, LoadEstimate, RULES, lint, lint_declaration,
};
use halite_types::{Filter, RegionInfo, RowRange, Scan, Table, block_on};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::row_query::plan as plan_of;
use crate::call::{Call, read_json};
use crate::deadline_table::DeadlineTable;
use crate::extension::Mode;
use crate::gate::{Deadline, Weight};
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::problem::{Answered, Problem};

/// Maximum ranges of an answer; the number of all is in it.
const MAX_RANGES: usize = 256;

/// Ranges up to which the regions that they touch are counted.
const MAX_COUNTED_RANGES: usize = 64;

/// Regions of which keys are sampled for lint, and keys of each.
const SAMPLED_REGIONS: usize = 16;
const KEYS_OF_REGION: usize = 64;

/// Plan of a query.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlanAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    /// Ranges, at most 256 of them.
    ranges: Vec<PlannedRange>,
    ranges_total: usize,
    /// Branches that are read and merged.
    fan_out: usize,
    /// Regions that the ranges touch; `null` for more than 64 ranges.
    regions: Option<usize>,
    rows_examined: RowsExamined,
    /// `true` if the rows have no order without a sort.
    sort: bool,
    /// Notes of lint on the query.
    lint: Vec<FindingView>,
    /// Plan in words.
    text: String,
}

/// Range of keys.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlannedRange {
    /// First key; empty for the first of the table.
    start: Key,
    /// Key after the last; empty for the end of the table.
    stop: Key,
}

/// Rows that the query reads.
#[derive(Serialize, ToSchema)]
pub(crate) struct RowsExamined {
    predicted: Option<u64>,
    last: Option<u64>,
}

/// Plan of conditions on the declared row key of a table.
#[utoipa::path(
    get,
    path = "/api/plan",
    tag = "keys",
    params(
        ("table" = String, Query),
        ("query" = Option<String>, Query,
            description = "Conditions with blanks between: device_id=s1 ts=2024-03-15..2024-03-16"),
    ),
    responses(
        (status = 200, body = PlanAnswer),
        (status = 400, body = Problem), (status = 404, body = Problem),
    )
)]
pub(crate) async fn plan(call: Call) -> Response {
    call.json(Weight::Light, |call, _| plan_answer(call)).await
}

fn plan_answer(call: &Call) -> Answered<PlanAnswer> {
    let name = call.params.get("table").ok_or_else(|| Problem::field("table", "give a table"))?;
    let found = call.site.table(name)?;
    let declared =
        DeclaredKey::of(&*call.site.sources.cluster, &found.descriptor).ok_or_else(|| {
            let text = format!("table {} declares no row key", found.name());
            Problem::field("table", text)
        })?;
    let text = call.params.get("query").unwrap_or_default();
    let conditions = values_of_line(text).map_err(|error| Problem::field("query", error))?;
    let conditions: Vec<(String, String)> = conditions
        .into_iter()
        .filter(|condition| !condition.is_empty())
        .map(|condition| ("query".to_owned(), condition.to_owned()))
        .collect();
    let plan = plan_of(&declared, KeyQuery::all(), &conditions)?;
    let style = KeyStyle::of(&call.params, Some(declared))?;
    let regions = block_on(found.table.regions())?;
    let total = plan.ranges().count();
    let is_read =
        |region: &&RegionInfo| plan.ranges().any(|range| range.touches(&region.start, &region.end));
    let touched = || regions.iter().filter(is_read).count();
    Ok(PlanAnswer {
        as_of: call.site.extension().now_ms(),
        missing: vec!["rows_examined"],
        ranges: plan.ranges().take(MAX_RANGES).map(|range| planned(&range.range, &style)).collect(),
        ranges_total: total,
        fan_out: plan.fan_out(),
        regions: (total <= MAX_COUNTED_RANGES).then(touched),
        rows_examined: RowsExamined { predicted: None, last: None },
        sort: plan.order().is_empty(),
        lint: Vec::new(),
        text: if total <= MAX_COUNTED_RANGES { plan.explain(&regions) } else { plan.explain(&[]) },
    })
}

/// Returns a range with an included start and an excluded stop.
fn planned(range: &RowRange, style: &KeyStyle) -> PlannedRange {
    let after = |row: &[u8]| halite_types::key::successor_of_row(row);
    let start = match &range.start {
        Bound::Unbounded => Vec::new(),
        Bound::Included(row) => row.to_vec(),
        Bound::Excluded(row) => after(row),
    };
    let stop = match &range.end {
        Bound::Unbounded => Vec::new(),
        Bound::Excluded(row) => row.to_vec(),
        Bound::Included(row) => after(row),
    };
    PlannedRange { start: style.key(&start), stop: style.key(&stop) }
}

/// Findings of lint.
#[derive(Serialize, ToSchema)]
pub(crate) struct LintAnswer {
    as_of: u64,
    findings: Vec<FindingView>,
    /// Number of rules that were asked.
    rules: usize,
    /// Keys of the table that were examined.
    keys_sampled: usize,
}

/// Finding of a rule.
#[derive(Serialize, ToSchema)]
pub(crate) struct FindingView {
    rule: &'static str,
    /// `note`, `warning` or `error`.
    severity: &'static str,
    /// What the rule is about, in one sentence.
    summary: &'static str,
    text: String,
    evidence: Option<String>,
    fix: Option<String>,
    /// Line of the text that was sent; `null` for a table.
    line: Option<usize>,
    /// Segment of the key, counted from 1.
    segment: Option<usize>,
}

impl FindingView {
    fn of(finding: Finding, line: Option<usize>) -> Self {
        Self {
            rule: finding.rule.id,
            severity: finding.severity.name(),
            summary: finding.rule.summary,
            text: finding.message,
            evidence: finding.evidence,
            fix: finding.fix,
            line,
            segment: finding.segment.map(|at| at + 1),
        }
    }
}

/// Findings on the declaration, the splits and some keys of a table.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/lint",
    tag = "keys",
    params(("t" = String, Path)),
    responses((status = 200, body = LintAnswer), (status = 404, body = Problem))
)]
pub(crate) async fn lint_table(call: Call) -> Response {
    call.json(Weight::Heavy, table_findings).await
}

fn table_findings(call: &Call, deadline: Deadline) -> Answered<LintAnswer> {
    let found = call.table()?;
    let declaration = TableDeclaration::from_descriptor(&found.descriptor)
        .transpose()
        .map_err(|error| Problem::conflict(format!("the declaration of the table: {error}")))?;
    let regions = block_on(found.table.regions())?;
    let table = DeadlineTable::around(Arc::clone(&found.table), deadline);
    // Findings contain keys as evidence.
    let keys = if call.site.config.shows_rows { sample(&table, &regions)? } else { Vec::new() };
    let keys_sampled = keys.len();
    let sample = KeySample { keys, is_in_arrival_order: false };
    let starts: Vec<_> = regions.iter().skip(1).map(|region| region.start.clone()).collect();
    let is_here = call.site.extension().about().mode == Mode::Standalone;
    let load = LoadEstimate { servers: is_here.then_some(1), ..LoadEstimate::default() };
    let known = LintInput {
        sample: (keys_sampled > 0).then_some(&sample),
        splits: Some(&starts),
        load,
        ..LintInput::default()
    };
    let findings = match &declaration {
        Some(declaration) => lint_declaration(declaration, &known),
        None => lint(&LintInput { table: Some(&found.descriptor), ..known }),
    };
    Ok(LintAnswer {
        as_of: call.site.extension().now_ms(),
        findings: findings.into_iter().map(|finding| FindingView::of(finding, None)).collect(),
        rules: RULES.len(),
        keys_sampled,
    })
}

/// Returns the first keys of regions all over the table.
fn sample(table: &Arc<dyn Table>, regions: &[RegionInfo]) -> Answered<Vec<Bytes>> {
    let mut keys = Vec::new();
    for region in spread_regions(regions, SAMPLED_REGIONS) {
        let scan = Scan::range(region.start.clone(), region.end.clone())
            .filter(Filter::FirstKeyOnly)
            .cache_blocks(false)
            .limit(KEYS_OF_REGION);
        let mut rows = table.scan(scan);
        while let Some(row) = block_on(rows.next())? {
            keys.push(Bytes::copy_from_slice(row.key()));
        }
    }
    Ok(keys)
}

/// Text for lint.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LintRequest {
    /// Statements, or one ROW KEY.
    ddl: String,
}

/// Findings on statements that are sent. Nothing is changed.
#[utoipa::path(
    post,
    path = "/api/lint",
    tag = "keys",
    request_body = LintRequest,
    responses((status = 200, body = LintAnswer), (status = 400, body = Problem))
)]
pub(crate) async fn lint_text(call: Call, body: Result<Bytes, BytesRejection>) -> Response {
    match read_json::<LintRequest>(body) {
        Ok(request) => {
            call.json(Weight::Light, move |call, _| {
                let findings = text_findings(&request.ddl).map_err(|error| {
                    let (line, column) = error.position(&request.ddl);
                    let text = format!("line {line}, column {column}: {}", error.message);
                    let problem = Problem::field("ddl", text);
                    match error.suggestion {
                        Some(fix) => problem.detail(fix),
                        None => problem,
                    }
                })?;
                Ok(LintAnswer {
                    as_of: call.site.extension().now_ms(),
                    findings,
                    rules: RULES.len(),
                    keys_sampled: 0,
                })
            })
            .await
        }
        Err(problem) => problem.into_response(),
    }
}

fn text_findings(text: &str) -> Result<Vec<FindingView>, LanguageError> {
    if begins_with_key(text) {
        let (key, spans, suppressions) = located_key(text)?;
        let findings = lint(&LintInput { key: Some(&key), ..LintInput::default() });
        let line = |segment: Option<usize>| {
            let span = spans.get(segment.unwrap_or(0));
            span.map_or(1, |span| {
                text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
            })
        };
        return Ok(shown(findings, &suppressions, line));
    }
    let mut all = Vec::new();
    for located in located_statements(text)? {
        let findings = match &located.statement {
            Statement::CreateTable(table) => lint_declaration(table, &LintInput::default()),
            Statement::Adopt { key, .. } => {
                lint(&LintInput { key: Some(key), ..LintInput::default() })
            }
            Statement::AlterSalt { .. } | Statement::ShowCreateTable(_) | Statement::Schema(_) => {
                continue;
            }
        };
        let line = |segment| located.line(text, segment);
        all.extend(shown(findings, &located.suppressions, line));
    }
    Ok(all)
}

/// Returns the findings that no comment suppresses, with their lines.
fn shown(
    findings: Vec<Finding>,
    suppressions: &[Suppression],
    line: impl Fn(Option<usize>) -> usize,
) -> Vec<FindingView> {
    let is_suppressed = |finding: &Finding| {
        suppressions.iter().any(|suppression| suppression.rule == finding.rule.id)
    };
    let findings = findings.into_iter().filter(|finding| !is_suppressed(finding));
    findings
        .map(|finding| {
            let line = line(finding.segment);
            FindingView::of(finding, Some(line))
        })
        .collect()
}
