//! Keys as the tutorials make them, a thousand of each, and what is found of them.

mod bad;
mod confidence;
mod generate;
mod shapes;
