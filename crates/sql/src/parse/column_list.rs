//! Columns that a statement gives a table of FROM besides the declared ones, as in
//! `t (c I64, f.q STRING ENCODING TEXT)`: Phoenix's dynamic columns.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::history::{call, is_keyword, name_start, sign, wrong};
use crate::error::Result;

/// Hint of such columns: family, name and declaration of each, as text.
pub(crate) const COLUMNS_HINT: &str = "columns";

const FORM: &str = "a column is written with its type, and may have a family in front, as in \
                    t (c I64, f.q STRING ENCODING TEXT)";

/// Returns `true` if a list of columns behind a table begins at a place. The arguments of a function
/// are no two words in a row, but for operators.
pub(super) fn begins(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_open = at > 0 && tokens.get(at).is_some_and(|token| token.token == Token::LParen);
    is_open
        && item(&tokens[at + 1..]).is_some()
        && name_start(&tokens[..at]).is_some_and(|name| is_in_from(&tokens[..name]))
}

/// Returns `true` if a table of FROM may follow.
fn is_in_from(before: &[TokenWithSpan]) -> bool {
    /// Words after which a comma divides something else.
    const OTHERS: [Keyword; 8] = [
        Keyword::SELECT,
        Keyword::WHERE,
        Keyword::GROUP,
        Keyword::HAVING,
        Keyword::ORDER,
        Keyword::VALUES,
        Keyword::SET,
        Keyword::RETURNING,
    ];
    let Some(last) = before.last() else { return false };
    if last.token != Token::Comma {
        return is_keyword(last, &[Keyword::FROM, Keyword::JOIN]);
    }
    let mut depth = 0usize;
    for token in before.iter().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return false,
            Token::LParen => depth -= 1,
            _ if depth > 0 => {}
            _ if is_keyword(token, &[Keyword::FROM]) => return true,
            _ if is_keyword(token, &OTHERS) => return false,
            _ => {}
        }
    }
    false
}

/// Returns how many tokens the name of a column has, if a type may follow it.
fn item(tokens: &[TokenWithSpan]) -> Option<usize> {
    /// Words that begin an argument or follow one.
    const NO_NAMES: [Keyword; 12] = [
        Keyword::SELECT,
        Keyword::WITH,
        Keyword::VALUES,
        Keyword::TABLE,
        Keyword::DISTINCT,
        Keyword::ALL,
        Keyword::NOT,
        Keyword::CASE,
        Keyword::EXISTS,
        Keyword::VARIADIC,
        Keyword::INTERVAL,
        Keyword::CAST,
    ];
    const OPERATORS: [Keyword; 18] = [
        Keyword::AS,
        Keyword::FROM,
        Keyword::FOR,
        Keyword::AND,
        Keyword::OR,
        Keyword::IS,
        Keyword::IN,
        Keyword::LIKE,
        Keyword::ILIKE,
        Keyword::SIMILAR,
        Keyword::BETWEEN,
        Keyword::NOT,
        Keyword::COLLATE,
        Keyword::AT,
        Keyword::ORDER,
        Keyword::OVERLAPS,
        Keyword::OPERATOR,
        Keyword::ESCAPE,
    ];
    let is_word = |at: usize| tokens.get(at).is_some_and(|one| matches!(one.token, Token::Word(_)));
    if !is_word(0) || is_keyword(&tokens[0], &NO_NAMES) {
        return None;
    }
    let is_qualified = tokens.get(1).is_some_and(|one| one.token == Token::Period) && is_word(2);
    let name = if is_qualified { 3 } else { 1 };
    let is_type = tokens.get(name).is_some_and(|one| match &one.token {
        Token::Word(word) => word.quote_style.is_none() && !OPERATORS.contains(&word.keyword),
        _ => false,
    });
    is_type.then_some(name)
}

/// Returns the hint of a list of columns, and the place where it ends.
///
/// # Errors
/// `Syntax` with the place.
pub(super) fn hint(tokens: &[TokenWithSpan], open: usize) -> Result<(Vec<TokenWithSpan>, usize)> {
    let first = &tokens[open];
    let mut arguments: Vec<TokenWithSpan> = Vec::new();
    let mut at = open + 1;
    loop {
        let rest = &tokens[at..];
        let near = rest.first().unwrap_or(first);
        let name = item(rest).ok_or_else(|| wrong(near, FORM))?;
        let length = length_of(&rest[name..]).ok_or_else(|| wrong(first, FORM))?;
        let family = if name == 3 { text(&rest[0]) } else { String::new() };
        let ty: Vec<String> =
            rest[name..name + length].iter().map(|token| token.token.to_string()).collect();
        for (value, near) in
            [(family, near), (text(&rest[name - 1]), &rest[name - 1]), (ty.join(" "), &rest[name])]
        {
            if !arguments.is_empty() {
                arguments.push(sign(Token::Comma, near));
            }
            arguments.push(sign(Token::SingleQuotedString(value), near));
        }
        at += name + length + 1;
        if tokens[at - 1].token == Token::RParen {
            return Ok((call(COLUMNS_HINT, arguments, first), at));
        }
    }
}

/// Returns how many tokens there are up to a comma or the parenthesis that ends the list.
fn length_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth > 0 => depth -= 1,
            Token::Comma | Token::RParen => return depth == 0,
            _ => {}
        }
        false
    })
}

/// Returns the name that a word is.
fn text(token: &TokenWithSpan) -> String {
    match &token.token {
        Token::Word(word) => word.value.clone(),
        other => other.to_string(),
    }
}
