//! Keys as the tutorials make them, a thousand of each, and what is found of them.

mod bad;
mod clusters;
mod confidence;
mod generate;
mod identifiers;
mod rivals;
mod shapes;
