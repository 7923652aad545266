//! Words and marks of a Rust source, without comments, texts and lifetimes.

use super::phrase::is_part_of_name;

/// Word or mark of a source, with its line number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tidy) struct Token<'a> {
    pub(in crate::tidy) text: &'a str,
    pub(in crate::tidy) line: usize,
}

/// Divides a source into words, `::` and single marks.
pub(in crate::tidy) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest).unwrap_or_else(|| {
            let length = token_length(rest, first);
            tokens.push(Token { text: &rest[..length], line });
            length
        });
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// Returns the length of the space, comment, text or lifetime at the start, if there is one.
fn skipped(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    if first.is_whitespace() {
        return Some(first.len_utf8());
    }
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    let text = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - text.len();
    if prefix <= 1 && text.starts_with('"') {
        return Some(prefix + quoted(text, '"'));
    }
    if prefix <= 1 && text.starts_with('r') {
        let marks = text[1..].bytes().take_while(|byte| *byte == b'#').count();
        if text[1 + marks..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(marks));
            let body = &text[2 + marks..];
            let length = body.find(&end).map_or(body.len(), |at| at + end.len());
            return Some(prefix + 2 + marks + length);
        }
    }
    if prefix <= 1 && text.starts_with('\'') {
        return Some(prefix + letter_or_lifetime(text));
    }
    None
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut offset = 0;
    while offset < rest.len() {
        let here = &rest[offset..];
        if here.starts_with("/*") {
            depth += 1;
            offset += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            offset += 2;
            if depth == 0 {
                break;
            }
        } else {
            offset += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    offset
}

/// Returns the length of a text with its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((index, letter)) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if letter == quote {
            return index + 1;
        }
    }
    text.len()
}

/// Returns the length of `'x'`, or of `'name`.
fn letter_or_lifetime(text: &str) -> usize {
    let name = text[1..].chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_');
    let length = 1 + name.map(char::len_utf8).sum::<usize>();
    let is_lifetime = length > 1 && !text[length..].starts_with('\'');
    if is_lifetime { length } else { quoted(text, '\'') }
}

fn token_length(rest: &str, first: char) -> usize {
    if rest.starts_with("::") {
        return 2;
    }
    if !is_part_of_name(first) {
        return first.len_utf8();
    }
    rest.find(|letter| !is_part_of_name(letter)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn only_code_gives_tokens() {
        let source =
            "a::b // c\n/* d /* e */ f */ \"g \\\" h\" b\"i\" r#\"j \" k\"# '\\'' 'l' b'm' &'n o";
        assert_eq!(texts(source), ["a", "::", "b", "&", "o"]);
    }

    #[test]
    fn words_that_begin_like_a_text_are_words() {
        assert_eq!(texts("bc b r rb raw: r"), ["bc", "b", "r", "rb", "raw", ":", "r"]);
    }

    #[test]
    fn lines_count_from_one() {
        let lines: Vec<_> =
            tokens("a\n/*\n*/ b\n\"\n\" c").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 5]);
    }
}
