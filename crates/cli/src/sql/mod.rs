//! `halite sql`: statements to a session of SQL, and rows to text and bytes.

mod complete;
mod copy;
mod edit;
mod files;
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
