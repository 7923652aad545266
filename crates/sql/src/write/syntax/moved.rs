//! MOVE ROW.

use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::change::of_update;
use super::{ChangeStatement, MoveStatement, parse_tokens, parsed, refuse};
use crate::error::{Result, SqlError, SqlState};
use crate::parse::is_word;

/// Reads the pairs of MOVE ROW as those of an UPDATE.
pub(super) fn move_row(tokens: &[TokenWithSpan]) -> Result<MoveStatement> {
    let at = tokens[0].span.start;
    let wrong = || {
        let text = "MOVE ROW IN t (a = 1, b = 2) TO (a = 3, b = 2): every field of the key in both";
        SqlError::new(SqlState::Syntax, text).at(at.line, at.column)
    };
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|one| is_word(&one.token, word));
    if !is(1, "ROW") || !is(2, "IN") {
        return Err(wrong());
    }
    let open = tokens.iter().position(|one| one.token == Token::LParen).ok_or_else(wrong)?;
    let close = closing(tokens, open).ok_or_else(wrong)?;
    let second = close + 2;
    if !is(close + 1, "TO") || closing(tokens, second).is_none_or(|end| end + 1 != tokens.len()) {
        return Err(wrong());
    }
    let pairs = |open: usize, close: usize| -> Result<ChangeStatement> {
        let mut update = parse_tokens("UPDATE")?;
        update.extend_from_slice(
            &tokens[3..tokens.iter().position(|one| one.token == Token::LParen).unwrap_or(3)],
        );
        update.extend(parse_tokens("SET")?);
        update.extend_from_slice(&tokens[open + 1..close]);
        match parsed(update)? {
            Statement::Update(update) => pairs_alone(of_update(update)?),
            _ => Err(wrong()),
        }
    };
    let from = pairs(open, close)?;
    let to = pairs(second, tokens.len() - 1)?;
    Ok(MoveStatement {
        table: from.table,
        from: from.assignments.unwrap_or_default(),
        to: to.assignments.unwrap_or_default(),
    })
}

/// Refuses what an UPDATE may have besides its pairs.
fn pairs_alone(update: ChangeStatement) -> Result<ChangeStatement> {
    refuse(&[
        (update.alias.is_some(), "an alias in MOVE ROW"),
        (!update.from.is_empty(), "FROM in MOVE ROW"),
        (update.selection.is_some(), "WHERE in MOVE ROW (the key says which row)"),
        (update.returning.is_some(), "RETURNING in MOVE ROW"),
    ])?;
    Ok(update)
}

fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    if tokens.get(open)?.token != Token::LParen {
        return None;
    }
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}
