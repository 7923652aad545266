//! Lint of a `CREATE TABLE`, with the queries and the exceptions it declares.

use bytes::Bytes;

use crate::language::{ConditionKind, Query, SplitClause, TableDeclaration};
use crate::schema::KeySchema;
use crate::split::Splits;

use super::{Asks, Finding, QueryShape, Subject, lint};

/// Everything that is wrong with a declared table, but for what it asks to be silent about. `splits` are the keys at which
/// its regions begin, where that is known; else they are those it declares.
pub fn lint_declaration(declaration: &TableDeclaration, splits: Option<&[Bytes]>) -> Vec<Finding> {
    let queries: Vec<_> = declaration.queries.iter().map(|query| shape(query, &declaration.key)).collect();
    let declared = declared_splits(declaration);
    let subject = Subject {
        splits: splits.or(declared.as_deref()),
        key: Some(&declaration.key),
        table: Some(&declaration.descriptor),
        columns: &declaration.columns,
        queries: &queries,
        ..Subject::default()
    };
    let mut findings = lint(&subject);
    findings.retain(|finding| !declaration.suppressions.iter().any(|suppression| suppression.rule == finding.rule.id));
    findings
}

/// Where the table will be split, if that needs no other table and no file.
fn declared_splits(declaration: &TableDeclaration) -> Option<Vec<Bytes>> {
    let key = &declaration.key;
    match &declaration.split {
        None => Some(Vec::new()),
        Some(SplitClause::BySalt { regions_each }) => Some(Splits::by_salt(key, *regions_each, None).ok()?.keys),
        Some(SplitClause::Into(regions)) => Some(Splits::into_regions(key, *regions, None).ok()?.keys),
        Some(SplitClause::At(rows)) => Some(rows.iter().cloned().map(Bytes::from).collect()),
        Some(SplitClause::Like(_) | SplitClause::FromSample { .. } | SplitClause::Rolling(_)) => None,
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
        conditions: query.conditions.iter().filter_map(|condition| Some((of_key(&condition.column)?, asks(condition.kind)))).collect(),
        filters_values: query.conditions.iter().any(|condition| of_key(&condition.column).is_none()),
        ..QueryShape::default()
    }
}
