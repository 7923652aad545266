//! Lint of a `CREATE TABLE`, with the queries and the exceptions it declares.

use crate::language::{ConditionKind, Query, TableDeclaration};
use crate::schema::KeySchema;

use super::{Asks, Finding, QueryShape, Subject, lint};

/// Everything that is wrong with a declared table, but for what it asks to be silent about.
pub fn lint_declaration(declaration: &TableDeclaration) -> Vec<Finding> {
    let queries: Vec<_> = declaration.queries.iter().map(|query| shape(query, &declaration.key)).collect();
    let subject = Subject {
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
