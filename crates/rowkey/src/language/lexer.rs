//! Lexer: splits a text into words, numbers, quoted text and signs, each with its position.

use super::error::{LanguageError, Span};

/// Maximum bytes of a text.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
/// End of the message about an unclosed quote or comment.
pub(super) const NO_END: &str = "has no end";

/// Token of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    /// Text of the token in the source.
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// Kind of a token.
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
    /// Digits, an optional decimal point, optional letters after them: `16`, `0.9`, `15m`.
    Number(&'a str),
    /// Any other sign.
    Sign(char),
    /// End of the text.
    End,
}

/// Comment that is not blank, without its delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment<'a> {
    pub(super) text: &'a str,
    pub(super) span: Span,
}

/// Returns all tokens of `source` followed by an [`TokenKind::End`], and its comments.
///
/// # Errors
/// A text longer than [`MAX_TEXT_BYTES`], an unclosed quote or comment, and an invalid character.
pub(super) fn cut(source: &str) -> Result<(Vec<Token<'_>>, Vec<Comment<'_>>), LanguageError> {
    if source.len() > MAX_TEXT_BYTES {
        let span = Span { start: 0, end: 0 };
        return Err(LanguageError::new(
            span,
            format!("the text has {} bytes, and at most {MAX_TEXT_BYTES} are read", source.len()),
        ));
    }
    // A byte order mark of an editor is not part of the text.
    let begin = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lexer = Lexer { source, offset: begin, comments: Vec::new() };
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
    offset: usize,
    comments: Vec<Comment<'a>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.offset..]
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start, end: self.offset }
    }

    fn skip_blanks(&mut self) -> Result<(), LanguageError> {
        loop {
            let rest = self.rest();
            let start = self.offset;
            if let Some(comment) = rest.strip_prefix("--") {
                let length = comment.find('\n').unwrap_or(comment.len());
                self.offset += 2 + length;
                self.record_comment(&comment[..length], start);
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return Err(LanguageError::new(
                        Span { start, end: start + 2 },
                        format!("the comment {NO_END}"),
                    )
                    .suggest("add */"));
                };
                self.offset += length + 4;
                self.record_comment(&comment[..length], start);
            } else {
                let blanks = rest.len() - rest.trim_start().len();
                if blanks == 0 {
                    return Ok(());
                }
                self.offset += blanks;
            }
        }
    }

    fn record_comment(&mut self, text: &'a str, start: usize) {
        let text = text.trim();
        if !text.is_empty() {
            self.comments.push(Comment { text, span: self.span_from(start) });
        }
    }

    fn token(&mut self) -> Result<Token<'a>, LanguageError> {
        let (start, rest) = (self.offset, self.rest());
        let mut letters = rest.chars();
        let kind = match letters.next() {
            None => TokenKind::End,
            Some('\'') => TokenKind::Text(self.quoted('\'')?),
            Some('"') => TokenKind::Name(self.quoted('"')?),
            Some('x' | 'X') if letters.next() == Some('\'') => self.hex()?,
            Some(first) if first.is_alphabetic() || first == '_' => {
                TokenKind::Word(self.take_while(is_name_part))
            }
            Some(first) if first.is_ascii_digit() => {
                TokenKind::Number(self.take_while(|c| c.is_ascii_alphanumeric() || c == '.'))
            }
            Some(
                sign @ ('(' | ')' | ',' | '.' | '=' | ';' | ':' | '{' | '}' | '[' | ']' | '?' | '*'
                | '-' | '+' | '<' | '>'),
            ) => {
                self.offset += sign.len_utf8();
                TokenKind::Sign(sign)
            }
            Some(other) => {
                let span = Span { start, end: start + other.len_utf8() };
                let error =
                    LanguageError::new(span, format!("{other:?} is no sign of the language"));
                let curly = matches!(other, '\u{2018}'..='\u{201f}' | '`' | '\u{b4}');
                return Err(if curly {
                    error.suggest("quotes are straight: 'text', \"name\"")
                } else {
                    error
                });
            }
        };
        Ok(Token { kind, text: &self.source[start..self.offset], span: self.span_from(start) })
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.offset += length;
        &rest[..length]
    }

    /// Reads the text between two quotes; a doubled quote is a quote in the text.
    fn quoted(&mut self, quote: char) -> Result<String, LanguageError> {
        let start = self.offset;
        let mut text = String::new();
        self.offset += 1;
        loop {
            let rest = self.rest();
            let Some(length) = rest.find(quote) else {
                return Err(LanguageError::new(
                    Span { start, end: start + 1 },
                    format!("the quote {NO_END}"),
                )
                .suggest(format!("add {quote}")));
            };
            text.push_str(&rest[..length]);
            self.offset += length + 1;
            if !self.rest().starts_with(quote) {
                return Ok(text);
            }
            text.push(quote);
            self.offset += 1;
        }
    }

    fn hex(&mut self) -> Result<TokenKind<'a>, LanguageError> {
        let start = self.offset;
        self.offset += 1;
        let digits = self.quoted('\'')?;
        let pairs = digits.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> =
            pairs.map(|pair| std::str::from_utf8(pair).ok().and_then(byte_of)).collect();
        let wrong = || {
            LanguageError::new(
                self.span_from(start),
                "bytes are written as pairs of hexadecimal digits, like x'00ff'",
            )
        };
        bytes.map(TokenKind::Hex).ok_or_else(wrong)
    }
}

fn byte_of(pair: &str) -> Option<u8> {
    let hexadecimal = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
    hexadecimal.then(|| u8::from_str_radix(pair, 16).ok())?
}

/// Returns `true` if a character may be in a name without quotes, after the first.
pub(super) fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
