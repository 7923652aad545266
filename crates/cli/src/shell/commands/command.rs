//! Shell command: name, number of arguments, help, and the function that runs it.

use super::arguments::Arguments;
use crate::shell::session::{EvalResult, Interrupt, Session};

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
