//! Ends of statements in a text.

/// Statement of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText<'t> {
    /// Its text, without the semicolon.
    pub text: &'t str,
    /// Byte at which it begins.
    pub start: usize,
    /// `true` if a semicolon follows.
    pub is_ended: bool,
}

/// Returns the statements of a text, with a semicolon after each but the last. Semicolons in quotes
/// and comments end none; what consists of spaces and comments is none.
pub fn split_statements(text: &str) -> Vec<StatementText<'_>> {
    let bytes = text.as_bytes();
    let (mut found, mut start, mut at, mut has_words) = (Vec::new(), 0, 0, false);
    while at < bytes.len() {
        let end = match bytes[at] {
            b';' => {
                if has_words {
                    let text = &text[start..at];
                    found.push(StatementText { text, start, is_ended: true });
                }
                (start, has_words) = (at + 1, false);
                at += 1;
                continue;
            }
            b'-' if bytes[at..].starts_with(b"--") => {
                at = end_of_line(bytes, at);
                continue;
            }
            b'/' if bytes[at..].starts_with(b"/*") => {
                at = end_of_comment(bytes, at);
                continue;
            }
            quote @ (b'\'' | b'"') => {
                let escapes = quote == b'\'' && begins_escaped(bytes, at);
                end_of_quotes(bytes, at, quote, escapes)
            }
            b'$' => end_of_dollars(text, at),
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => at + 1,
        };
        has_words = true;
        at = end;
    }
    if has_words {
        found.push(StatementText { text: &text[start..], start, is_ended: false });
    }
    found
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end)
}

/// Comments nest, as in PostgreSQL.
fn end_of_comment(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut at) = (1, at + 2);
    while depth > 0 && at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if bytes[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += 1;
        }
    }
    at.min(bytes.len())
}

/// `E'..'` has escapes by backslashes; `like'..'` does not begin so.
fn begins_escaped(bytes: &[u8], at: usize) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    at > 0
        && bytes[at - 1].eq_ignore_ascii_case(&b'e')
        && !at.checked_sub(2).is_some_and(|before| is_word(&bytes[before]))
}

/// A doubled quote does not end the quotes: two quoted parts without a space are one.
fn end_of_quotes(bytes: &[u8], at: usize, quote: u8, escapes: bool) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `$tag$ .. $tag$`, as in PostgreSQL; `$1` is a parameter.
fn end_of_dollars(text: &str, at: usize) -> usize {
    let rest = &text[at + 1..];
    let Some(length) = rest.find('$') else { return at + 1 };
    let tag = &rest[..length];
    let is_tag = tag.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        && !tag.starts_with(|letter: char| letter.is_ascii_digit());
    if !is_tag {
        return at + 1;
    }
    let quote = &text[at..at + length + 2];
    let body = at + quote.len();
    text[body..].find(quote).map_or(text.len(), |end| body + end + quote.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        split_statements(text).into_iter().map(|statement| statement.text.trim()).collect()
    }

    #[test]
    fn semicolons_in_quotes_and_comments_end_nothing() {
        assert_eq!(texts("SELECT 1; SELECT 2"), ["SELECT 1", "SELECT 2"]);
        assert_eq!(texts("SELECT ';' ; SELECT \"a;b\";"), ["SELECT ';'", "SELECT \"a;b\""]);
        assert_eq!(texts("SELECT 'it''s;'; x"), ["SELECT 'it''s;'", "x"]);
        assert_eq!(texts(r"SELECT E'\';'; x"), [r"SELECT E'\';'", "x"]);
        assert_eq!(texts(r"SELECT '\'; x"), [r"SELECT '\'", "x"]);
        assert_eq!(texts("SELECT 1 -- a;b\n; x"), ["SELECT 1 -- a;b", "x"]);
        assert_eq!(texts("SELECT /* ; /* ; */ ; */ 1; x"), ["SELECT /* ; /* ; */ ; */ 1", "x"]);
        assert_eq!(texts("SELECT $a$;$a$, $1; x"), ["SELECT $a$;$a$, $1", "x"]);
        assert_eq!(texts(";; -- nothing\n /* at all */ ;"), [""; 0]);
        assert_eq!(texts("SELECT '\u{1f600};"), ["SELECT '\u{1f600};"]);
    }

    #[test]
    fn last_statement_may_be_open() {
        let ended = |text| split_statements(text).last().is_some_and(|last| last.is_ended);
        assert!(ended("SELECT 1;") && !ended("SELECT 1") && !ended("SELECT ';"));
    }
}
