//! Lint of a `CREATE TABLE`, with its declared queries and suppressions.

use bytes::Bytes;
use halite_rowkey::language::{ColumnType, ConditionKind, Query, TableDeclaration};
use halite_rowkey::plan::{Asked, Question};
use halite_rowkey::split::Splits;

use super::finding::Finding;
use super::input::{ConditionShape, LintInput, QueryShape};
use super::lint;

/// Returns all findings about a declared table, except for its suppressions. `known` contains the
/// facts that are not in the declaration: the current splits (by default the declared ones), a
/// sample of its keys, its load.
pub fn lint_declaration(declaration: &TableDeclaration, known: &LintInput<'_>) -> Vec<Finding> {
    let queries: Vec<_> =
        declaration.queries.iter().map(|query| shape(query, declaration)).collect();
    let declared = if known.splits.is_none() { declared_splits(declaration) } else { None };
    let subject = LintInput {
        splits: known.splits.or(declared.as_deref()),
        key: Some(&declaration.key),
        table: Some(&declaration.descriptor),
        columns: &declaration.columns,
        split: declaration.split.as_ref(),
        queries: &queries,
        ..*known
    };
    let mut findings = lint(&subject);
    findings.retain(|finding| {
        !declaration.suppressions.iter().any(|suppression| suppression.rule == finding.rule.id)
    });
    findings
}

/// Returns the declared split keys, if they require no other table and no file.
fn declared_splits(declaration: &TableDeclaration) -> Option<Vec<Bytes>> {
    match &declaration.split {
        None => Some(Vec::new()),
        Some(clause) => Some(Splits::declared(clause, &declaration.key).ok()??.keys),
    }
}

/// Returns the conditions of a declared query on the key; the lengths of lists are not declared.
fn shape(query: &Query, declaration: &TableDeclaration) -> QueryShape {
    let key = &declaration.key;
    let point_time = declaration.columns.iter().find_map(|column| match &column.ty {
        ColumnType::Series { offset_of: Some(field), .. } => key.field_id(field),
        _ => None,
    });
    let asks = |kind| match kind {
        ConditionKind::Equal => ConditionShape::Equals,
        ConditionKind::In => ConditionShape::In,
        ConditionKind::Range => ConditionShape::Range,
        ConditionKind::Prefix => ConditionShape::Prefix,
    };
    let of_key = |column: &str| key.field_id(column);
    QueryShape {
        name: query.name.clone(),
        action: query.action.clone(),
        conditions: query
            .conditions
            .iter()
            .filter_map(|condition| Some((of_key(&condition.column)?, asks(condition.kind))))
            .collect(),
        filters_values: query
            .conditions
            .iter()
            .any(|condition| of_key(&condition.column).is_none()),
        order: query
            .order
            .iter()
            .filter_map(|order| Some((of_key(&order.column)?, order.order)))
            .collect(),
        asks: question(query, declaration),
        point_time,
        orders_by_values: query.order.iter().any(|order| of_key(&order.column).is_none()),
        limit: query.limit,
        has_offset: query.offset.is_some(),
        rate: query.rate,
    }
}

/// Returns what a query asks for, of the columns that a key may have.
fn question(query: &Query, declaration: &TableDeclaration) -> Question {
    let key = &declaration.key;
    let asked = |name: &str| {
        let of_key = key.field_id(name).map(|field| key.fields()[field].ty);
        let of_cells = || {
            let column = declaration.columns.iter().find(|column| column.name == name)?;
            // What is counted changes, and the key of a row does not.
            column.ty.value_type().filter(|_| column.ty != ColumnType::Counter)
        };
        Some(Asked { name: name.to_owned(), ty: of_key.or_else(of_cells)? })
    };
    let mut question = Question { is_limited: query.limit.is_some(), ..Question::default() };
    for condition in &query.conditions {
        let Some(column) = asked(&condition.column) else { continue };
        match condition.kind {
            ConditionKind::Equal | ConditionKind::In => question.equal.push(column),
            ConditionKind::Range | ConditionKind::Prefix => question.ranges.push(column),
        }
    }
    let order = query.order.iter().map(|term| Some((asked(&term.column)?, term.order)));
    question.order = order.collect::<Option<_>>().unwrap_or_default();
    question
}
