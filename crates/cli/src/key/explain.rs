//! `halite key explain`: conditions as text to a plan, and the plan as text.

use std::io::Write as _;
use std::ops::Bound;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use halite::Bytes;
use halite::rowkey::plan::{KeyQuery, Plan, PlanOptions, Test};
use halite::rowkey::{FieldType, KeySchema, Value};

use super::code::field_id;
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
        let (field, test) = condition(&key, text)?;
        query = query.with(field, test);
    }
    Plan::new(&Arc::new(key), &query, &PlanOptions::default()).map_err(|error| anyhow!("{error}"))
}

/// `FIELD`, one of the signs, and what is behind it.
fn condition(key: &KeySchema, text: &str) -> anyhow::Result<(usize, Test)> {
    let at = text.find(['=', '<', '>']).with_context(|| format!("{text:?}: a condition is FIELD=VALUE, FIELD<VALUE, FIELD=A..B or the like"))?;
    let (name, rest) = text.split_at(at);
    let field = field_id(key, name)?;
    let ty = key.fields()[field].ty;
    let value = |text: &str| ty.parse(text).map_err(|error| anyhow!("{name}: {error}"));
    let test = if let Some(text) = rest.strip_prefix("<=") {
        Test::Range { low: Bound::Unbounded, high: Bound::Included(value(text)?) }
    } else if let Some(text) = rest.strip_prefix(">=") {
        Test::Range { low: Bound::Included(value(text)?), high: Bound::Unbounded }
    } else if let Some(text) = rest.strip_prefix('<') {
        Test::Range { low: Bound::Unbounded, high: Bound::Excluded(value(text)?) }
    } else if let Some(text) = rest.strip_prefix('>') {
        Test::Range { low: Bound::Excluded(value(text)?), high: Bound::Unbounded }
    } else {
        equals(ty, &rest[1..], value)?
    };
    Ok((field, test))
}

/// What stands behind `=`: a value, a list, a range or a beginning.
fn equals(ty: FieldType, text: &str, value: impl Fn(&str) -> anyhow::Result<Value<'static>>) -> anyhow::Result<Test> {
    if let Some((low, high)) = text.split_once("..") {
        let bound = |text: &str, some: fn(Value<'static>) -> Bound<Value<'static>>| {
            if text.is_empty() { Ok(Bound::Unbounded) } else { value(text).map(some) }
        };
        return Ok(Test::Range { low: bound(low, Bound::Included)?, high: bound(high, Bound::Excluded)? });
    }
    if let Some(prefix) = text.strip_suffix('*') {
        return match ty {
            FieldType::String | FieldType::Char(_) => Ok(Test::Prefix(Bytes::copy_from_slice(prefix.as_bytes()))),
            FieldType::Bytes | FieldType::Fixed(_) => Ok(Test::Prefix(halite::key::parse_bytes(prefix).into())),
            _ => bail!("{text}: only text and bytes have beginnings"),
        };
    }
    let mut values = text.split(',').map(value).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(match values.pop() {
        Some(Value::Null) if values.is_empty() => Test::IsNull,
        Some(only) if values.is_empty() => Test::Equals(only),
        last => Test::In(values.into_iter().chain(last).collect()),
    })
}
