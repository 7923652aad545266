//! Operations in the syntax of HBase's shell, and rows as the shell prints them.

use std::fmt::Write as _;

use halite::{Bytes, FamilyDescriptor, Row, to_string_binary};

/// Returns bytes as a shell literal: in single quotes, or in double quotes if they need escapes.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let printed = to_string_binary(bytes);
    if printed.contains('\\') || printed.contains('\'') {
        format!("\"{}\"", printed.replace('"', "\\\""))
    } else {
        format!("'{printed}'")
    }
}

/// Returns a statement with its arguments: `put 'posts', 'a', 'f:q', 'x'`.
pub(crate) fn statement(verb: &str, words: &[&[u8]]) -> String {
    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    format!("{verb} {}", words.join(", "))
}

/// Returns `create 'posts', 'f', SPLITS => ['a', 'b']`, with only the first few of many split keys.
pub(crate) fn create(table: &str, families: &[&str], splits: &[Bytes]) -> String {
    const MAX_SPLITS: usize = 5;
    const MAX_COLUMNS: usize = 60;
    let mut words = statement(
        "create",
        &std::iter::once(table)
            .chain(families.iter().copied())
            .map(str::as_bytes)
            .collect::<Vec<_>>(),
    );
    if !splits.is_empty() {
        let mut columns = 0;
        let fits = |boundary: &String| {
            columns += boundary.len();
            columns == boundary.len() || columns <= MAX_COLUMNS
        };
        let mut boundaries: Vec<_> =
            splits.iter().take(MAX_SPLITS).map(|key| quoted(key)).take_while(fits).collect();
        if splits.len() > boundaries.len() {
            boundaries.push(format!("... {} in all", splits.len()));
        }
        let _ = write!(words, ", SPLITS => [{}]", boundaries.join(", "));
    }
    words
}

/// Returns `create 'posts', {NAME => 'f', VERSIONS => 3}`: families with their attributes.
pub(crate) fn create_families(table: &str, families: &[FamilyDescriptor]) -> String {
    let value = |value: &String| {
        if value.bytes().all(|byte| byte.is_ascii_digit()) {
            value.clone()
        } else {
            quoted(value.as_bytes())
        }
    };
    let described = |family: &FamilyDescriptor| {
        let mut options = String::new();
        for (name, of) in &family.attributes {
            let _ = write!(options, ", {name} => {}", value(of));
        }
        if !family.configuration.is_empty() {
            let settings: Vec<_> = family
                .configuration
                .iter()
                .map(|(name, of)| format!("'{name}' => {}", value(of)))
                .collect();
            let _ = write!(options, ", CONFIGURATION => {{{}}}", settings.join(", "));
        }
        format!("{{NAME => {}{options}}}", quoted(family.name()))
    };
    let families: Vec<_> = families.iter().map(described).collect();
    format!("create {}, {}", quoted(table.as_bytes()), families.join(", "))
}

/// Returns a line for each cell of a row: `key  column=f:q, value=v`. Timestamps are omitted,
/// because they differ from run to run.
pub(crate) fn lines(row: &Row) -> Vec<String> {
    row.iter().map(|cell| line(row, &cell, "")).collect()
}

/// Like [`lines`], with timestamps; for rows whose timestamps the page specifies.
pub(crate) fn timed_lines(row: &Row) -> Vec<String> {
    row.iter().map(|cell| line(row, &cell, &format!("timestamp={}, ", cell.timestamp()))).collect()
}

fn line(row: &Row, cell: &halite::cell::CellRef<'_>, time: &str) -> String {
    let column =
        format!("{}:{}", to_string_binary(cell.family()), to_string_binary(cell.qualifier()));
    let kind = match cell.cell_type() {
        Some(kind) if kind.is_delete() => format!("type={}", kind.name()),
        _ => format!("value={}", to_string_binary(cell.value())),
    };
    format!("{}  column={column}, {time}{kind}", to_string_binary(row.key()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(
            statement("put", &[b"t", b"a\x00b", b"f:q", b"it's"]),
            r#"put 't', "a\x00b", 'f:q', "it's""#
        );
        let splits: Vec<_> = (0..7_u8).map(|n| Bytes::from(vec![b'a' + n])).collect();
        assert_eq!(
            create("t", &["f"], &splits),
            "create 't', 'f', SPLITS => ['a', 'b', 'c', 'd', 'e', ... 7 in all]"
        );
        let mut set = FamilyDescriptor::new("g").set("BLOCKCACHE", "false");
        set.configuration.insert("a.b".to_owned(), "true".to_owned());
        let families = [FamilyDescriptor::new("f").versions(3), set];
        assert_eq!(
            create_families("t", &families),
            "create 't', {NAME => 'f', VERSIONS => 3}, {NAME => 'g', BLOCKCACHE => 'false', \
             CONFIGURATION => {'a.b' => 'true'}}"
        );
    }
}
