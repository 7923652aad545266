//! What the Tab key offers: commands, tables, families, namespaces, and the options of the command at hand.

use std::sync::Arc;

use halite_types::{Cluster, TableName, block_on};

use super::words::{self, Group, Word};

/// Finds completions; it asks the store for the names of tables and families.
pub(crate) struct Candidates {
    cluster: Arc<dyn Cluster>,
}

/// What stands before the cursor in the statement at hand.
#[derive(Debug, Default, PartialEq, Eq)]
struct Before {
    /// The first name: the command, or the method behind a receiver.
    word: Option<String>,
    /// The name the method is called on.
    receiver: Option<String>,
    /// Strings that are whole, in order.
    strings: Vec<String>,
    /// Arguments that are whole: commas outside of brackets.
    arguments: usize,
    /// Whether a `{` is open.
    in_braces: bool,
    /// The constant or label before the cursor's value, as in `COLUMNS => [`.
    key: Option<String>,
    /// Where the text to complete begins.
    start: usize,
    /// The text to complete.
    part: String,
    /// Whether it is inside of quotes.
    quoted: bool,
}

impl Candidates {
    pub(crate) fn new(cluster: Arc<dyn Cluster>) -> Self {
        Self { cluster }
    }

    /// Where the part to complete begins, and what it may become.
    pub(crate) fn find(&self, line: &str) -> (usize, Vec<String>) {
        let before = look(line);
        let mut found: Vec<String> = self.offers(&before).into_iter().filter(|name| name.starts_with(&before.part)).collect();
        found.sort();
        found.dedup();
        (before.start, found)
    }

    fn offers(&self, before: &Before) -> Vec<String> {
        let owned = |names: &mut dyn Iterator<Item = &'static str>| names.map(str::to_owned).collect();
        let word = before.word.as_deref().and_then(words::find);
        if before.quoted {
            return self.texts(before, word);
        }
        match (word, before.word.as_deref()) {
            (_, None) if before.receiver.is_some() => {
                owned(&mut words::all().filter(|word| word.takes_table).flat_map(Word::names).chain(["name", "help", "get_all_columns"]))
            }
            (_, None) => owned(&mut words::all().flat_map(Word::names).chain(["help", "exit", "quit", "puts"])),
            (Some(word), _) => owned(&mut word.options.iter().copied()),
            _ => Vec::new(),
        }
    }

    /// Completions inside of quotes: by the command and the place of the argument.
    fn texts(&self, before: &Before, word: Option<&Word>) -> Vec<String> {
        let Some(word) = word else {
            return match before.word.as_deref() {
                Some("help") => words::all().flat_map(Word::names).chain(Group::ALL.map(Group::name)).map(str::to_owned).collect(),
                _ => Vec::new(),
            };
        };
        let first = before.arguments == 0 && before.receiver.is_none() && !before.in_braces;
        if word.group == Group::Namespace {
            return if first { self.namespaces() } else { Vec::new() };
        }
        if first {
            return if word.group == Group::Snapshots && !word.takes_table { self.snapshots() } else { self.tables() };
        }
        match (word.name, before.key.as_deref()) {
            ("alter" | "alter_async", Some("NAME" | "delete") | None) | ("compact" | "major_compact" | "flush", _) => self.families(before, ""),
            (_, Some("COLUMN" | "COLUMNS")) => self.families(before, ":"),
            ("get" | "put" | "delete" | "deleteall" | "incr" | "append" | "get_counter", None) => {
                let columns_at = 2 - usize::from(before.receiver.is_some());
                if before.arguments >= columns_at { self.families(before, ":") } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    fn tables(&self) -> Vec<String> {
        let tables = block_on(self.cluster.admin().list_tables()).unwrap_or_default();
        tables.iter().map(|table| table.name().to_string()).collect()
    }

    fn namespaces(&self) -> Vec<String> {
        block_on(self.cluster.admin().list_namespaces()).unwrap_or_default().into_iter().map(|(name, _)| name).collect()
    }

    fn snapshots(&self) -> Vec<String> {
        block_on(self.cluster.admin().list_snapshots()).unwrap_or_default().into_iter().map(|snapshot| snapshot.name).collect()
    }

    /// The families of the table the statement names; of all tables if it names none.
    fn families(&self, before: &Before, tail: &str) -> Vec<String> {
        let named = before.strings.first().and_then(|name| name.parse::<TableName>().ok()).filter(|_| before.receiver.is_none());
        let tables = block_on(self.cluster.admin().list_tables()).unwrap_or_default();
        let tables = tables.iter().filter(|table| named.as_ref().is_none_or(|name| table.name() == name));
        tables
            .flat_map(|table| table.families().map(|family| String::from_utf8_lossy(family.name()).into_owned() + tail).collect::<Vec<_>>())
            .collect()
    }
}

/// Reads a statement up to the cursor, whole or not.
fn look(line: &str) -> Before {
    let mut before = Before::default();
    let mut depth = 0usize;
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' | '"' => {
                let start = at + 1;
                let mut escaped = false;
                let end = characters.by_ref().find(|(_, c)| {
                    let closes = *c == character && !escaped;
                    escaped = *c == '\\' && !escaped;
                    closes
                });
                match end {
                    Some((end, _)) => before.strings.push(line[start..end].to_owned()),
                    None => return Before { start, part: line[start..].to_owned(), quoted: true, ..before },
                }
            }
            ';' => before = Before::default(),
            '{' | '[' | '(' => {
                depth += 1;
                before.in_braces |= character == '{';
            }
            '}' | ']' | ')' => {
                depth = depth.saturating_sub(1);
                before.in_braces &= character != '}';
            }
            ',' => {
                before.arguments += usize::from(depth == 0);
                if depth <= usize::from(before.in_braces) {
                    before.key = None;
                }
            }
            '=' if !matches!(characters.peek(), Some((_, '>' | '='))) && depth == 0 => before = Before::default(),
            '.' if before.arguments == 0 && before.receiver.is_none() => before.receiver = before.word.take(),
            c if c.is_alphanumeric() || c == '_' => {
                let rest = &line[at..];
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                if at + length == line.len() {
                    return Before { start: at, part: rest.to_owned(), ..before };
                }
                while characters.next_if(|(next, _)| *next < at + length).is_some() {}
                if before.word.is_none() {
                    before.word = Some(rest[..length].to_owned());
                } else {
                    before.key = Some(rest[..length].to_owned());
                }
            }
            _ => {}
        }
    }
    before.start = line.len();
    before
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, SnapshotDescriptor, TableDescriptor};

    use super::super::scratch;
    use super::*;

    fn find(line: &str) -> Vec<String> {
        let cluster = scratch::cluster();
        let table = TableDescriptor::new("users".parse().unwrap()).family(FamilyDescriptor::new("info")).family(FamilyDescriptor::new("log"));
        block_on(cluster.admin().create_table(table, Vec::new())).unwrap();
        block_on(cluster.admin().create_snapshot(SnapshotDescriptor::new("daily", "users".parse().unwrap()))).unwrap();
        Candidates::new(cluster).find(line).1
    }

    #[test]
    fn names_are_offered_where_they_fit() {
        assert_eq!(find("desc"), ["desc", "describe", "describe_namespace"]);
        assert_eq!(find("scan 'u"), ["users"]);
        assert_eq!(find("t = get_table 'us"), ["users"]);
        assert_eq!(find("put 'users', 'row', 'i"), ["info:"]);
        assert_eq!(find("t.put 'row', '"), ["info:", "log:"]);
        assert_eq!(find("scan 'users', {COLUMNS => ['lo"), ["log:"]);
        assert_eq!(find("scan 'users', {STARTROW => 'lo"), [""; 0]);
        assert_eq!(find("scan 'users', {LIMIT => 1, STO"), ["STOPROW"]);
        assert_eq!(find("alter 'users', NAME => 'i"), ["info"]);
        assert_eq!(find("create_namespace 'de"), ["default"]);
        assert_eq!(find("help 'maj"), ["major_compact"]);
        assert_eq!(find("snapshot 'us"), ["users"]);
        assert_eq!(find("clone_snapshot 'da"), ["daily"]);
        assert_eq!(find("t.coun"), ["count"]);
    }
}
