//! Goes through the pieces of a text and says what was expected where something else stands.

use super::error::{LanguageError, Span};
use super::lexer::{Comment, Token, TokenKind, cut};

/// A name with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A place among the pieces of a text.
pub(super) struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    comments: Vec<Comment<'a>>,
    at: usize,
    /// Where the segments of the key stand that was read last; for reports, which a mistake in a statement does not need.
    pub(super) segments: Vec<Span>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str) -> Result<Self, LanguageError> {
        let (tokens, comments) = cut(source)?;
        Ok(Self { tokens, comments, at: 0, segments: Vec::new() })
    }

    /// The same over text that stands inside another one: `place` says for each byte of it, and for its end, where.
    pub(super) fn inside(text: &'a str, place: impl Fn(usize) -> usize) -> Result<Self, LanguageError> {
        let moved = |span: Span| Span { start: place(span.start), end: place(span.end) };
        let cut = cut(text).map_err(|error| LanguageError { span: moved(error.span), ..error });
        let (mut tokens, comments) = cut?;
        for token in &mut tokens {
            token.span = moved(token.span);
        }
        Ok(Self { tokens, comments, at: 0, segments: Vec::new() })
    }

    pub(super) fn comments(&self) -> &[Comment<'a>] {
        &self.comments
    }

    /// The piece `ahead` places on; behind the last it is [`TokenKind::End`].
    fn token(&self, ahead: usize) -> &Token<'a> {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    /// What comes next.
    pub(super) fn kind(&self) -> &TokenKind<'a> {
        &self.token(0).kind
    }

    /// Where the next piece stands.
    pub(super) fn span(&self) -> Span {
        self.token(0).span
    }

    /// Where the last piece that was taken stands.
    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    /// Whether a word of the language comes `ahead` places on.
    pub(super) fn is_word_ahead(&self, ahead: usize, word: &str) -> bool {
        matches!(self.token(ahead).kind, TokenKind::Word(found) if found.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is_word_ahead(0, word)
    }

    pub(super) fn is_sign_ahead(&self, ahead: usize, sign: char) -> bool {
        self.token(ahead).kind == TokenKind::Sign(sign)
    }

    pub(super) fn is_number_ahead(&self, ahead: usize) -> bool {
        matches!(self.token(ahead).kind, TokenKind::Number(_))
    }

    pub(super) fn is_sign(&self, sign: char) -> bool {
        self.is_sign_ahead(0, sign)
    }

    pub(super) fn at_end(&self) -> bool {
        *self.kind() == TokenKind::End
    }

    /// Takes a word of the language if it comes next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let comes = self.is_word(word);
        if comes {
            self.advance();
        }
        comes
    }

    /// Takes several words in a row if all of them come next.
    pub(super) fn eat_words(&mut self, words: &[&str]) -> bool {
        let come = words.iter().enumerate().all(|(ahead, word)| self.is_word_ahead(ahead, word));
        if come {
            self.at += words.len();
        }
        come
    }

    pub(super) fn eat_sign(&mut self, sign: char) -> bool {
        let comes = self.is_sign(sign);
        if comes {
            self.advance();
        }
        comes
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), LanguageError> {
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected(&[word])) }
    }

    pub(super) fn expect_sign(&mut self, sign: char) -> Result<(), LanguageError> {
        if self.eat_sign(sign) { Ok(()) } else { Err(self.unexpected(&[&format!("'{sign}'")])) }
    }

    pub(super) fn expect_end(&mut self) -> Result<(), LanguageError> {
        self.eat_sign(';');
        if self.at_end() { Ok(()) } else { Err(self.unexpected(&["the end"])) }
    }

    /// A name, with quotes or without; `what` it names is for the message.
    pub(super) fn expect_name(&mut self, what: &str) -> Result<Name, LanguageError> {
        let text = match self.kind() {
            TokenKind::Word(word) => (*word).to_owned(),
            TokenKind::Name(name) if !name.is_empty() => name.clone(),
            _ => return Err(self.unexpected(&[what])),
        };
        let span = self.span();
        self.advance();
        Ok(Name { text, span })
    }

    /// A whole number up to `most`.
    pub(super) fn expect_number(&mut self, what: &str, most: u64) -> Result<u64, LanguageError> {
        let TokenKind::Number(digits) = *self.kind() else { return Err(self.unexpected(&[what])) };
        if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(LanguageError::new(self.span(), format!("{digits} is no whole number; expected {what}")));
        }
        match digits.parse() {
            Ok(number) if number <= most => {
                self.advance();
                Ok(number)
            }
            _ => Err(LanguageError::new(self.span(), format!("{digits} is too great; expected {what}, at most {most}"))),
        }
    }

    /// Text in single quotes, with its place.
    pub(super) fn expect_text(&mut self, what: &str) -> Result<(String, Span), LanguageError> {
        let TokenKind::Text(text) = self.kind() else { return Err(self.unexpected(&[what])) };
        let found = (text.clone(), self.span());
        self.advance();
        Ok(found)
    }

    /// Names separated by commas, with parentheses around them or without.
    pub(super) fn expect_names(&mut self, what: &str) -> Result<Vec<Name>, LanguageError> {
        let enclosed = self.eat_sign('(');
        let mut names = vec![self.expect_name(what)?];
        while self.eat_sign(',') {
            names.push(self.expect_name(what)?);
        }
        if enclosed {
            self.expect_sign(')')?;
        }
        Ok(names)
    }

    /// The error that something else was expected here. A word that is nearly one of them is suggested.
    pub(super) fn unexpected(&self, expected: &[&str]) -> LanguageError {
        let found = match self.kind() {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Sign(sign) => format!("'{sign}'"),
            _ => shortened(self.token(0).text),
        };
        let error = LanguageError::new(self.span(), format!("expected {}, found {found}", either(expected)));
        match self.kind() {
            TokenKind::Word(word) => error.near(word, expected.iter().copied().filter(|one| one.bytes().all(|byte| byte.is_ascii_uppercase()))),
            _ => error,
        }
    }
}

/// A piece of the text as messages quote it.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN_MAX: usize = 32;
    let mut shown: String = text.chars().take(SHOWN_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > SHOWN_MAX {
        shown.push_str("...");
    }
    shown
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}
