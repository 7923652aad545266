//! Error of arguments, for the exit code.

/// Error of a value that was given, for which the command exits as for an unknown flag.
#[derive(Debug)]
pub(crate) struct WrongArguments(pub(crate) anyhow::Error);

impl std::fmt::Display for WrongArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for WrongArguments {}
