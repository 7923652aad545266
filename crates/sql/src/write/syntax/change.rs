//! UPDATE and DELETE.

use datafusion::sql::sqlparser::ast::{
    Delete, FromTable, Ident, LimitClause, OrderBy, Query, Statement, TableAlias, TableFactor,
    Update, UpdateTableFromKind,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{ChangeStatement, WriteStatement, assignments, parse_tokens, parsed, parts, refuse};
use crate::error::{Result, SqlError, SqlState};

/// UPDATE or DELETE. `ORDER BY .. LIMIT ..`, which the parser does not read in UPDATE, is read as
/// that of a query.
pub(super) fn change(mut tokens: Vec<TokenWithSpan>) -> Result<WriteStatement> {
    let (order_by, limit) = match order_and_limit(&tokens) {
        Some((start, end)) => {
            let mut query = parse_tokens("SELECT 1")?;
            query.extend(tokens.drain(start..end));
            let Statement::Query(query) = parsed(query)? else {
                return Err(SqlError::new(SqlState::Syntax, "ORDER BY columns LIMIT n"));
            };
            of_query(*query)?
        }
        None => (None, None),
    };
    let mut statement = match parsed(tokens)? {
        Statement::Update(update) => of_update(update)?,
        Statement::Delete(delete) => of_delete(delete)?,
        _ => return Err(SqlError::unsupported("this statement is none of this dialect")),
    };
    (statement.order_by, statement.limit) = (order_by, limit);
    Ok(WriteStatement::Change(Box::new(statement)))
}

/// Returns ORDER BY and LIMIT of a query that has nothing else.
fn of_query(query: Query) -> Result<(Option<OrderBy>, Option<LimitClause>)> {
    let Query {
        with,
        body: _,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    refuse(&[
        (with.is_some(), "WITH"),
        (fetch.is_some(), "FETCH FIRST (LIMIT n says how many rows)"),
        (!locks.is_empty() || for_clause.is_some(), "FOR .. (each row is written atomically)"),
        (settings.is_some() || format_clause.is_some(), "FORMAT or SETTINGS"),
        (!pipe_operators.is_empty(), "|>"),
    ])?;
    Ok((order_by, limit_clause))
}

/// Returns the place of `ORDER BY .. LIMIT ..` outside of parentheses.
fn order_and_limit(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    let mut depth = 0usize;
    let mut start = None;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 => match (word.keyword, start) {
                (Keyword::ORDER | Keyword::LIMIT, None) => start = Some(at),
                (Keyword::RETURNING, Some(start)) => return Some((start, at)),
                _ => {}
            },
            _ => {}
        }
    }
    start.map(|start| (start, tokens.len()))
}

pub(super) fn of_update(update: Update) -> Result<ChangeStatement> {
    let Update {
        update_token: _,
        optimizer_hints,
        table,
        assignments: list,
        from,
        selection,
        returning,
        output,
        or,
        order_by,
        limit,
    } = update;
    refuse(&[
        (!optimizer_hints.is_empty(), "a hint"),
        (output.is_some(), "OUTPUT (RETURNING returns rows)"),
        (or.is_some(), "OR .."),
        (!order_by.is_empty() || limit.is_some(), "ORDER BY or LIMIT here"),
        (!table.joins.is_empty(), "a join of the table that is written (join in FROM)"),
    ])?;
    let (name, alias) = target(table.relation)?;
    let from = match from {
        None => Vec::new(),
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
    };
    Ok(ChangeStatement {
        table: name,
        alias,
        from,
        assignments: Some(assignments(list)?),
        selection,
        order_by: None,
        limit: None,
        returning,
    })
}

fn of_delete(delete: Delete) -> Result<ChangeStatement> {
    let Delete {
        delete_token: _,
        optimizer_hints,
        tables,
        from,
        using,
        selection,
        returning,
        output,
        order_by,
        limit,
    } = delete;
    let (FromTable::WithFromKeyword(mut from) | FromTable::WithoutKeyword(mut from)) = from;
    refuse(&[
        (!optimizer_hints.is_empty(), "a hint"),
        (output.is_some(), "OUTPUT (RETURNING returns rows)"),
        (!order_by.is_empty() || limit.is_some(), "ORDER BY or LIMIT here"),
        (!tables.is_empty() || from.len() != 1, "a DELETE of several tables"),
        (
            from.iter().any(|one| !one.joins.is_empty()),
            "a join of the table that is written (join in USING)",
        ),
    ])?;
    let (name, alias) = target(from.remove(0).relation)?;
    Ok(ChangeStatement {
        table: name,
        alias,
        from: using.unwrap_or_default(),
        assignments: None,
        selection,
        order_by: None,
        limit: None,
        returning,
    })
}

/// Returns name and alias of the table that is written.
fn target(factor: TableFactor) -> Result<(Vec<Ident>, Option<Ident>)> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
            let alias = match alias {
                Some(TableAlias { name, columns, at: None, .. }) if columns.is_empty() => {
                    Some(name)
                }
                Some(alias) => {
                    return Err(SqlError::unsupported(format!(
                        "{alias}: the table that is written has no other names of columns"
                    )));
                }
                None => None,
            };
            Ok((parts(&name)?, alias))
        }
        other => Err(SqlError::unsupported(format!("{other}: name one table to write"))),
    }
}
