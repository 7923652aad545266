//! Keys of the tutorials' designs, a thousand of each, and their inferred schemas.

mod bad;
mod clusters;
mod confidence;
mod generate;
mod identifiers;
mod rivals;
mod shapes;
