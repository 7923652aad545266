//! Words and marks of a Rust source, without comments, texts and lifetimes; and its texts.

use super::phrase::is_part_of_name;

/// Word, mark or text of a source, with its line number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tidy) struct Token<'a> {
    pub(in crate::tidy) text: &'a str,
    pub(in crate::tidy) line: usize,
}

/// Divides a source into words, `::` and single marks.
pub(in crate::tidy) fn tokens(source: &str) -> Vec<Token<'_>> {
    pieces_of(source, Kind::Code)
}

/// Returns the texts of a source, each with its prefix and its quotes.
pub(in crate::tidy) fn texts(source: &str) -> Vec<Token<'_>> {
    pieces_of(source, Kind::Text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    /// String, byte string or C string.
    Text,
    /// Space, comment, character or lifetime.
    Other,
}

fn pieces_of(source: &str, wanted_kind: Kind) -> Vec<Token<'_>> {
    let mut pieces = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = first_piece(rest, first);
        let (piece, after) = rest.split_at(length);
        if kind == wanted_kind {
            pieces.push(Token { text: piece, line });
        }
        line += piece.matches('\n').count();
        rest = after;
    }
    pieces
}

/// Returns the kind and the length of what the source begins with.
fn first_piece(rest: &str, first: char) -> (Kind, usize) {
    if first.is_whitespace() {
        return (Kind::Other, first.len_utf8());
    }
    if rest.starts_with("//") {
        return (Kind::Other, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Other, block_comment(rest));
    }
    let literal = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - literal.len();
    if prefix <= 1 && literal.starts_with('"') {
        return (Kind::Text, prefix + quoted(literal, '"'));
    }
    if prefix <= 1 && literal.starts_with('r') {
        let marks = literal[1..].bytes().take_while(|byte| *byte == b'#').count();
        if literal[1 + marks..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(marks));
            let body = &literal[2 + marks..];
            let length = body.find(&end).map_or(body.len(), |at| at + end.len());
            return (Kind::Text, prefix + 2 + marks + length);
        }
    }
    if prefix <= 1 && literal.starts_with('\'') {
        return (Kind::Other, prefix + letter_or_lifetime(literal));
    }
    (Kind::Code, token_length(rest, first))
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

    fn words(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn only_code_gives_tokens() {
        let source =
            "a::b // c\n/* d /* e */ f */ \"g \\\" h\" b\"i\" r#\"j \" k\"# '\\'' 'l' b'm' &'n o";
        assert_eq!(words(source), ["a", "::", "b", "&", "o"]);
    }

    #[test]
    fn words_that_begin_like_a_text_are_words() {
        assert_eq!(words("bc b r rb raw: r"), ["bc", "b", "r", "rb", "raw", ":", "r"]);
    }

    #[test]
    fn texts_have_their_prefixes_and_quotes() {
        let source = "a \"b \\\" c\" // \"d\"\n'\"' b\"e\" r#\"f \" g\"# &'h i";
        let found: Vec<_> = texts(source).iter().map(|text| (text.text, text.line)).collect();
        assert_eq!(found, [("\"b \\\" c\"", 1), ("b\"e\"", 2), ("r#\"f \" g\"#", 2)]);
    }

    #[test]
    fn lines_count_from_one() {
        let lines: Vec<_> =
            tokens("a\n/*\n*/ b\n\"\n\" c").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 5]);
    }
}
