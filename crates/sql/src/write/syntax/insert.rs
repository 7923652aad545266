//! INSERT and UPSERT.

use datafusion::sql::sqlparser::ast::{
    ConflictTarget, Insert, OnConflictAction, OnInsert, Statement, TableObject,
};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{
    ConflictUpdate, InsertStatement, OnConflict, WriteStatement, assignments, last_part, parsed,
    parts, refuse,
};
use crate::error::{Result, SqlError, SqlState};
use crate::parse::is_word;

pub(super) fn insert(mut tokens: Vec<TokenWithSpan>, is_upsert: bool) -> Result<WriteStatement> {
    let first = tokens[0].span;
    tokens[0] = TokenWithSpan { token: Token::make_keyword("INSERT"), span: first };
    let is_only = phoenix_conflicts(&mut tokens);
    let Statement::Insert(insert) = parsed(tokens)? else {
        return Err(SqlError::new(SqlState::Syntax, "INSERT INTO t (columns) VALUES (..)"));
    };
    let mut statement = of_insert(insert, is_only)?;
    statement.is_upsert = is_upsert;
    if is_upsert && !matches!(statement.on_conflict, OnConflict::Fail) && !is_only {
        // In Phoenix UPSERT is the only verb, and this clause makes it look.
        statement.is_upsert = false;
    }
    Ok(WriteStatement::Insert(Box::new(statement)))
}

/// Reads `ON DUPLICATE KEY IGNORE` as `ON CONFLICT DO NOTHING`, and `UPDATE_ONLY` as `UPDATE`;
/// returns `true` for the latter.
fn phoenix_conflicts(tokens: &mut [TokenWithSpan]) -> bool {
    let is = |at: usize, word: &str, tokens: &[TokenWithSpan]| {
        tokens.get(at).is_some_and(|token| is_word(&token.token, word))
    };
    let start = (0..tokens.len()).find(|at| {
        is(*at, "ON", tokens) && is(at + 1, "DUPLICATE", tokens) && is(at + 2, "KEY", tokens)
    });
    let Some(start) = start else { return false };
    if is(start + 3, "UPDATE_ONLY", tokens) {
        tokens[start + 3].token = Token::make_keyword("UPDATE");
        return true;
    }
    if is(start + 3, "IGNORE", tokens) {
        for (at, word) in ["CONFLICT", "DO", "NOTHING"].into_iter().enumerate() {
            tokens[start + 1 + at].token = Token::make_keyword(word);
        }
    }
    false
}

fn of_insert(insert: Insert, is_only: bool) -> Result<InsertStatement> {
    let Insert {
        insert_token: _,
        optimizer_hints,
        or,
        ignore,
        into: _,
        table,
        table_alias,
        columns,
        overwrite,
        source,
        assignments,
        partitioned,
        after_columns,
        has_table_keyword: _,
        on,
        returning,
        output,
        replace_into,
        priority,
        insert_alias,
        settings,
        format_clause,
        multi_table_insert_type,
        multi_table_into_clauses,
        multi_table_when_clauses,
        multi_table_else_clause,
    } = insert;
    refuse(&[
        (!optimizer_hints.is_empty(), "a hint"),
        (or.is_some(), "OR .. (ON CONFLICT says what happens to a row that is there)"),
        (ignore, "IGNORE (ON CONFLICT DO NOTHING leaves a row that is there)"),
        (overwrite, "OVERWRITE (UPSERT writes over a row that is there)"),
        (!assignments.is_empty(), "SET (name the columns, and give VALUES)"),
        (partitioned.is_some() || !after_columns.is_empty(), "PARTITION"),
        (output.is_some(), "OUTPUT (RETURNING returns rows)"),
        (replace_into, "REPLACE (UPSERT writes over a row that is there)"),
        (priority.is_some(), "a priority"),
        (insert_alias.is_some(), "an alias of the new row (its columns are excluded.c)"),
        (settings.is_some() || format_clause.is_some(), "FORMAT or SETTINGS"),
        (
            multi_table_insert_type.is_some()
                || !multi_table_into_clauses.is_empty()
                || !multi_table_when_clauses.is_empty()
                || multi_table_else_clause.is_some(),
            "INSERT ALL",
        ),
    ])?;
    let TableObject::TableName(table) = table else {
        return Err(SqlError::unsupported("INSERT INTO a function or a query: name a table"));
    };
    Ok(InsertStatement {
        is_upsert: false,
        table: parts(&table)?,
        alias: table_alias.map(|alias| alias.alias),
        columns: columns.iter().map(last_part).collect::<Result<_>>()?,
        source,
        on_conflict: on_conflict(on, is_only)?,
        returning,
    })
}

fn on_conflict(on: Option<OnInsert>, is_only: bool) -> Result<OnConflict> {
    let target = |target: Option<ConflictTarget>| match target {
        None => Ok(Vec::new()),
        Some(ConflictTarget::Columns(columns)) => Ok(columns),
        Some(ConflictTarget::OnConstraint(name)) => Err(SqlError::unsupported(format!(
            "ON CONSTRAINT {name}: the only constraint is the row key; leave it out, or name the \
             fields of the key"
        ))),
    };
    Ok(match on {
        None => OnConflict::Fail,
        Some(OnInsert::OnConflict(clause)) => {
            let key = target(clause.conflict_target)?;
            match clause.action {
                OnConflictAction::DoNothing => OnConflict::Nothing { key },
                OnConflictAction::DoUpdate(update) => {
                    OnConflict::Update(Box::new(ConflictUpdate {
                        key,
                        assignments: assignments(update.assignments)?,
                        selection: update.selection,
                        is_only: false,
                    }))
                }
            }
        }
        Some(OnInsert::DuplicateKeyUpdate(list)) => OnConflict::Update(Box::new(ConflictUpdate {
            key: Vec::new(),
            assignments: assignments(list)?,
            selection: None,
            is_only,
        })),
        Some(_) => return Err(SqlError::unsupported("this ON clause is none of this dialect")),
    })
}
