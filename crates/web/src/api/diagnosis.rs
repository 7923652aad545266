//! Shape of the load of tables, its cause, and its fix.

use std::collections::BTreeMap;

use axum::response::Response;
use halite_heat::{Finding, Shape};
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{RegionLoad, TableDescriptor, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use super::region_list::requests_of;
use super::tables::status_of;
use crate::call::Call;
use crate::gate::{Deadline, Weight};
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::problem::{Answered, Problem};
use crate::statistics::{float, round, share};

/// Time that is examined, in milliseconds: frequent rows and sampled keys are kept for it.
const SPAN_MS: i64 = 600_000;

/// Findings.
#[derive(Serialize, ToSchema)]
pub(crate) struct DiagnosisAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    findings: Vec<FindingView>,
}

/// Shape of the load of a table.
#[derive(Serialize, ToSchema)]
pub(crate) struct FindingView {
    table: String,
    /// `even`, `frontier`, `hot_row`, `hot_prefix`, `hot_range`, `periodic`, `sweep`,
    /// `salt_imbalance`, `tombstone_head`, `idle` or `too_few`.
    shape: &'static str,
    /// `ok`, `info`, `warn` or `bad`.
    severity: &'static str,
    confidence: f64,
    rule: &'static str,
    text: String,
    /// What speaks against the finding, or limits it.
    doubts: Vec<&'static str>,
    evidence: BTreeMap<&'static str, f64>,
    /// Key or prefix that it is about.
    key: Option<Key>,
    /// Region with the most requests, if the finding is a warning.
    region: Option<BusiestRegion>,
    since: Option<i64>,
    /// `helps`, `will_not_help` or `not_needed`.
    split: &'static str,
    why: &'static str,
    fix: Option<Fix>,
    p99_cost_ms: Option<f64>,
}

/// Region of a table with the most requests.
#[derive(Serialize, ToSchema)]
pub(crate) struct BusiestRegion {
    encoded_name: String,
    start_key: Key,
    end_key: Key,
    /// `host,port,startcode`.
    server: Option<String>,
    /// Part of the table's requests: of those per second, or of all if these are not known yet.
    share: f64,
}

/// Fix of a finding.
#[derive(Serialize, ToSchema)]
pub(crate) struct Fix {
    /// `ddl`, or `advice` in words.
    kind: &'static str,
    text: String,
}

/// Shape of the load of a table, its cause and its fix.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/diagnosis",
    tag = "load",
    params(
        ("t" = String, Path),
        ("from" = Option<i64>, Query, description = "Begin; 10 minutes before the end"),
        ("to" = Option<i64>, Query, description = "End; now"),
    ),
    responses((status = 200, body = DiagnosisAnswer), (status = 501, body = Problem))
)]
pub(crate) async fn table_diagnosis(call: Call) -> Response {
    call.json(Weight::Heavy, |call, _| {
        let table = call.table()?;
        let finding = finding(call, &table.descriptor)?;
        Ok(answer(call, vec![finding]))
    })
    .await
}

/// Shapes of the load of all tables that are not even, the worst first.
#[utoipa::path(
    get,
    path = "/api/diagnosis",
    tag = "load",
    params(
        ("from" = Option<i64>, Query, description = "Begin; 10 minutes before the end"),
        ("to" = Option<i64>, Query, description = "End; now"),
    ),
    responses((status = 200, body = DiagnosisAnswer), (status = 501, body = Problem))
)]
pub(crate) async fn diagnosis(call: Call) -> Response {
    call.json(Weight::Heavy, all).await
}

fn all(call: &Call, deadline: Deadline) -> Answered<DiagnosisAnswer> {
    let tables = block_on(call.site.admin().list_tables())?;
    let mut findings = Vec::new();
    for table in tables.iter().filter(|table| table.name().namespace() != SYSTEM_NAMESPACE) {
        deadline.check()?;
        match finding(call, table) {
            Ok(found) if found.severity == "ok" => {}
            Ok(found) => findings.push(found),
            // Dropped or disabled meanwhile.
            Err(problem) if problem.status == 404 || problem.status == 409 => {}
            Err(problem) => return Err(problem),
        }
    }
    let order = |finding: &FindingView| match finding.severity {
        "bad" => 0,
        "warn" => 1,
        _ => 2,
    };
    findings.sort_by_key(order);
    Ok(answer(call, findings))
}

fn answer(call: &Call, findings: Vec<FindingView>) -> DiagnosisAnswer {
    let as_of = call.site.extension().now_ms();
    DiagnosisAnswer { as_of, missing: vec!["since", "p99_cost_ms"], findings }
}

fn finding(call: &Call, table: &TableDescriptor) -> Answered<FindingView> {
    let now = i64::try_from(call.site.extension().now_ms()).unwrap_or(i64::MAX);
    let to = call.params.optional_number("to")?.unwrap_or(now);
    let from = call.params.optional_number("from")?.unwrap_or(to.saturating_sub(SPAN_MS));
    let found = call.site.extension().diagnose_load(table.name(), (from, to))?;
    let declared = DeclaredKey::of(&*call.site.sources.cluster, table);
    let style = KeyStyle::of(&call.params, declared.clone())?;
    let mut view = view(table, &found, &style, declared.as_ref());
    if !call.site.config.shows_rows {
        view.key = None;
    }
    if matches!(view.severity, "bad" | "warn") {
        view.region = busiest_region(call, table, &style)?;
    }
    Ok(view)
}

/// Returns the region of a table with the most requests; `None` if there were none.
fn busiest_region(
    call: &Call,
    table: &TableDescriptor,
    style: &KeyStyle,
) -> Answered<Option<BusiestRegion>> {
    let status = status_of(&call.site, &call.params)?;
    let (loads, rates) = status.of_table(table.name());
    let per_second: Option<Vec<f64>> = rates.iter().map(|rates| rates.sum()).collect();
    let known = per_second.filter(|rates| rates.iter().any(|rate| *rate > 0.0));
    let totals = || loads.iter().map(|load| float(requests_of(load))).collect();
    let requests = known.unwrap_or_else(totals);
    let busiest = loads.iter().zip(&requests).max_by(|(_, a), (_, b)| a.total_cmp(b));
    Ok(busiest.and_then(|(RegionLoad { region, .. }, most)| {
        Some(BusiestRegion {
            encoded_name: region.encoded_name.clone(),
            start_key: style.boundary(&region.start),
            end_key: style.boundary(&region.end),
            server: call.site.extension().server_of(region),
            share: share(*most, requests.iter().sum())?,
        })
    }))
}

/// Returns `ok`, `info`, `warn` or `bad`.
pub(crate) fn severity(shape: Shape) -> &'static str {
    shape.words().severity
}

fn view(
    table: &TableDescriptor,
    found: &Finding,
    style: &KeyStyle,
    declared: Option<&DeclaredKey>,
) -> FindingView {
    let words = found.words();
    let more = |name| found.evidence(name).unwrap_or_default();
    let text = match (found.shape, found.evidence("share")) {
        (Shape::TooFew, _) => too_early(more("more_requests"), more("more_s")),
        (_, Some(share)) => format!("{}: {:.0} %", words.text, share * 100.0),
        (_, None) => words.text.to_owned(),
    };
    let ddl = (found.shape == Shape::Frontier).then(|| salted(declared)).flatten();
    let advice = words.advice.map(|text| Fix { kind: "advice", text: text.to_owned() });
    FindingView {
        table: table.name().to_string(),
        shape: found.shape.name(),
        severity: words.severity,
        confidence: round(found.confidence),
        rule: words.rule,
        text,
        doubts: found.doubts.clone(),
        evidence: found.evidence.iter().map(|(name, value)| (*name, round(*value))).collect(),
        key: found.key.as_ref().map(|key| style.boundary(key)),
        region: None,
        since: None,
        split: match found.split_helps() {
            Some(true) => "helps",
            Some(false) => "will_not_help",
            None => "not_needed",
        },
        why: words.why,
        fix: ddl.map(|text| Fix { kind: "ddl", text }).or(advice),
        p99_cost_ms: None,
    }
}

/// Returns what a judgement needs.
fn too_early(more_requests: f64, more_s: f64) -> String {
    match (more_requests > 0.0, more_s > 0.0) {
        (true, true) => format!(
            "Too early to judge: {more_requests:.0} more requests are needed, and {more_s:.0} s \
             more with this load"
        ),
        (false, true) => {
            format!("Too early to judge: {more_s:.0} s more with this load are needed")
        }
        _ => format!("Too few requests to judge: {more_requests:.0} more are needed"),
    }
}

/// Returns the declared row key with a salt before it.
fn salted(declared: Option<&DeclaredKey>) -> Option<String> {
    let schema = &declared?.schema;
    if schema.salt_count(0).is_some() {
        return None;
    }
    let key = schema.to_string();
    let fields = key.strip_prefix("ROW KEY (")?;
    Some(format!("ROW KEY (SALT(16), {fields}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgement_says_what_it_needs() {
        assert_eq!(too_early(640.0, 0.0), "Too few requests to judge: 640 more are needed");
        assert_eq!(too_early(0.0, 20.0), "Too early to judge: 20 s more with this load are needed");
        let both = "Too early to judge: 640 more requests are needed, and 10 s more with this load";
        assert_eq!(too_early(640.0, 10.0), both);
    }
}
