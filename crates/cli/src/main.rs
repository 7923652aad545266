//! The `halite` command.
fn main() {}
