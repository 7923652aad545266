//! `halite key explain`: parses conditions, prints their plan, and optionally the cost of executing
//! it.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{anyhow, bail};
use halite::rowkey::plan::{KeyQuery, Plan};
use halite::rowkey::{Dictionary, Scatter, ScatterOptions};
use halite::{Scan, block_on};

use super::key_spec::{ResolvedKey, resolve_in};
use super::sampling::format_misfits;
use crate::key::arguments::{KeySpecArgs, QueryArgs};

/// Prints the keys that a query reads; with `run`, also executes it.
pub(crate) fn explain(
    key_spec: &KeySpecArgs,
    question: &QueryArgs,
    run: bool,
) -> anyhow::Result<ExitCode> {
    if run {
        return explain_analyze(key_spec, question);
    }
    let Some(table) = &key_spec.table else {
        let found = key_spec.resolve()?;
        write!(std::io::stdout(), "{}", plan_for(&found, question)?.explain(&found.regions))?;
        if Dictionary::is_needed(&found.key) {
            writeln!(
                std::io::stdout(),
                "note     dictionaries belong to tables: with --table, conditions on their fields \
                 become ranges"
            )?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let place = key_spec.backend.open_existing()?;
    let found = resolve_in(&place, table)?;
    let mut out = std::io::stdout();
    write!(out, "{}", plan_for(&found, question)?.explain(&found.regions))?;
    if let Some(text) = format_misfits(&place.cluster().table(table), &found.key, &found.regions)? {
        writeln!(out, "note     {text}")?;
    }
    place.close()?;
    Ok(ExitCode::SUCCESS)
}

fn explain_analyze(key_spec: &KeySpecArgs, question: &QueryArgs) -> anyhow::Result<ExitCode> {
    let Some(table) = &key_spec.table else { bail!("--analyze reads a table: give --table") };
    let place = key_spec.backend.open_existing()?;
    let found = resolve_in(&place, table)?;
    let plan = Arc::new(plan_for(&found, question)?);
    let mut out = std::io::stdout();
    write!(out, "{}", plan.explain(&found.regions))?;
    let began = Instant::now();
    let mut rows = Scatter::new(
        place.cluster().table(table),
        plan,
        Scan::all(),
        &ScatterOptions::default(),
        None,
    )?;
    let mut count = 0u64;
    while block_on(rows.next())?.is_some() {
        count += 1;
    }
    writeln!(out, "run      {count} rows, {} examined, {:.1?}", rows.examined(), began.elapsed())?;
    if rows.misfits() > 0 {
        writeln!(
            out,
            "run      {} of the rows examined are no keys of the declared {}",
            rows.misfits(),
            found.key
        )?;
    }
    if let Some(text) = format_misfits(&place.cluster().table(table), &found.key, &found.regions)? {
        writeln!(out, "note     {text}")?;
    }
    drop(rows);
    place.close()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the plan of a query given as text.
pub(super) fn plan_for(found: &ResolvedKey, question: &QueryArgs) -> anyhow::Result<Plan> {
    plan_with_limit(found, question, question.limit)
}

/// As [`plan_for`], with another limit.
pub(super) fn plan_with_limit(
    found: &ResolvedKey,
    question: &QueryArgs,
    limit: Option<usize>,
) -> anyhow::Result<Plan> {
    let key = &found.key;
    let mut query = KeyQuery { reverse: question.reverse, limit, ..KeyQuery::all() };
    for text in &question.conditions {
        query = query.with_condition(key, text).map_err(|error| anyhow!(error))?;
    }
    let mut options = found.plan_options();
    for (name, count) in &question.distinct {
        let field = key
            .field_id(name)
            .ok_or_else(|| anyhow!("--distinct {name}={count}: the key has no field {name}"))?;
        options.distinct.push((field, *count));
    }
    Plan::new(&Arc::new(key.clone()), &query, &options).map_err(|error| anyhow!("{error}"))
}
