//! Shell commands, one module per group.

mod alter;
mod arguments;
mod command;
mod create;
mod decoded;
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
mod setting_names;
mod snapshots;
mod splits;
mod table_state;
mod tools;
mod write;

pub(crate) use arguments::Arguments;
pub(crate) use command::{Group, ShellCommand};
pub(super) use create::split_keys;
pub(super) use describe::{must_exist, table_exists};
pub(super) use error_hints::ErrorContext;
pub(super) use row_key::warn;

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
    fn every_command_has_name_synopsis_and_help() {
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
