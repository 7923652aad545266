//! Entries of a `MAP` that a statement gives values to, as in `SET tags['color'] = 'red'`. The parser
//! reads names there only, so such an entry becomes one name.

use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::parse::is_word;
use crate::types::map_entry::EntryKey;

/// Quote of names that are entries, which no text has.
const QUOTE: char = '[';

/// Makes one name of each entry in the list of columns of INSERT, and behind SET.
pub(super) fn name_entries(tokens: &mut Vec<TokenWithSpan>) {
    let columns = list_of_columns(tokens);
    let mut at = 0;
    let mut removed = 0;
    while at < tokens.len() {
        let is_target = columns.is_some_and(|(start, end)| start < at && at + removed < end)
            || is_set(tokens, at);
        if is_target && let Some(word) = entry_at(tokens, at) {
            let span = tokens[at].span;
            drop(tokens.splice(at..at + 4, [TokenWithSpan { token: word, span }]));
            removed += 3;
        }
        at += 1;
    }
}

/// Returns the map and the key of a name that is an entry.
pub(in crate::write) fn entry_of(name: &Ident) -> Option<(&str, EntryKey)> {
    if name.quote_style != Some(QUOTE) {
        return None;
    }
    let (map, key) = name.value.split_once('[')?;
    let key = key.strip_suffix(']')?;
    let text = key.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    Some((
        map,
        match text {
            Some(text) => EntryKey::Text(text.to_owned()),
            None => EntryKey::Number(key.parse().ok()?),
        },
    ))
}

/// Returns the places of the parentheses around the columns of INSERT.
fn list_of_columns(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    if !tokens.get(1).is_some_and(|token| is_word(&token.token, "INTO")) {
        return None;
    }
    let is_name = |token: &TokenWithSpan| {
        matches!(token.token, Token::Word(_) | Token::Period | Token::Colon)
    };
    let start = tokens.iter().position(|token| !is_name(token))?;
    if tokens[start].token != Token::LParen || tokens[..start].iter().any(begins_rows) {
        return None;
    }
    let length = tokens[start..].iter().position(|token| token.token == Token::RParen)?;
    Some((start, start + length))
}

fn begins_rows(token: &TokenWithSpan) -> bool {
    matches!(
        &token.token,
        Token::Word(word) if matches!(word.keyword, Keyword::VALUES | Keyword::SELECT | Keyword::WITH)
    )
}

/// Returns `true` for the name of a column behind SET, or behind the comma of its list.
fn is_set(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    let is_first = is_word(&tokens[before].token, "SET") || tokens[before].token == Token::Comma;
    is_first && tokens.get(at + 4).is_some_and(|token| token.token == Token::Eq)
}

/// Returns the name that `map [ key ]` is.
fn entry_at(tokens: &[TokenWithSpan], at: usize) -> Option<Token> {
    let [map, open, key, close] = tokens.get(at..at + 4)? else { return None };
    let (Token::Word(map), Token::LBracket, Token::RBracket) =
        (&map.token, &open.token, &close.token)
    else {
        return None;
    };
    let key = match &key.token {
        Token::SingleQuotedString(text) => format!("'{text}'"),
        Token::Number(digits, _) => digits.clone(),
        _ => return None,
    };
    Some(Token::Word(Word {
        value: format!("{}[{key}]", map.value),
        quote_style: Some(QUOTE),
        keyword: Keyword::NoKeyword,
    }))
}
