//! Cursor over the tokens of a text, which reports the expected input on errors.

use super::error::{LanguageError, Span};
use super::lexer::{Comment, Token, TokenKind, cut};

/// Name with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// Position in the tokens of a text.
pub(super) struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    comments: Vec<Comment<'a>>,
    index: usize,
    /// Positions of the segments of the last key; for reports only.
    pub(super) segments: Vec<Span>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str) -> Result<Self, LanguageError> {
        let (tokens, comments) = cut(source)?;
        Ok(Self { tokens, comments, index: 0, segments: Vec::new() })
    }

    /// Returns a cursor over text inside another one: `layout` contains the outer position of each
    /// byte, and of the end.
    pub(super) fn inside(
        text: &'a str,
        place: impl Fn(usize) -> usize,
    ) -> Result<Self, LanguageError> {
        let moved = |span: Span| Span { start: place(span.start), end: place(span.end) };
        let cut = cut(text).map_err(|error| LanguageError { span: moved(error.span), ..error });
        let (mut tokens, comments) = cut?;
        for token in &mut tokens {
            token.span = moved(token.span);
        }
        Ok(Self { tokens, comments, index: 0, segments: Vec::new() })
    }

    pub(super) fn comments(&self) -> &[Comment<'a>] {
        &self.comments
    }

    /// Returns the token `ahead` positions further; after the last it is [`TokenKind::End`].
    fn token(&self, ahead: usize) -> &Token<'a> {
        &self.tokens[(self.index + ahead).min(self.tokens.len() - 1)]
    }

    /// Returns the kind of the next token.
    pub(super) fn kind(&self) -> &TokenKind<'a> {
        &self.token(0).kind
    }

    /// Returns the position of the next token.
    pub(super) fn span(&self) -> Span {
        self.token(0).span
    }

    /// Returns the position of the last consumed token.
    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.index.saturating_sub(1)].span
    }

    pub(super) fn advance(&mut self) {
        self.index = (self.index + 1).min(self.tokens.len() - 1);
    }

    /// Returns `true` if the token `ahead` positions further is the keyword.
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

    /// Consumes a keyword if it follows.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let comes = self.is_word(word);
        if comes {
            self.advance();
        }
        comes
    }

    /// Consumes several consecutive keywords if all of them follow.
    pub(super) fn eat_words(&mut self, words: &[&str]) -> bool {
        let come = words.iter().enumerate().all(|(ahead, word)| self.is_word_ahead(ahead, word));
        if come {
            self.index += words.len();
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

    /// Returns a name, with or without quotes; `expected` describes it in the message.
    pub(super) fn expect_name(&mut self, expected: &str) -> Result<Name, LanguageError> {
        let text = match self.kind() {
            TokenKind::Word(word) => (*word).to_owned(),
            TokenKind::Name(name) if !name.is_empty() => name.clone(),
            _ => return Err(self.unexpected(&[expected])),
        };
        let span = self.span();
        self.advance();
        Ok(Name { text, span })
    }

    /// Returns an integer of at most `most`.
    pub(super) fn expect_number(
        &mut self,
        expected: &str,
        most: u64,
    ) -> Result<u64, LanguageError> {
        let TokenKind::Number(digits) = *self.kind() else {
            return Err(self.unexpected(&[expected]));
        };
        if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(LanguageError::new(
                self.span(),
                format!("{digits} is no whole number; expected {expected}"),
            ));
        }
        match digits.parse() {
            Ok(number) if number <= most => {
                self.advance();
                Ok(number)
            }
            _ => Err(LanguageError::new(
                self.span(),
                format!("{digits} is too great; expected {expected}, at most {most}"),
            )),
        }
    }

    /// Returns text in single quotes, with its position.
    pub(super) fn expect_text(&mut self, expected: &str) -> Result<(String, Span), LanguageError> {
        let TokenKind::Text(text) = self.kind() else { return Err(self.unexpected(&[expected])) };
        let found = (text.clone(), self.span());
        self.advance();
        Ok(found)
    }

    /// Returns names separated by commas, with or without parentheses.
    pub(super) fn expect_names(&mut self, expected: &str) -> Result<Vec<Name>, LanguageError> {
        let enclosed = self.eat_sign('(');
        let mut names = vec![self.expect_name(expected)?];
        while self.eat_sign(',') {
            names.push(self.expect_name(expected)?);
        }
        if enclosed {
            self.expect_sign(')')?;
        }
        Ok(names)
    }

    /// Returns the error that something else was expected here. A word that is nearly one of them
    /// is suggested.
    pub(super) fn unexpected(&self, expected: &[&str]) -> LanguageError {
        let found = match self.kind() {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Sign(sign) => format!("'{sign}'"),
            _ => shortened(self.token(0).text),
        };
        let error = LanguageError::new(
            self.span(),
            format!("expected {}, found {found}", either(expected)),
        );
        match self.kind() {
            TokenKind::Word(word) => error.near(
                word,
                expected
                    .iter()
                    .copied()
                    .filter(|one| one.bytes().all(|byte| byte.is_ascii_uppercase())),
            ),
            _ => error,
        }
    }
}

/// Returns a piece of the text as messages quote it.
pub(super) fn shortened(text: &str) -> String {
    const MAX_QUOTED_CHARS: usize = 32;
    let mut shown: String =
        text.chars().take(MAX_QUOTED_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > MAX_QUOTED_CHARS {
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
