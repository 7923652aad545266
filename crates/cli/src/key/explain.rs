//! `halite key explain`: conditions as text to a plan, and the plan as text.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::anyhow;
use halite::rowkey::KeySchema;
use halite::rowkey::plan::{KeyQuery, Plan, PlanOptions};

use super::declared::Found;
use crate::cmd::key::Question;

/// Prints which keys a question reads.
pub(crate) fn explain(found: Found, question: &Question) -> anyhow::Result<ExitCode> {
    let plan = plan_of(found.key, question)?;
    write!(std::io::stdout(), "{}", plan.explain(&found.regions))?;
    Ok(ExitCode::SUCCESS)
}

/// The plan of a question given as text.
pub(super) fn plan_of(key: KeySchema, question: &Question) -> anyhow::Result<Plan> {
    let mut query = KeyQuery { reverse: question.reverse, limit: question.limit, ..KeyQuery::all() };
    for text in &question.conditions {
        query = query.with_condition(&key, text).map_err(|error| anyhow!(error))?;
    }
    Plan::new(&Arc::new(key), &query, &PlanOptions::default()).map_err(|error| anyhow!("{error}"))
}
