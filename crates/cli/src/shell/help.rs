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
    let known = words::all().flat_map(Word::names).chain(Group::ALL.map(Group::name));
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
    Ok(())
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
