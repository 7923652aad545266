//! Cuts a text into words, numbers, quoted pieces and signs, each with its place.

use super::TEXT_BYTES_MAX;
use super::error::{LanguageError, Span};

/// How the message about a quote or a comment ends that nothing closes.
pub(super) const NO_END: &str = "has no end";

/// One piece of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    /// As it stands in the text.
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// What a piece is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    /// Letters, digits and `_`, a letter in front: a word of the language or a name.
    Word(&'a str),
    /// A name in double quotes.
    Name(String),
    /// Text in single quotes.
    Text(String),
    /// `x'00ff'`.
    Hex(Vec<u8>),
    /// Digits, a decimal point perhaps, letters behind them perhaps: `16`, `0.9`, `15m`.
    Number(&'a str),
    /// Any other sign.
    Sign(char),
    /// Behind the last piece.
    End,
}

/// A comment that is not blank, without what begins and ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment<'a> {
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// All pieces of `source` with an [`TokenKind::End`] behind them, and its comments.
///
/// # Errors
/// A text longer than [`TEXT_BYTES_MAX`], what has no end, and what is no sign of the language.
pub(super) fn cut(source: &str) -> Result<(Vec<Token<'_>>, Vec<Comment<'_>>), LanguageError> {
    if source.len() > TEXT_BYTES_MAX {
        let span = Span { start: 0, end: 0 };
        return Err(LanguageError::new(span, format!("the text has {} bytes, and at most {TEXT_BYTES_MAX} are read", source.len())));
    }
    // Editors that write a byte order mark do not make it part of the text.
    let begin = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lexer = Lexer { source, at: begin, comments: Vec::new() };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let token = lexer.token()?;
        let ended = token.kind == TokenKind::End;
        tokens.push(token);
        if ended {
            return Ok((tokens, lexer.comments));
        }
    }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    comments: Vec<Comment<'a>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start, end: self.at }
    }

    fn skip_blanks(&mut self) -> Result<(), LanguageError> {
        loop {
            let rest = self.rest();
            let start = self.at;
            if let Some(comment) = rest.strip_prefix("--") {
                let length = comment.find('\n').unwrap_or(comment.len());
                self.at += 2 + length;
                self.note(&comment[..length], start);
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return Err(LanguageError::new(Span { start, end: start + 2 }, format!("the comment {NO_END}")).suggest("add */"));
                };
                self.at += length + 4;
                self.note(&comment[..length], start);
            } else {
                let blanks = rest.len() - rest.trim_start().len();
                if blanks == 0 {
                    return Ok(());
                }
                self.at += blanks;
            }
        }
    }

    fn note(&mut self, text: &'a str, start: usize) {
        let text = text.trim();
        if !text.is_empty() {
            self.comments.push(Comment { text, span: self.span_from(start) });
        }
    }

    fn token(&mut self) -> Result<Token<'a>, LanguageError> {
        let (start, rest) = (self.at, self.rest());
        let mut letters = rest.chars();
        let kind = match letters.next() {
            None => TokenKind::End,
            Some('\'') => TokenKind::Text(self.quoted('\'')?),
            Some('"') => TokenKind::Name(self.quoted('"')?),
            Some('x' | 'X') if letters.next() == Some('\'') => self.hex()?,
            Some(first) if first.is_alphabetic() || first == '_' => TokenKind::Word(self.take_while(is_name_part)),
            Some(first) if first.is_ascii_digit() => TokenKind::Number(self.take_while(|c| c.is_ascii_alphanumeric() || c == '.')),
            Some(sign @ ('(' | ')' | ',' | '.' | '=' | ';' | ':' | '{' | '}' | '[' | ']' | '?' | '*' | '-' | '+' | '<' | '>')) => {
                self.at += sign.len_utf8();
                TokenKind::Sign(sign)
            }
            Some(other) => {
                let span = Span { start, end: start + other.len_utf8() };
                let error = LanguageError::new(span, format!("{other:?} is no sign of the language"));
                let curly = matches!(other, '\u{2018}'..='\u{201f}' | '`' | '\u{b4}');
                return Err(if curly { error.suggest("quotes are straight: 'text', \"name\"") } else { error });
            }
        };
        Ok(Token { kind, text: &self.source[start..self.at], span: self.span_from(start) })
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// What stands between two quotes; two quotes in a row are one of the text.
    fn quoted(&mut self, quote: char) -> Result<String, LanguageError> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = self.rest();
            let Some(length) = rest.find(quote) else {
                return Err(LanguageError::new(Span { start, end: start + 1 }, format!("the quote {NO_END}")).suggest(format!("add {quote}")));
            };
            text.push_str(&rest[..length]);
            self.at += length + 1;
            if !self.rest().starts_with(quote) {
                return Ok(text);
            }
            text.push(quote);
            self.at += 1;
        }
    }

    fn hex(&mut self) -> Result<TokenKind<'a>, LanguageError> {
        let start = self.at;
        self.at += 1;
        let digits = self.quoted('\'')?;
        let pairs = digits.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = pairs.map(|pair| std::str::from_utf8(pair).ok().and_then(byte_of)).collect();
        let wrong = || LanguageError::new(self.span_from(start), "bytes are written as pairs of hexadecimal digits, like x'00ff'");
        bytes.map(TokenKind::Hex).ok_or_else(wrong)
    }
}

fn byte_of(pair: &str) -> Option<u8> {
    let hexadecimal = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
    hexadecimal.then(|| u8::from_str_radix(pair, 16).ok())?
}

/// Whether a character may stand in a name without quotes, behind the first.
pub(super) fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
