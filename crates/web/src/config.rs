//! Settings of the page: who may change something, what may be read, and under which names it is
//! served.

use std::fmt;
use std::hint::black_box;
use std::time::Duration;

/// Settings of the page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebConfig {
    /// Secret that a request must contain to change something; without one the page is read-only.
    pub token: Option<Token>,
    /// `true` if rows and values may be read. Region boundaries are shown in any case.
    pub shows_rows: bool,
    /// Host names, without ports, under which browsers may ask, besides `localhost` and addresses.
    /// A name that is not listed may be another site's whose address was changed to this
    /// machine's (DNS rebinding); an address cannot.
    pub hosts: Vec<String>,
    /// Age up to which statistics of a large cluster are used for further requests. Those of a
    /// small one, which answers within a millisecond, are requested again sooner. Default: one
    /// second.
    pub status_max_age: Duration,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            token: None,
            shows_rows: true,
            hosts: Vec::new(),
            status_max_age: Duration::from_secs(1),
        }
    }
}

/// Secret of those who may change something.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidToken;

impl fmt::Display for InvalidToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a token has {} to {} letters, digits or signs without blanks",
            Token::MIN_CHARS,
            Token::MAX_CHARS
        )
    }
}

impl std::error::Error for InvalidToken {}

impl Token {
    const MIN_CHARS: usize = 16;
    const MAX_CHARS: usize = 512;

    /// Creates a token from its text: 16 to 512 printable ASCII characters without blanks.
    ///
    /// # Errors
    /// A text of another form.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidToken> {
        let text = text.into();
        let fits = (Self::MIN_CHARS..=Self::MAX_CHARS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text)) } else { Err(InvalidToken) }
    }

    /// Returns the text, for the operator.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns `true` for the same text. The time depends on the length of `given` only, so that it
    /// tells nothing about the token.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let mut differs = u8::from(own.len() != given.len());
        for (at, byte) in given.iter().enumerate() {
            differs |= black_box(own[at % own.len()] ^ byte);
        }
        black_box(differs) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_matches_its_whole_text_only() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        let others: [&[u8]; 4] =
            [b"", b"0123456789abcde", b"0123456789abcdeF", b"0123456789abcdef0123456789abcdef"];
        assert!(others.iter().all(|other| !token.is(other)));
        assert_eq!(format!("{token:?}"), "Token(..)");
        assert!(Token::new("short").is_err() && Token::new("0123456789 abcdef").is_err());
    }
}
