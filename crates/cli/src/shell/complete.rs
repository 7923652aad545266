//! Tab completion: commands, tables, families, namespaces, and the options of the current command.

use halite::BlockingCluster;
use halite_types::TableName;

use super::commands::{self, Group, ShellCommand};

/// Completer; reads the names of tables and families from the cluster.
pub(crate) struct ShellCompleter {
    cluster: BlockingCluster,
}

/// Statement text before the cursor.
#[derive(Debug, Default, PartialEq, Eq)]
struct CompletionContext {
    /// First name: the command, or the method after a receiver.
    command: Option<String>,
    /// Receiver of the method call.
    receiver: Option<String>,
    /// Complete strings, in order.
    strings: Vec<String>,
    /// Number of complete arguments: commas outside of brackets.
    arguments: usize,
    /// `true` after an open `{`.
    in_braces: bool,
    /// Constant or label before the value at the cursor, as in `COLUMNS => [`.
    key: Option<String>,
    /// Start of the text to complete.
    start: usize,
    /// Text to complete.
    part: String,
    /// `true` if the text is inside quotes.
    quoted: bool,
}

impl ShellCompleter {
    pub(crate) fn new(cluster: BlockingCluster) -> Self {
        Self { cluster }
    }

    /// Returns the start of the text to complete and its candidates.
    pub(crate) fn find(&self, line: &str) -> (usize, Vec<String>) {
        let before = read_context(line);
        let mut found: Vec<String> = self
            .candidates(&before)
            .into_iter()
            .filter(|name| name.starts_with(&before.part))
            .collect();
        found.sort();
        found.dedup();
        (before.start, found)
    }

    fn candidates(&self, before: &CompletionContext) -> Vec<String> {
        let owned =
            |names: &mut dyn Iterator<Item = &'static str>| names.map(str::to_owned).collect();
        let word = before.command.as_deref().and_then(commands::find);
        if before.quoted {
            return self.texts(before, word);
        }
        match (word, before.command.as_deref()) {
            (_, None) if before.receiver.is_some() => owned(
                &mut commands::all()
                    .filter(|word| word.takes_table)
                    .flat_map(ShellCommand::names)
                    .chain(["name", "help", "get_all_columns"]),
            ),
            (_, None) => owned(
                &mut commands::all()
                    .flat_map(ShellCommand::names)
                    .chain(["help", "exit", "quit", "puts"]),
            ),
            (Some(word), _) => owned(&mut word.options.iter().copied()),
            _ => Vec::new(),
        }
    }

    /// Returns completions inside quotes, by command and argument position.
    fn texts(&self, before: &CompletionContext, word: Option<&ShellCommand>) -> Vec<String> {
        let Some(word) = word else {
            return match before.command.as_deref() {
                Some("help") => commands::all()
                    .flat_map(ShellCommand::names)
                    .chain(Group::ALL.map(Group::name))
                    .map(str::to_owned)
                    .collect(),
                _ => Vec::new(),
            };
        };
        let first = before.arguments == 0 && before.receiver.is_none() && !before.in_braces;
        if word.group == Group::Namespace {
            return if first { self.namespaces() } else { Vec::new() };
        }
        if first {
            return if word.group == Group::Snapshots && !word.takes_table {
                self.snapshots()
            } else {
                self.tables()
            };
        }
        match (word.name, before.key.as_deref()) {
            ("alter" | "alter_async", Some("NAME" | "delete") | None)
            | ("compact" | "major_compact" | "flush", _) => self.families(before, ""),
            (_, Some("COLUMN" | "COLUMNS")) => self.families(before, ":"),
            ("get" | "put" | "delete" | "deleteall" | "incr" | "append" | "get_counter", None) => {
                let columns_at = 2 - usize::from(before.receiver.is_some());
                if before.arguments >= columns_at { self.families(before, ":") } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    fn tables(&self) -> Vec<String> {
        let tables = self.cluster.list_tables().unwrap_or_default();
        tables.iter().map(|table| table.name().to_string()).collect()
    }

    fn namespaces(&self) -> Vec<String> {
        self.cluster
            .list_namespaces()
            .unwrap_or_default()
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    fn snapshots(&self) -> Vec<String> {
        self.cluster
            .list_snapshots()
            .unwrap_or_default()
            .into_iter()
            .map(|snapshot| snapshot.name)
            .collect()
    }

    /// Returns the families of the table named in the statement, or of all tables if it names none.
    fn families(&self, before: &CompletionContext, tail: &str) -> Vec<String> {
        let named = before
            .strings
            .first()
            .and_then(|name| name.parse::<TableName>().ok())
            .filter(|_| before.receiver.is_none());
        let tables = self.cluster.list_tables().unwrap_or_default();
        let tables =
            tables.iter().filter(|table| named.as_ref().is_none_or(|name| table.name() == name));
        tables
            .flat_map(|table| {
                table
                    .families()
                    .map(|family| String::from_utf8_lossy(family.name()).into_owned() + tail)
                    .collect::<Vec<_>>()
            })
            .collect()
    }
}

/// Parses a complete or partial statement up to the cursor.
fn read_context(line: &str) -> CompletionContext {
    let mut before = CompletionContext::default();
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
                    None => {
                        return CompletionContext {
                            start,
                            part: line[start..].to_owned(),
                            quoted: true,
                            ..before
                        };
                    }
                }
            }
            ';' => before = CompletionContext::default(),
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
            '=' if !matches!(characters.peek(), Some((_, '>' | '='))) && depth == 0 => {
                before = CompletionContext::default();
            }
            '.' if before.arguments == 0 && before.receiver.is_none() => {
                before.receiver = before.command.take();
            }
            c if c.is_alphanumeric() || c == '_' => {
                let rest = &line[at..];
                let length =
                    rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                if at + length == line.len() {
                    return CompletionContext { start: at, part: rest.to_owned(), ..before };
                }
                while characters.next_if(|(next, _)| *next < at + length).is_some() {}
                if before.command.is_none() {
                    before.command = Some(rest[..length].to_owned());
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

    use super::super::test_store;
    use super::*;

    fn find(line: &str) -> Vec<String> {
        let cluster = test_store::cluster();
        let table = TableDescriptor::new("users".parse().unwrap())
            .family(FamilyDescriptor::new("info"))
            .family(FamilyDescriptor::new("log"));
        cluster.create_table(table, &[]).unwrap();
        cluster
            .create_snapshot(SnapshotDescriptor::new("daily", "users".parse().unwrap()))
            .unwrap();
        ShellCompleter::new(cluster).find(line).1
    }

    #[test]
    fn completion_offers_names_by_position() {
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
