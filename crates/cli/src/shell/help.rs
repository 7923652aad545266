//! `help`: the groups, a group, or a command.

use super::session::{Outcome, Session};
use super::value::Value;
use super::words::{self, Group, Word};
use halite_types::nearest::{nearest, suggestion};

/// Width that texts are wrapped to.
const WIDTH: usize = 100;

/// Shows help on everything, a group of commands, or one command.
pub(crate) fn help(session: &mut Session<'_>, topic: Option<&Value>) -> Outcome<()> {
    let Some(topic) = topic.map(Value::to_text) else { return overview(session) };
    if let Some(word) = words::find(&topic) {
        return command(session, word);
    }
    if let Some(group) = Group::ALL.into_iter().find(|group| group.name() == topic) {
        for word in words::all().filter(|word| word.group == group) {
            command(session, word)?;
            session.say("")?;
        }
        return Ok(());
    }
    let words: Vec<_> = topic.split_whitespace().map(str::to_ascii_uppercase).collect();
    if let Some(statement) = STATEMENTS.iter().find(|statement| statement.name == words.join(" ")) {
        return show_statement(session, statement);
    }
    if topic == STATEMENTS_GROUP {
        for statement in STATEMENTS {
            show_statement(session, statement)?;
            session.say("")?;
        }
        return Ok(());
    }
    let known = words::all().flat_map(Word::names).chain(Group::ALL.map(Group::name)).chain(STATEMENTS.iter().map(|statement| statement.name));
    let known = known.chain([STATEMENTS_GROUP]);
    session.say(format!("ERROR: Invalid command or command group name: {topic}{}\n", suggestion(nearest(&topic, known))))?;
    groups(session)
}

fn command(session: &mut Session<'_>, word: &Word) -> Outcome<()> {
    let aliases = if word.aliases.is_empty() { String::new() } else { format!(" (or {})", word.aliases.join(", ")) };
    session.say(format!("Command: {}{aliases}", word.name))?;
    session.say(wrap(word.about))?;
    session.say(format!("\n  {}\n\nExamples:", word.synopsis))?;
    for example in word.examples {
        session.say(format!("  halite> {example}"))?;
    }
    if !word.options.is_empty() {
        session.say(format!("\nOptions in {{}}: {}", word.options.join(", ")).split_inclusive(", ").fold(String::new(), wrap_word))?;
    }
    Ok(())
}

/// Group name of the statements of the row-key language.
const STATEMENTS_GROUP: &str = "statements";

/// A statement of the row-key language.
struct StatementHelp {
    name: &'static str,
    about: &'static str,
    synopsis: &'static str,
    examples: &'static [&'static str],
}

const STATEMENTS: &[StatementHelp] = &[
    StatementHelp {
        name: "CREATE TABLE",
        about: "Creates a table that declares its row key, its columns, its queries and its splits. A statement may take several lines and ends with a semicolon.",
        synopsis: "CREATE TABLE [IF NOT EXISTS] table (column TYPE [FAMILY f], ..., ROW KEY (segment, ...)) [WITH (OPTION = value, ...)] [WITH QUERIES (name: conditions, ...)] [SPLIT ...];",
        examples: &["CREATE TABLE sensor_data (v DOUBLE FAMILY d, ROW KEY (SALT(16 BY id), id STRING, ts TIMESTAMP DESC)) SPLIT BY SALT;"],
    },
    StatementHelp {
        name: "ALTER TABLE",
        about: "Declares the row key of rows that a table has already. A sample of the rows is read first: a key that fits fewer than 90 % of them, or that takes the place of one that fits, is refused in a script and asked about at a terminal. FORCE declares it nevertheless.",
        synopsis: "ALTER TABLE table ADOPT ROW KEY (segment, ...) [FORCE];",
        examples: &["ALTER TABLE old ADOPT ROW KEY (id STRING, ts TIMESTAMP DESC);", "ALTER TABLE old ADOPT ROW KEY TEXT '{user}_{rev(ts):19}';"],
    },
    StatementHelp {
        name: "SHOW CREATE TABLE",
        about: "Prints the statement that creates a table with the same declaration.",
        synopsis: "SHOW CREATE TABLE table;",
        examples: &["SHOW CREATE TABLE sensor_data;"],
    },
];

fn show_statement(session: &mut Session<'_>, statement: &StatementHelp) -> Outcome<()> {
    session.say(format!("Statement: {}", statement.name))?;
    session.say(wrap(statement.about))?;
    session.say(format!("\n  {}\n\nExamples:", wrap(statement.synopsis).replace('\n', "\n  ")))?;
    statement.examples.iter().try_for_each(|example| session.say(format!("  halite> {example}")))
}

fn wrap_word(mut text: String, word: &str) -> String {
    let line = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
    if line + word.trim_end().len() > WIDTH {
        text.truncate(text.trim_end().len());
        text.push_str("\n  ");
    }
    text + word
}

fn wrap(text: &str) -> String {
    text.split_inclusive(' ').fold(String::new(), |mut text, word| {
        let line = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
        if line + word.trim_end().len() > WIDTH {
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text + word
    })
}

fn overview(session: &mut Session<'_>) -> Outcome<()> {
    session.say(concat!("Halite Shell, version ", env!("CARGO_PKG_VERSION")))?;
    session.say("Type 'help \"COMMAND\"', (e.g. 'help \"get\"' -- the quotes are necessary) for help on a specific command.")?;
    session.say("Commands are grouped. Type 'help \"COMMAND_GROUP\"', (e.g. 'help \"general\"') for help on a command group.\n")?;
    groups(session)?;
    session.say("SHELL USAGE:")?;
    session.say(USAGE)
}

fn groups(session: &mut Session<'_>) -> Outcome<()> {
    session.say("COMMAND GROUPS:")?;
    for group in Group::ALL {
        let mut names: Vec<_> = words::all().filter(|word| word.group == group).map(|word| word.name).collect();
        names.sort_unstable();
        session.say(format!("  Group name: {}\n  Commands: {}\n", group.name(), names.join(", ")))?;
    }
    let names: Vec<_> = STATEMENTS.iter().map(|statement| statement.name).collect();
    session.say(format!("  Group name: {STATEMENTS_GROUP}\n  Statements of the row-key language, which end with a semicolon: {}\n", names.join(", ")))
}

const USAGE: &str = r#"Names of tables, families and rows are strings and need quotes. Commas stand between arguments.
Options are hashes of constants: {LIMIT => 10, COLUMNS => ['f:a', 'f:b']}; the braces of the last may be left out.
A statement that is not complete goes on on the next line; Ctrl-C drops it.

Between double quotes \x00 to \xff, \t, \n and #{expression} mean something; between single quotes only \' and \\ do:

  halite> get 't1', "key\x03\x3f\xcd"
  halite> t = get_table 't1'
  halite> for i in 1..3 do t.put "row#{i}", 'f:a', i end

The language is the HBase shell's without the rest of Ruby: strings, numbers, arrays, hashes, ranges, variables,
operators, blocks for each, map, times and upto, and for loops. 'exit' leaves."#;
