//! `help` for all groups, one group, or one command.

use super::commands::{self, Group, ShellCommand};
use super::session::{EvalResult, Session};
use super::value::Value;
use halite_types::suggest::{closest_match, did_you_mean};

/// Wrap width of help texts.
const WIDTH: usize = 100;

/// Prints help on everything, a group of commands, or one command.
pub(crate) fn help(session: &mut Session<'_>, topic: Option<&Value>) -> EvalResult<()> {
    let Some(topic) = topic.map(Value::to_text) else { return overview(session) };
    if let Some(word) = commands::find(&topic) {
        return print_command(session, word);
    }
    if let Some(group) = Group::ALL.into_iter().find(|group| group.name() == topic) {
        for word in commands::all().filter(|word| word.group == group) {
            print_command(session, word)?;
            session.print_line("")?;
        }
        return Ok(());
    }
    let words: Vec<_> = topic.split_whitespace().map(str::to_ascii_uppercase).collect();
    if let Some(statement) = STATEMENTS.iter().find(|statement| statement.name == words.join(" ")) {
        return print_statement(session, statement);
    }
    if topic == STATEMENTS_GROUP {
        for statement in STATEMENTS {
            print_statement(session, statement)?;
            session.print_line("")?;
        }
        return Ok(());
    }
    let known = commands::all()
        .flat_map(ShellCommand::names)
        .chain(Group::ALL.map(Group::name))
        .chain(STATEMENTS.iter().map(|statement| statement.name));
    let known = known.chain([STATEMENTS_GROUP]);
    session.print_line(format!(
        "ERROR: Invalid command or command group name: {topic}{}\n",
        did_you_mean(closest_match(&topic, known))
    ))?;
    groups(session)
}

fn print_command(session: &mut Session<'_>, word: &ShellCommand) -> EvalResult<()> {
    let aliases = if word.aliases.is_empty() {
        String::new()
    } else {
        format!(" (or {})", word.aliases.join(", "))
    };
    session.print_line(format!("Command: {}{aliases}", word.name))?;
    session.print_line(wrap(word.about))?;
    session.print_line(format!("\n  {}\n\nExamples:", word.synopsis))?;
    for example in word.examples {
        session.print_line(format!("  halite> {example}"))?;
    }
    if !word.options.is_empty() {
        session.print_line(
            format!("\nOptions in {{}}: {}", word.options.join(", "))
                .split_inclusive(", ")
                .fold(String::new(), wrap_word),
        )?;
    }
    Ok(())
}

/// Group name of the statements of the row-key language.
const STATEMENTS_GROUP: &str = "statements";

/// Statement of the row-key language.
struct StatementHelp {
    name: &'static str,
    about: &'static str,
    synopsis: &'static str,
    examples: &'static [&'static str],
}

const STATEMENTS: &[StatementHelp] = &[
    StatementHelp {
        name: "CREATE TABLE",
        about: "Creates a table that declares its row key, its columns, its queries and its \
                splits. A statement may take several lines and ends with a semicolon.",
        synopsis: "CREATE TABLE [IF NOT EXISTS] table (column TYPE [FAMILY f], ..., ROW KEY \
                   (segment, ...)) [WITH (OPTION = value, ...)] [WITH QUERIES (name: conditions, \
                   ...)] [SPLIT ...];",
        examples: &[
            "CREATE TABLE sensor_data (v DOUBLE FAMILY d, ROW KEY (SALT(16 BY id), id STRING, ts \
             TIMESTAMP DESC)) SPLIT BY SALT;",
        ],
    },
    StatementHelp {
        name: "ALTER TABLE",
        about: "Declares the row key of rows that a table has already, or its columns, and changes \
                columns, families and options. For a key a sample of the rows is read first: one \
                that fits fewer than 90 % of them, or that takes the place of one that fits, is \
                refused in a script and asked about at a terminal. FORCE declares it nevertheless. \
                FROM SAMPLE says what cells look like.",
        synopsis: "ALTER TABLE table ADOPT ROW KEY (segment, ...) [FORCE]; ALTER TABLE table ADOPT \
                   COLUMNS {(column TYPE, ...) | FROM SAMPLE rows [APPLY]}; ALTER TABLE table {ADD \
                   COLUMN column TYPE | DROP COLUMN column [PURGE] | RENAME COLUMN column TO name | \
                   ADD FAMILY f | DROP FAMILY f | SET (OPTION = value, ...)}, ...;",
        examples: &[
            "ALTER TABLE sensor_data ADD COLUMN unit STRING, SET (d.VERSIONS = 3);",
            "ALTER TABLE old ADOPT ROW KEY (id STRING, ts TIMESTAMP DESC);",
            "ALTER TABLE old ADOPT ROW KEY TEXT '{user}_{rev(ts):19}';",
        ],
    },
    StatementHelp {
        name: "SHOW CREATE TABLE",
        about: "Prints the statement that creates a table with the same declaration.",
        synopsis: "SHOW CREATE TABLE table;",
        examples: &["SHOW CREATE TABLE sensor_data;"],
    },
    StatementHelp {
        name: "DROP TABLE",
        about: "Disables and drops a table, removes its rows, or drops a namespace without tables.",
        synopsis: "DROP TABLE [IF EXISTS] table; TRUNCATE TABLE table [KEEP SPLITS]; CREATE SCHEMA \
                   [IF NOT EXISTS] name; DROP SCHEMA [IF EXISTS] name;",
        examples: &["TRUNCATE TABLE sensor_data KEEP SPLITS;"],
    },
    StatementHelp {
        name: "SPLIT TABLE",
        about: "Makes rows the first of regions; writes memstores to files; merges files.",
        synopsis: "SPLIT TABLE table AT (row, ...); FLUSH TABLE table; COMPACT TABLE table [MAJOR];",
        examples: &["SPLIT TABLE sensor_data AT ('m', x'80');"],
    },
    StatementHelp {
        name: "SELECT",
        about: if cfg!(feature = "sql") {
            "Asks by SQL, as halite sql does; INSERT, UPSERT, UPDATE, DELETE FROM, VALUES, WITH and \
             EXPLAIN run here as well. A statement may take several lines and ends with a \
             semicolon. docs/sql.md describes the dialect."
        } else {
            "Asks by SQL. This build has no SQL: cargo build --release --features sql builds it, \
             for this shell and for halite sql. docs/sql.md describes the dialect."
        },
        synopsis: "SELECT expression, ... FROM table [WHERE conditions] [GROUP BY ...] [ORDER BY \
                   ...] [LIMIT n];",
        examples: &[
            "SELECT ts, v FROM sensor_data WHERE id = 'a' ORDER BY ts DESC LIMIT 10;",
            "EXPLAIN SELECT count(*) FROM sensor_data;",
        ],
    },
];

fn print_statement(session: &mut Session<'_>, statement: &StatementHelp) -> EvalResult<()> {
    session.print_line(format!("Statement: {}", statement.name))?;
    session.print_line(wrap(statement.about))?;
    session.print_line(format!(
        "\n  {}\n\nExamples:",
        wrap(statement.synopsis).replace('\n', "\n  ")
    ))?;
    statement
        .examples
        .iter()
        .try_for_each(|example| session.print_line(format!("  halite> {example}")))
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

fn overview(session: &mut Session<'_>) -> EvalResult<()> {
    session.print_line(concat!("Halite Shell, version ", env!("CARGO_PKG_VERSION")))?;
    session.print_line(
        "Type 'help \"COMMAND\"', (e.g. 'help \"get\"' -- the quotes are necessary) for help on a \
         specific command.",
    )?;
    session.print_line(
        "Commands are grouped. Type 'help \"COMMAND_GROUP\"', (e.g. 'help \"general\"') for help \
         on a command group.\n",
    )?;
    groups(session)?;
    session.print_line("SHELL USAGE:")?;
    session.print_line(USAGE)
}

fn groups(session: &mut Session<'_>) -> EvalResult<()> {
    session.print_line("COMMAND GROUPS:")?;
    for group in Group::ALL {
        let mut names: Vec<_> =
            commands::all().filter(|word| word.group == group).map(|word| word.name).collect();
        names.sort_unstable();
        session.print_line(format!(
            "  Group name: {}\n  Commands: {}\n",
            group.name(),
            names.join(", ")
        ))?;
    }
    let names: Vec<_> = STATEMENTS.iter().map(|statement| statement.name).collect();
    session.print_line(format!(
        "  Group name: {STATEMENTS_GROUP}\n  Statements of the row-key language and of SQL, which end with a \
         semicolon: {}\n",
        names.join(", ")
    ))
}

const USAGE: &str = r#"Names of tables, families and rows are strings and need quotes. Commas separate arguments.
Options are hashes of constants: {LIMIT => 10, COLUMNS => ['f:a', 'f:b']}; the braces of the last may be left out.
A statement that is not complete continues on the next line; Ctrl-C drops it.

Between double quotes \x00 to \xff, \t, \n and #{expression} mean something; between single quotes only \' and \\ do:

  halite> get 't1', "key\x03\x3f\xcd"
  halite> t = get_table 't1'
  halite> for i in 1..3 do t.put "row#{i}", 'f:a', i end

The language is the HBase shell's without the rest of Ruby: strings, numbers, arrays, hashes, ranges, variables,
operators, blocks for each, map, times and upto, and for loops. 'exit' leaves."#;
