//! Shell commands: name, arguments and help of each; one module per group.

mod alter;
mod arguments;
mod create;
mod delete;
mod describe;
mod error_hints;
mod general;
mod move_row;
mod namespace;
mod options;
mod read;
mod regions;
mod row_key;
mod scan;
mod snapshots;
mod splits;
mod table_state;
mod tools;
mod write;

pub(crate) use arguments::Arguments;
pub(super) use create::split_keys;
pub(super) use describe::{must_exist, table_exists};
pub(super) use error_hints::ErrorContext;
pub(super) use row_key::warn;

use super::session::{EvalResult, Interrupt, Session};

/// Group of commands, in the order of `help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    General,
    Ddl,
    Namespace,
    Dml,
    Tools,
    Snapshots,
}

impl Group {
    pub(crate) const ALL: [Self; 6] =
        [Self::General, Self::Ddl, Self::Namespace, Self::Dml, Self::Tools, Self::Snapshots];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Ddl => "ddl",
            Self::Namespace => "namespace",
            Self::Dml => "dml",
            Self::Tools => "tools",
            Self::Snapshots => "snapshots",
        }
    }
}

/// Shell command.
pub(crate) struct ShellCommand {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) group: Group,
    /// Minimum and maximum number of arguments; `None` is unlimited.
    pub(crate) count: (usize, Option<usize>),
    /// `true` if the first argument is a table, so that the command is also a method of a table
    /// handle.
    pub(crate) takes_table: bool,
    /// Names allowed in its `{}`, for completion.
    pub(crate) options: &'static [&'static str],
    /// Synopsis of the arguments, one line.
    pub(crate) synopsis: &'static str,
    /// Description, in full sentences.
    pub(crate) about: &'static str,
    /// Example lines.
    pub(crate) examples: &'static [&'static str],
    pub(crate) run: fn(&mut Session<'_>, &Arguments) -> EvalResult,
}

impl ShellCommand {
    /// Returns the name and aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Checks the number of arguments.
    pub(crate) fn check_count(&self, given: usize) -> EvalResult<()> {
        let (least, most) = self.count;
        if given >= least && most.is_none_or(|most| given <= most) {
            return Ok(());
        }
        let expected = match most {
            Some(most) if most == least => least.to_string(),
            Some(most) => format!("{least}..{most}"),
            None => format!("{least}+"),
        };
        Err(Interrupt::Problem(format!(
            "wrong number of arguments (given {given}, expected {expected}): {}",
            self.synopsis
        )))
    }
}

const LISTS: [&[ShellCommand]; 14] = [
    general::COMMANDS,
    create::COMMANDS,
    alter::COMMANDS,
    describe::COMMANDS,
    table_state::COMMANDS,
    namespace::COMMANDS,
    read::COMMANDS,
    scan::COMMANDS,
    write::COMMANDS,
    delete::COMMANDS,
    move_row::COMMANDS,
    regions::COMMANDS,
    tools::COMMANDS,
    snapshots::COMMANDS,
];

/// Returns all commands.
pub(crate) fn all() -> impl Iterator<Item = &'static ShellCommand> {
    LISTS.iter().copied().flatten()
}

/// Returns the command with that name or alias.
pub(crate) fn find(name: &str) -> Option<&'static ShellCommand> {
    all().find(|word| word.names().any(|known| known == name))
}

/// Returns the constants and their text, which is mostly their own name.
pub(crate) fn constants() -> impl Iterator<Item = (&'static str, &'static str)> {
    let aliases = [("ENDROW", "STOPROW"), ("ENDKEY", "STOPROW"), ("STARTKEY", "STARTROW")];
    let shared = options::OTHER_CONSTANTS
        .iter()
        .chain(create::FAMILY_ATTRIBUTES)
        .chain(create::TABLE_ATTRIBUTES);
    aliases
        .into_iter()
        .chain(shared.chain(all().flat_map(|word| word.options)).map(|name| (*name, *name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_can_be_found_and_says_what_it_does() {
        let mut names: Vec<_> = all().flat_map(ShellCommand::names).collect();
        assert!(names.iter().all(|name| find(name).is_some()));
        for word in all() {
            assert!(
                word.about.ends_with('.')
                    && word.synopsis.starts_with(word.name)
                    && !word.examples.is_empty(),
                "{}",
                word.name
            );
            assert!(!word.takes_table || word.count.0 > 0, "{}", word.name);
        }
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "a name is taken twice");
    }
}
