//! Parser and printer of the expected queries and writes of a table.
//!
//! ```text
//! queries   := QUERIES ( query {, query} )
//! query     := name ":" action {AND condition} [ORDER BY column [ASC | DESC] {, column [ASC | DESC]}] [LIMIT n] [OFFSET n]
//!              [TTL 'duration'] [RATE number] [WEIGHT number]
//! action    := condition | ALL | RAW SCAN [FROM row] [TO row] | (PUT | DELETE | INCREMENT | APPEND) condition
//! condition := column = ? | column IN LIST | column IN RANGE | column LIKE ?
//! row       := 'text' | x'00ff'
//! ```
//!
//! A query reads unless it begins with another verb. ORDER BY, LIMIT and OFFSET apply to reads, TTL
//! is the time to live of the cells of a PUT, RATE is the number of executions per second on the
//! busiest row.

use std::fmt;

use super::cursor::{Cursor, Name};
use super::declaration::{Action, ConditionKind, Query, QueryCondition, QueryOrder};
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use super::print::{constant, name};
use super::types::{duration_ms, print_duration_ms};
use crate::schema::Order;

/// Maximum queries of one table.
const MAX_QUERIES: usize = 256;
/// Maximum conditions of one query, and columns of its order.
const MAX_COLUMNS: usize = 256;

/// Parses the text after `QUERIES`; also returns the positions of the columns that
/// [`Query::columns`] returns for each.
pub(super) fn queries(cursor: &mut Cursor<'_>) -> Result<(Vec<Query>, Vec<Span>), LanguageError> {
    let mut places = Vec::new();
    cursor.expect_sign('(')?;
    let mut queries: Vec<Query> = Vec::new();
    loop {
        let at = cursor.span();
        let query = query(cursor, &mut places)?;
        if queries.len() == MAX_QUERIES || queries.iter().any(|other| other.name == query.name) {
            return Err(LanguageError::new(
                at,
                format!("queries have different names, and a table at most {MAX_QUERIES} of them"),
            ));
        }
        queries.push(query);
        if !cursor.eat_sign(',') {
            return if cursor.eat_sign(')') {
                Ok((queries, places))
            } else {
                Err(unexpected(cursor, queries.last()))
            };
        }
    }
}

impl Query {
    /// Parses one query, in the syntax of `WITH QUERIES`, on these columns.
    ///
    /// # Errors
    /// The first error, with its position in `text`; a column that is not in `columns`.
    pub fn parse(text: &str, columns: &[&str]) -> Result<Self, LanguageError> {
        let mut cursor = Cursor::new(text)?;
        let mut places = Vec::new();
        let found = query(&mut cursor, &mut places)?;
        if !cursor.at_end() {
            return Err(unexpected(&cursor, Some(&found)));
        }
        if let Some((unknown, span)) =
            found.columns().zip(&places).find(|(column, _)| !columns.contains(column))
        {
            let message = format!(
                "query {} names {unknown}, and there are {}",
                found.name,
                columns.join(", ")
            );
            return Err(LanguageError::new(*span, message).near(unknown, columns.iter().copied()));
        }
        Ok(found)
    }
}

/// Returns the error that something else than the rest of a query was expected.
fn unexpected(cursor: &Cursor<'_>, query: Option<&Query>) -> LanguageError {
    let rows: &[&str] = &["LIMIT", "OFFSET"];
    let of_action: [&[&str]; 3] = match query {
        Some(Query { action: Action::Read, conditions, .. }) if conditions.is_empty() => {
            [&[], &["ORDER BY"], rows]
        }
        Some(Query { action: Action::Read, .. }) => [&["AND"], &["ORDER BY"], rows],
        Some(Query { action: Action::RawScan { .. }, .. }) => [&["FROM", "TO"], rows, &[]],
        Some(Query { action: Action::Put { .. }, .. }) => [&["AND"], &["TTL"], &[]],
        _ => [&["AND"], &[], &[]],
    };
    let words = of_action.concat().into_iter().chain(["RATE", "WEIGHT", "','", "')'"]);
    // Misplaced and repeated clauses are not expected there.
    let expected: Vec<&str> = words.filter(|word| !cursor.is_word(word)).collect();
    cursor.unexpected(&expected)
}

fn query(cursor: &mut Cursor<'_>, places: &mut Vec<Span>) -> Result<Query, LanguageError> {
    let name = cursor.expect_name("a query's name")?.text;
    cursor.expect_sign(':')?;
    let (mut action, has_conditions) = action(cursor)?;
    let mut conditions = Vec::new();
    while has_conditions && (conditions.is_empty() || cursor.eat_word("AND")) {
        if conditions.len() == MAX_COLUMNS {
            return Err(LanguageError::new(
                cursor.span(),
                format!("a query has at most {MAX_COLUMNS} conditions"),
            ));
        }
        conditions.push(condition(cursor, places)?);
    }
    let reads = matches!(action, Action::Read | Action::RawScan { .. });
    let order = if matches!(action, Action::Read) && cursor.eat_words(&["ORDER", "BY"]) {
        order(cursor, places)?
    } else {
        Vec::new()
    };
    let limit = if reads { rows(cursor, "LIMIT")? } else { None };
    let offset = if reads { rows(cursor, "OFFSET")? } else { None };
    if let Action::Put { ttl_ms } = &mut action
        && cursor.eat_word("TTL")
    {
        *ttl_ms = Some(duration_ms(cursor)?);
    }
    let rate = if cursor.eat_word("RATE") { Some(positive(cursor, "a rate", "50")?) } else { None };
    let weight = if cursor.eat_word("WEIGHT") { positive(cursor, "a weight", "0.9")? } else { 1.0 };
    Ok(Query { name, action, conditions, order, limit, offset, rate, weight })
}

/// Parses the operation; also returns `true` if conditions follow. A verb followed by a condition
/// is a column.
fn action(cursor: &mut Cursor<'_>) -> Result<(Action, bool), LanguageError> {
    let is_condition = |cursor: &Cursor<'_>, ahead| {
        cursor.is_sign_ahead(ahead, '=')
            || ["IN", "LIKE"].iter().any(|word| cursor.is_word_ahead(ahead, word))
    };
    if cursor.eat_words(&["RAW", "SCAN"]) {
        let from = if cursor.eat_word("FROM") { Some(row(cursor)?) } else { None };
        let to = if cursor.eat_word("TO") { Some(row(cursor)?) } else { None };
        return Ok((Action::RawScan { from, to }, false));
    }
    if cursor.is_word("ALL") && !is_condition(cursor, 1) {
        cursor.advance();
        return Ok((Action::Read, false));
    }
    let verbs = [
        ("PUT", Action::Put { ttl_ms: None }),
        ("DELETE", Action::Delete),
        ("INCREMENT", Action::Increment),
        ("APPEND", Action::Append),
    ];
    let verb = verbs.into_iter().find(|(word, _)| cursor.is_word(word) && is_condition(cursor, 2));
    Ok(match verb {
        Some((_, action)) => {
            cursor.advance();
            (action, true)
        }
        None => (Action::Read, true),
    })
}

fn row(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, LanguageError> {
    let row = match cursor.kind() {
        TokenKind::Text(text) => text.clone().into_bytes(),
        TokenKind::Hex(bytes) => bytes.clone(),
        _ => return Err(cursor.unexpected(&["a row like 'm' or x'80'"])),
    };
    if row.is_empty() {
        return Err(LanguageError::new(cursor.span(), "a row has at least one byte")
            .suggest("leave FROM or TO out for the ends of the table"));
    }
    cursor.advance();
    Ok(row)
}

fn condition(
    cursor: &mut Cursor<'_>,
    places: &mut Vec<Span>,
) -> Result<QueryCondition, LanguageError> {
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

/// Returns the columns of an order. After a comma the next query may begin, which a colon
/// indicates.
fn order(
    cursor: &mut Cursor<'_>,
    places: &mut Vec<Span>,
) -> Result<Vec<QueryOrder>, LanguageError> {
    let mut columns: Vec<QueryOrder> = Vec::new();
    loop {
        let Name { text: column, span } = cursor.expect_name("a column")?;
        if columns.len() == MAX_COLUMNS || columns.iter().any(|other| other.column == column) {
            return Err(LanguageError::new(
                span,
                format!("rows are ordered by a column once, and by at most {MAX_COLUMNS} columns"),
            ));
        }
        places.push(span);
        let order = if cursor.eat_word("DESC") { Order::Desc } else { Order::Asc };
        if order == Order::Asc {
            cursor.eat_word("ASC");
        }
        columns.push(QueryOrder { column, order });
        if !cursor.is_sign(',') || cursor.is_sign_ahead(2, ':') {
            return Ok(columns);
        }
        cursor.advance();
    }
}

fn rows(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<u64>, LanguageError> {
    if !cursor.eat_word(word) {
        return Ok(None);
    }
    let span = cursor.span();
    match cursor.expect_number("how many rows", i64::MAX.unsigned_abs())? {
        0 => Err(LanguageError::new(span, format!("{word} is at least one row"))
            .suggest(format!("leave {word} out"))),
        rows => Ok(Some(rows)),
    }
}

fn positive(cursor: &mut Cursor<'_>, expected: &str, example: &str) -> Result<f64, LanguageError> {
    let TokenKind::Number(digits) = *cursor.kind() else {
        return Err(cursor.unexpected(&[&format!("a number like {example}")]));
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => {
            cursor.advance();
            Ok(number)
        }
        _ => Err(LanguageError::new(
            cursor.span(),
            format!("{expected} is a number above 0, like {example}"),
        )),
    }
}

impl fmt::Display for Query {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: ", name(&self.name))?;
        self.fmt_action(out)?;
        let conditions: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        out.write_str(&conditions.join(" AND "))?;
        let order: Vec<String> = self.order.iter().map(ToString::to_string).collect();
        if !order.is_empty() {
            write!(out, " ORDER BY {}", order.join(", "))?;
        }
        for (word, rows) in [("LIMIT", self.limit), ("OFFSET", self.offset)] {
            rows.map_or(Ok(()), |rows| write!(out, " {word} {rows}"))?;
        }
        if let Action::Put { ttl_ms: Some(ms) } = self.action {
            write!(out, " TTL '{}'", print_duration_ms(ms))?;
        }
        self.rate.map_or(Ok(()), |rate| write!(out, " RATE {rate}"))?;
        if (self.weight - 1.0).abs() > 0.0 {
            write!(out, " WEIGHT {}", self.weight)
        } else {
            Ok(())
        }
    }
}

impl Query {
    /// Formats the part before the conditions.
    fn fmt_action(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Read if self.conditions.is_empty() => out.write_str("ALL"),
            Action::Read => Ok(()),
            Action::RawScan { from, to } => {
                out.write_str("RAW SCAN")?;
                let bounds = [("FROM", from), ("TO", to)];
                bounds.iter().try_for_each(|(word, row)| {
                    row.as_ref().map_or(Ok(()), |row| write!(out, " {word} {}", constant(row)))
                })
            }
            Action::Put { .. } => out.write_str("PUT "),
            Action::Delete => out.write_str("DELETE "),
            Action::Increment => out.write_str("INCREMENT "),
            Action::Append => out.write_str("APPEND "),
        }
    }
}

impl fmt::Display for QueryOrder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}{}",
            name(&self.column),
            if self.order == Order::Desc { " DESC" } else { "" }
        )
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
