//! The process that a check of a recipe kills.

mod killed_writer;

pub(crate) use killed_writer::KilledWriter;
