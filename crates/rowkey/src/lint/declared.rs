//! Lint of a `CREATE TABLE`, with the queries and the exceptions it declares.

use bytes::Bytes;

use crate::language::{ConditionKind, Query, TableDeclaration};
use crate::schema::KeySchema;
use crate::split::Splits;

use super::{Asks, Finding, QueryShape, Subject, lint};

/// Everything that is wrong with a declared table, but for what it asks to be silent about. `known` says what the
/// declaration does not: where the table is split already (else it is what is declared), a sample of its keys, its load.
pub fn lint_declaration(declaration: &TableDeclaration, known: &Subject<'_>) -> Vec<Finding> {
    let queries: Vec<_> = declaration.queries.iter().map(|query| shape(query, &declaration.key)).collect();
    let declared = if known.splits.is_none() { declared_splits(declaration) } else { None };
    let subject = Subject {
        splits: known.splits.or(declared.as_deref()),
        key: Some(&declaration.key),
        table: Some(&declaration.descriptor),
        columns: &declaration.columns,
        split: declaration.split.as_ref(),
        queries: &queries,
        ..*known
    };
    let mut findings = lint(&subject);
    findings.retain(|finding| !declaration.suppressions.iter().any(|suppression| suppression.rule == finding.rule.id));
    findings
}

/// Where the table will be split, if that needs no other table and no file.
fn declared_splits(declaration: &TableDeclaration) -> Option<Vec<Bytes>> {
    match &declaration.split {
        None => Some(Vec::new()),
        Some(clause) => Some(Splits::declared(clause, &declaration.key).ok()??.keys),
    }
}

/// What a declared query asks of the key; how many values a list has is not declared.
fn shape(query: &Query, key: &KeySchema) -> QueryShape {
    let asks = |kind| match kind {
        ConditionKind::Equal => Asks::Equals,
        ConditionKind::In => Asks::In,
        ConditionKind::Range => Asks::Range,
        ConditionKind::Prefix => Asks::Prefix,
    };
    let of_key = |column: &str| key.field_id(column);
    QueryShape {
        name: query.name.clone(),
        action: query.action.clone(),
        conditions: query.conditions.iter().filter_map(|condition| Some((of_key(&condition.column)?, asks(condition.kind)))).collect(),
        filters_values: query.conditions.iter().any(|condition| of_key(&condition.column).is_none()),
        order: query.order.iter().filter_map(|order| Some((of_key(&order.column)?, order.order))).collect(),
        orders_by_values: query.order.iter().any(|order| of_key(&order.column).is_none()),
        limit: query.limit,
        has_offset: query.offset.is_some(),
        rate: query.rate,
    }
}
