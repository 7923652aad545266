//! Queries with marks for what databases write differently.

/// Words of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Halite and DataFusion.
    PostgreSql,
    Sqlite,
}

/// Returns a text whose marks, `{kind}` or `{kind of}`, are replaced by what `write` returns.
pub(crate) fn replaced(text: &str, mut write: impl FnMut(&str, &str) -> String) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once('{') {
        let (mark, after) = marked.split_once('}').unwrap_or((marked, ""));
        let (kind, of) = mark.split_once(' ').unwrap_or((mark, ""));
        written.push_str(before);
        written.push_str(&write(kind, of));
        rest = after;
    }
    written.push_str(rest);
    written
}
