//! The condition of a check-and-mutate.

use halite_types::{CheckAndMutate, Comparator, CompareOp, Condition, RowOp, TimeRange};
use halite_wire::convert;
use halite_wire::proto as pb;

use crate::call::Fault;

/// `then`, if what the message says holds.
pub(super) fn guard(condition: &pb::Condition, then: RowOp) -> Result<RowOp, Fault> {
    if condition.row != *then.row() {
        let (checked, changed) = (halite_types::key::print_bytes(&condition.row), halite_types::key::print_bytes(then.row()));
        return Err(Fault::do_not_retry(format!("The row of the action <{changed}> doesn't match the original one <{checked}>")));
    }
    let mut check = CheckAndMutate::new(condition.row.clone(), from_proto(condition)?, then);
    check.time_range = time_range(condition.time_range.as_ref())?;
    Ok(check.into())
}

fn from_proto(condition: &pb::Condition) -> Result<Condition, Fault> {
    if let Some(filter) = &condition.filter {
        return Ok(Condition::Filter(convert::filter::from_proto(filter)?));
    }
    let comparator =
        condition.comparator.as_ref().ok_or_else(|| Fault::do_not_retry("a condition has neither a filter nor a comparator; give one"))?;
    let (family, qualifier) = (condition.family.clone().unwrap_or_default(), condition.qualifier.clone().unwrap_or_default());
    let op = compare_op(condition.compare_type());
    Ok(match convert::comparator::from_proto(comparator)? {
        Comparator::Binary(value) => Condition::Column { family, qualifier, op, value: Some(value) },
        Comparator::Null => Condition::Column { family, qualifier, op, value: None },
        comparator => Condition::Compared { family, qualifier, op, comparator },
    })
}

fn compare_op(op: pb::CompareType) -> CompareOp {
    match op {
        pb::CompareType::Less => CompareOp::Less,
        pb::CompareType::LessOrEqual => CompareOp::LessOrEqual,
        pb::CompareType::Equal => CompareOp::Equal,
        pb::CompareType::NotEqual => CompareOp::NotEqual,
        pb::CompareType::GreaterOrEqual => CompareOp::GreaterOrEqual,
        pb::CompareType::Greater => CompareOp::Greater,
        pb::CompareType::NoOp => CompareOp::NoOp,
    }
}

fn time_range(range: Option<&pb::TimeRange>) -> Result<TimeRange, Fault> {
    let Some(range) = range else { return Ok(TimeRange::all()) };
    Ok(TimeRange::new(range.from.map_or(0, u64::cast_signed), range.to.map_or(i64::MAX, u64::cast_signed))?)
}
