//! Words of a statement.

use datafusion::sql::sqlparser::tokenizer::Token;

/// Returns `true` for an unquoted word, in any case.
pub(crate) fn is_word(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}
