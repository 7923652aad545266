//! The commands: what each is called, takes and says about itself; one file per group.

mod alter;
mod arguments;
mod create;
mod delete;
mod describe;
mod explain;
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
mod state;
mod tools;
mod write;

pub(crate) use arguments::Arguments;
pub(super) use create::split_keys;
pub(super) use describe::{must_exist, table_exists};
pub(super) use explain::About;
pub(super) use row_key::warn;

use super::session::{Outcome, Session, Stop};

/// A group of commands, as `help` lists them.
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
    pub(crate) const ALL: [Self; 6] = [Self::General, Self::Ddl, Self::Namespace, Self::Dml, Self::Tools, Self::Snapshots];

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

/// A command.
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) group: Group,
    /// Least and most arguments; `None` is no limit.
    pub(crate) count: (usize, Option<usize>),
    /// Whether its first argument is a table, so that it is a method of a table handle too.
    pub(crate) takes_table: bool,
    /// Names that may stand in its `{}`, for completion.
    pub(crate) options: &'static [&'static str],
    /// Its arguments in one line.
    pub(crate) synopsis: &'static str,
    /// What it does, in whole sentences.
    pub(crate) about: &'static str,
    /// Lines that can be typed.
    pub(crate) examples: &'static [&'static str],
    pub(crate) run: fn(&mut Session<'_>, &Arguments) -> Outcome,
}

impl Word {
    /// Its name and aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether it takes that many arguments.
    pub(crate) fn check_count(&self, given: usize) -> Outcome<()> {
        let (least, most) = self.count;
        if given >= least && most.is_none_or(|most| given <= most) {
            return Ok(());
        }
        let expected = match most {
            Some(most) if most == least => least.to_string(),
            Some(most) => format!("{least}..{most}"),
            None => format!("{least}+"),
        };
        Err(Stop::Problem(format!("wrong number of arguments (given {given}, expected {expected}): {}", self.synopsis)))
    }
}

const LISTS: [&[Word]; 14] = [
    general::WORDS,
    create::WORDS,
    alter::WORDS,
    describe::WORDS,
    state::WORDS,
    namespace::WORDS,
    read::WORDS,
    scan::WORDS,
    write::WORDS,
    delete::WORDS,
    move_row::WORDS,
    regions::WORDS,
    tools::WORDS,
    snapshots::WORDS,
];

/// Every command.
pub(crate) fn all() -> impl Iterator<Item = &'static Word> {
    LISTS.iter().copied().flatten()
}

/// The command of that name or alias.
pub(crate) fn find(name: &str) -> Option<&'static Word> {
    all().find(|word| word.names().any(|known| known == name))
}

/// Constants and the text each stands for: mostly their own name.
pub(crate) fn constants() -> impl Iterator<Item = (&'static str, &'static str)> {
    let aliases = [("ENDROW", "STOPROW"), ("ENDKEY", "STOPROW"), ("STARTKEY", "STARTROW")];
    let shared = options::OTHER_CONSTANTS.iter().chain(create::FAMILY_ATTRIBUTES).chain(create::TABLE_ATTRIBUTES);
    aliases.into_iter().chain(shared.chain(all().flat_map(|word| word.options)).map(|name| (*name, *name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_can_be_found_and_says_what_it_does() {
        let mut names: Vec<_> = all().flat_map(Word::names).collect();
        assert!(names.iter().all(|name| find(name).is_some()));
        for word in all() {
            assert!(word.about.ends_with('.') && word.synopsis.starts_with(word.name) && !word.examples.is_empty(), "{}", word.name);
            assert!(!word.takes_table || word.count.0 > 0, "{}", word.name);
        }
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "a name is taken twice");
    }
}
