//! Keys as the tutorials make them, a thousand of each, and what is found of them.

mod bad;
mod generate;
mod shapes;
