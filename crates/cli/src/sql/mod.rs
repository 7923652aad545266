//! `halite sql`: statements to a session of SQL, and rows to text.

mod complete;
mod copy;
mod edit;
mod format;
mod interactive;
mod json;
pub(crate) mod lint;
mod names;
mod pieces;
mod progress;
mod runner;

pub(crate) use format::Format;
pub(crate) use interactive::run_interactive;
pub(crate) use runner::{Failure, Runner, describe};
