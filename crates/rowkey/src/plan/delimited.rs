//! Delimited text: tests that its pattern excludes the delimiter, so that all keys of one value are
//! adjacent.

use crate::schema::{KeySchema, Profile, SegmentKind};
use crate::value::FieldType;

/// Returns `true` if a segment is text of a template that ends at the following literal, because
/// its pattern excludes that literal's first character.
pub(super) fn ends_at_literal(schema: &KeySchema, segment: usize) -> bool {
    let found = &schema.segments()[segment];
    let (SegmentKind::Plain(field), Some(SegmentKind::Const(literal))) =
        (&found.kind, schema.segments().get(segment + 1).map(|next| &next.kind))
    else {
        return false;
    };
    let field = &schema.fields()[*field];
    let is_text = schema.profile() == Profile::Text
        && field.ty == FieldType::String
        && found.digits.is_none()
        && !found.nullable;
    let (Some(pattern), Some(&first)) = (&field.pattern, literal.first()) else { return false };
    is_text && keeps_out(pattern, char::from(first))
}

/// Returns `true` if no text that matches a pattern contains a character; `false` if that is not
/// obvious.
fn keeps_out(pattern: &str, without: char) -> bool {
    if !without.is_ascii_punctuation() && without != ' ' {
        return false;
    }
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '[' => match class(rest, without) {
                Some(length) => length,
                None => return false,
            },
            '\\' => match rest.chars().nth(1) {
                Some('d') => 2,
                Some('w') if without != '_' => 2,
                _ => return false,
            },
            '{' => match rest.find('}') {
                Some(end) if rest[1..end].chars().all(|c| c.is_ascii_digit() || c == ',') => {
                    end + 1
                }
                _ => return false,
            },
            '(' if rest.starts_with("(?") => return false,
            '(' | ')' | '|' | '+' | '*' | '?' | '^' | '$' => 1,
            other
                if other.is_ascii_alphanumeric()
                    || (other != without
                        && matches!(other, '_' | '-' | ':' | '/' | '#' | '@' | ',')) =>
            {
                1
            }
            _ => return false,
        };
        rest = &rest[taken..];
    }
    true
}

/// Returns the length of a class like `[^_]` or `[a-z0-9]` at the beginning of a pattern, if it
/// does not match a character.
fn class(pattern: &str, without: char) -> Option<usize> {
    let end = pattern.find(']')?;
    let inside = &pattern[1..end];
    let (negated, members) =
        inside.strip_prefix('^').map_or((false, inside), |members| (true, members));
    // Nested classes and class subtraction are left to the regular expression engine.
    if members.is_empty()
        || members.contains(['[', '\\', '&', '~'])
        || members.contains("--")
        || !members.is_ascii()
    {
        return None;
    }
    let bytes = members.as_bytes();
    let (mut at, mut holds) = (0, false);
    while at < bytes.len() {
        let last =
            if bytes.get(at + 1) == Some(&b'-') && at + 2 < bytes.len() { at + 2 } else { at };
        holds |= (char::from(bytes[at])..=char::from(bytes[last])).contains(&without);
        at = last + 1;
    }
    (holds == negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_excludes_delimiter_only_if_provable() {
        for pattern in ["[^_]+", "[a-z0-9]+", "\\d{4}", "(eu|us)-[a-z]+", "[^_:]{1,8}", "eu"] {
            assert!(keeps_out(pattern, '_'), "{pattern}");
        }
        for pattern in [
            ".+", "[^:]+", "\\w+", "[a-z_]+", "[A-z]+", "a_b", "[^_]+|.", "[\\w]", "(?i)a", "\\S",
            "[^_&&a]", "[^]_]", "[!--_]",
        ] {
            assert!(!keeps_out(pattern, '_'), "{pattern}");
        }
        assert!(!keeps_out("[0-9]+", 'a'), "letters have two cases");
    }
}
