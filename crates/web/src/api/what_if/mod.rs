//! Recorded operations under another row key.
//!
//! ```text
//! mod.rs        candidates, and the comparison         metrics.rs    metrics now and then
//! picture.rs    the load under the other key, as heat  migration.rs  how to get there
//! verdict.rs    the shapes of both
//! ```

mod metrics;
mod migration;
mod picture;
mod verdict;

use std::collections::HashMap;
use std::sync::Arc;

use axum::response::Response;
use halite_heat::operations::{Call as Logged, LoggedCalls};
use halite_rowkey::KeySchema;
use halite_rowkey_tools::replay::{
    MIN_OPERATIONS, MIN_PER_REGION, RecordedCall, Rekeyer, Replay, ReplayOptions, WorseQuery,
    candidates, opaque_key, replay,
};
use halite_types::{Bytes, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use self::metrics::{Metrics, metrics};
use self::migration::Migration;
use self::picture::{PictureQuery, Redrawn};
use self::verdict::Verdicts;
use super::heat_answer::HeatAnswer;
use super::operations::sampled;
use crate::call::Call;
use crate::gate::{Deadline, Weight};
use crate::key_view::{DeclaredKey, KeyStyle};
use crate::params::short;
use crate::problem::{Answered, Problem};
use crate::site::KnownTable;

/// Operations that are replayed, at most: the newest.
const MAX_OPERATIONS: usize = 100_000;
/// Regions on which both keys are compared if the table has one.
const ASSUMED_REGIONS: u32 = 16;
/// Queries of an answer.
const MAX_WORSE: usize = 8;
/// Seed of generated salts and intervals: equal questions have equal answers.
const SEED: u64 = 7;

/// Other keys, or the load under one of them.
#[derive(Serialize, ToSchema)]
pub(crate) struct WhatIfAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    /// Key that the operations were recorded under.
    key: PresentKey,
    /// Recorded operations of the table in the span of time.
    operations: usize,
    /// Of these, operations on rows that are no keys of the present declaration.
    misfits: usize,
    /// Operations of which one is recorded now: `1/1000`.
    sampled: String,
    /// Time of the oldest recorded operation, of any table.
    since: Option<i64>,
    /// What the metrics do not say, or why there are none.
    notes: Vec<String>,
    /// Without `row_key`: keys to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<CandidateView>>,
    /// Metrics by their names: `d1`, `d2`, `d3`, `d8`, `d11`.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
    /// Shape of the load now and then.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<Verdicts>,
    /// Queries that read more, the most frequent first.
    #[serde(skip_serializing_if = "Option::is_none")]
    worse: Option<Vec<Worse>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    migration: Option<Migration>,
    /// Load under the other key, in columns as those of the recorded load.
    #[serde(skip_serializing_if = "Option::is_none")]
    heat: Option<HeatAnswer>,
}

/// Key that operations were recorded under.
#[derive(Serialize, ToSchema)]
pub(crate) struct PresentKey {
    ddl: String,
    /// `false` if the table declares none: the row is then one field of bytes.
    declared: bool,
}

/// Key to try.
#[derive(Serialize, ToSchema)]
pub(crate) struct CandidateView {
    ddl: String,
    note: String,
}

/// Query that is served worse.
#[derive(Serialize, ToSchema)]
pub(crate) struct Worse {
    query: String,
    now: String,
    then: String,
    /// Operations that the recorded ones of it are the sample of.
    operations: u64,
}

/// Load under another row key.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/what-if",
    tag = "load",
    params(
        ("t" = String, Path),
        ("row_key" = Option<String>, Query,
            description = "Another key for the same fields: ROW KEY (SALT(16 BY id), id U64); \
                           without it the answer has keys to try"),
        ("from" = Option<i64>, Query, description = "Begin; six hours before the end"),
        ("to" = Option<i64>, Query, description = "End; now"),
        ("metric" = Option<String>, Query,
            description = "writes, reads, deletes, examined, bytes, bytes_read, bytes_written"),
        ("rows" = Option<usize>, Query, description = "Maximum rows of the picture, 1024"),
        ("cols" = Option<usize>, Query, description = "Maximum columns of the picture, 1024"),
    ),
    responses(
        (status = 200, body = WhatIfAnswer),
        (status = 400, body = Problem),
        (status = 501, body = Problem, description = "Not recorded here"),
    )
)]
pub(crate) async fn what_if(call: Call) -> Response {
    call.json(Weight::Heavy, answer).await
}

fn answer(call: &Call, deadline: Deadline) -> Answered<WhatIfAnswer> {
    call.check_rows()?;
    let now = call.site.extension().now_ms();
    let query = PictureQuery::of(&call.params, i64::try_from(now).unwrap_or(i64::MAX))?;
    let table = call.table()?;
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &table.descriptor);
    let present = declared.as_ref().map_or_else(opaque_key, |declared| (*declared.schema).clone());
    let other = match call.params.get("row_key").filter(|text| !text.trim().is_empty()) {
        Some(text) => Some(read_key(text, &present)?),
        None => None,
    };
    let logged = call.site.extension().logged_calls(table.name(), query.span(), MAX_OPERATIONS)?;
    deadline.check()?;
    let answer = WhatIfAnswer {
        as_of: now,
        missing: vec!["d16"],
        key: PresentKey { ddl: present.to_text(), declared: declared.is_some() },
        operations: logged.calls.len(),
        misfits: 0,
        sampled: sampled(&logged),
        since: logged.since_ms,
        notes: Vec::new(),
        candidates: None,
        metrics: None,
        verdicts: None,
        worse: None,
        migration: None,
        heat: None,
    };
    match other {
        None => Ok(with_candidates(answer, &present)),
        Some(other) => {
            let compared =
                Compared { call, table: &table, query: &query, logged: &logged, deadline };
            compared.answer(answer, (&present, &other))
        }
    }
}

/// Reads a key and checks that the recorded keys have its fields.
fn read_key(text: &str, present: &KeySchema) -> Answered<KeySchema> {
    let wrong = |error: String| {
        Problem::field("row_key", format!("{}: {error}", short(text)))
            .detail(format!("the present key is {}", present.to_text()))
    };
    let key: KeySchema =
        text.parse().map_err(|error: halite_rowkey::LanguageError| wrong(error.message))?;
    Rekeyer::new(present, &key, SEED).map_err(|error| wrong(error.to_string()))?;
    Ok(key)
}

fn with_candidates(answer: WhatIfAnswer, present: &KeySchema) -> WhatIfAnswer {
    let found = candidates(present);
    let mut notes = few(answer.operations, &answer.sampled);
    if !answer.key.declared {
        notes.push(
            "the table declares no row key: its rows are one field of bytes, and fields in them \
             are not known; halite key infer finds them"
                .to_owned(),
        );
    }
    if found.is_empty() {
        notes.push("no other key is known for these fields".to_owned());
    }
    let view = |candidate: &halite_rowkey_tools::replay::Candidate| CandidateView {
        ddl: candidate.key.to_text(),
        note: candidate.note.clone(),
    };
    WhatIfAnswer { candidates: Some(found.iter().map(view).collect()), notes, ..answer }
}

/// Returns what is missing if there are too few operations.
fn few(operations: usize, sampled: &str) -> Vec<String> {
    if operations >= MIN_OPERATIONS {
        return Vec::new();
    }
    vec![format!(
        "{operations} operations are recorded in this time, and {MIN_OPERATIONS} are needed; \
         {sampled} of them are recorded: take a longer time, or a higher rate of the log"
    )]
}

/// Operations that are compared under two keys.
struct Compared<'a> {
    call: &'a Call,
    table: &'a KnownTable,
    query: &'a PictureQuery,
    logged: &'a LoggedCalls,
    deadline: Deadline,
}

impl Compared<'_> {
    fn answer(
        &self,
        answer: WhatIfAnswer,
        (present, other): (&KeySchema, &KeySchema),
    ) -> Answered<WhatIfAnswer> {
        let Self { call, table, query, logged, deadline } = *self;
        let mut notes = few(answer.operations, &answer.sampled);
        if !notes.is_empty() {
            return Ok(WhatIfAnswer { notes, ..answer });
        }
        let rekeyer = Rekeyer::new(present, other, SEED)
            .map_err(|error| Problem::field("row_key", error.to_string()))?;
        let regions = block_on(table.table.regions())?;
        let options = ReplayOptions {
            boundaries: regions.iter().skip(1).map(|region| region.start.clone()).collect(),
            assumed_regions: ASSUMED_REGIONS,
            counts_reads: query.counts_reads(),
            seed: SEED,
        };
        let found = match replay(&recorded(&logged.calls), &rekeyer, &options) {
            Ok(found) => found,
            Err(reason) => return Ok(WhatIfAnswer { notes: vec![reason], ..answer }),
        };
        let counted = if query.counts_reads() { "reads" } else { "writes" };
        deadline.check()?;
        notes.extend(limits_of(&found, counted));
        notes.extend(limits_of_log(logged));
        if found.counted < MIN_OPERATIONS {
            return Ok(WhatIfAnswer { misfits: found.misfits, notes, ..answer });
        }
        let style = KeyStyle::of(&call.params, Some(DeclaredKey::of_schema(other.clone())))?;
        let grid = query.grid(call, table.name())?;
        deadline.check()?;
        let status = call.site.statuses.recent(table.name())?;
        let (loads, _) = status.of_table(table.name());
        let bytes: u64 = loads.iter().map(|load| load.store_file_bytes + load.memstore_bytes).sum();
        let as_of = answer.as_of;
        let redrawn = Redrawn { as_of, query, grid: &grid, logged, replay: &found, style: &style };
        Ok(WhatIfAnswer {
            misfits: found.misfits,
            metrics: Some(metrics(&found)),
            verdicts: Some(Verdicts::of(&found)),
            worse: Some(found.worse.iter().take(MAX_WORSE).map(worse).collect()),
            migration: Some(Migration::new(&table.descriptor, other, bytes)),
            heat: Some(redrawn.answer()),
            notes,
            ..answer
        })
    }
}

/// Returns what the metrics of a replay do not say.
fn limits_of(found: &Replay, counted: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if found.is_assumed {
        notes.push(format!(
            "the table has one region; both keys are compared on {ASSUMED_REGIONS} regions with \
             equal numbers of rows"
        ));
    }
    if found.counts_all {
        notes.push(format!("no {counted} are recorded in this time; all operations are counted"));
    }
    let regions = found.skew.0.regions;
    if found.counted < MIN_OPERATIONS {
        notes.push(format!(
            "{} of the operations are {counted} on a key that can be told, and {MIN_OPERATIONS} \
             are needed",
            found.counted
        ));
    } else if (found.counted as u64) < MIN_PER_REGION * regions as u64 {
        notes.push(format!(
            "{} operations on {regions} regions are fewer than {MIN_PER_REGION} for each: d1 and \
             d2 are uneven by accident too",
            found.counted
        ));
    }
    notes
}

/// Returns what the log does not have.
fn limits_of_log(logged: &LoggedCalls) -> Vec<String> {
    let mut notes = Vec::new();
    if logged.calls.len() >= MAX_OPERATIONS {
        notes.push(format!("the newest {MAX_OPERATIONS} operations of this time are replayed"));
    }
    if logged.dropped > 0 {
        notes.push(format!("{} operations were not recorded, for want of room", logged.dropped));
    }
    notes
}

/// Returns the time since which all operations of the log are replayed.
fn known_since(logged: &LoggedCalls) -> Option<i64> {
    let first = logged.calls.first().map(|call| call.time_ms);
    if logged.calls.len() >= MAX_OPERATIONS { first } else { logged.since_ms }
}

/// Returns the logged operations as a replay reads them. Equal statements are one text.
fn recorded(calls: &[Logged]) -> Vec<RecordedCall> {
    let mut statements: HashMap<&str, Arc<str>> = HashMap::new();
    let one = |call| -> RecordedCall {
        let call: &Logged = call;
        let statement =
            statements.entry(&call.statement).or_insert_with(|| Arc::clone(&call.statement));
        RecordedCall {
            time_ms: call.time_ms,
            is_read: call.kind.is_read(),
            row: Bytes::copy_from_slice(&call.row),
            stop: call.stop.as_deref().map(Bytes::copy_from_slice),
            statement: Arc::clone(statement),
            weight: call.weight,
        }
    };
    calls.iter().map(one).collect()
}

fn worse(query: &WorseQuery) -> Worse {
    let then = if query.reads_all {
        "the whole table".to_owned()
    } else {
        format!("{:.0} ranges merged", query.ranges)
    };
    Worse {
        query: query.statement.clone(),
        now: "1 range".to_owned(),
        then,
        operations: query.operations,
    }
}
