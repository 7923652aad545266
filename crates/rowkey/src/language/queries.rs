//! Reads and prints the questions a table is made for.
//!
//! ```text
//! queries   := QUERIES ( query {, query} )
//! query     := name ":" condition {AND condition} [WEIGHT number]
//! condition := column = ? | column IN LIST | column IN RANGE | column LIKE ?
//! ```

use std::fmt;

use super::cursor::{Cursor, Name};
use super::declaration::{ConditionKind, Query, QueryCondition};
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use super::print::name;

/// Queries of one table, at most.
const QUERIES_MAX: usize = 256;

/// What follows `QUERIES`, and the places of the columns of all conditions in order.
pub(super) fn queries(cursor: &mut Cursor<'_>) -> Result<(Vec<Query>, Vec<Span>), LanguageError> {
    let mut places = Vec::new();
    cursor.expect_sign('(')?;
    let mut queries: Vec<Query> = Vec::new();
    loop {
        let at = cursor.span();
        let query = query(cursor, &mut places)?;
        if queries.len() == QUERIES_MAX || queries.iter().any(|other| other.name == query.name) {
            return Err(LanguageError::new(at, format!("queries have different names, and a table at most {QUERIES_MAX} of them")));
        }
        queries.push(query);
        if !cursor.eat_sign(',') {
            cursor.expect_sign(')')?;
            return Ok((queries, places));
        }
    }
}

fn query(cursor: &mut Cursor<'_>, places: &mut Vec<Span>) -> Result<Query, LanguageError> {
    let name = cursor.expect_name("a query's name")?.text;
    cursor.expect_sign(':')?;
    let mut conditions = vec![condition(cursor, places)?];
    while cursor.eat_word("AND") {
        conditions.push(condition(cursor, places)?);
    }
    let weight = if cursor.eat_word("WEIGHT") { weight(cursor)? } else { 1.0 };
    Ok(Query { name, conditions, weight })
}

fn condition(cursor: &mut Cursor<'_>, places: &mut Vec<Span>) -> Result<QueryCondition, LanguageError> {
    let Name { text: column, span } = cursor.expect_name("a column")?;
    places.push(span);
    let kind = if cursor.eat_sign('=') {
        cursor.expect_sign('?')?;
        ConditionKind::Equal
    } else if cursor.eat_word("LIKE") {
        cursor.expect_sign('?')?;
        ConditionKind::Prefix
    } else {
        cursor.expect_word("IN").map_err(|_| cursor.unexpected(&["'='", "IN", "LIKE"]))?;
        match () {
            () if cursor.eat_word("LIST") => ConditionKind::In,
            () if cursor.eat_word("RANGE") => ConditionKind::Range,
            () => return Err(cursor.unexpected(&["LIST", "RANGE"])),
        }
    };
    Ok(QueryCondition { column, kind })
}

fn weight(cursor: &mut Cursor<'_>) -> Result<f64, LanguageError> {
    let TokenKind::Number(digits) = *cursor.kind() else { return Err(cursor.unexpected(&["a number like 0.9"])) };
    match digits.parse::<f64>() {
        Ok(weight) if weight > 0.0 && weight.is_finite() => {
            cursor.advance();
            Ok(weight)
        }
        _ => Err(LanguageError::new(cursor.span(), "a weight is a number above 0, like 0.9")),
    }
}

impl fmt::Display for Query {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        write!(out, "{}: {}", name(&self.name), conditions.join(" AND "))?;
        if (self.weight - 1.0).abs() > 0.0 { write!(out, " WEIGHT {}", self.weight) } else { Ok(()) }
    }
}

impl fmt::Display for QueryCondition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self.kind {
            ConditionKind::Equal => "= ?",
            ConditionKind::In => "IN LIST",
            ConditionKind::Range => "IN RANGE",
            ConditionKind::Prefix => "LIKE ?",
        };
        write!(out, "{} {said}", name(&self.column))
    }
}
