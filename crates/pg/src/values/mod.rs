//! Values between Arrow and PostgreSQL: `types.rs` has the types, `encode.rs` writes values of
//! results, `decode.rs` reads those of parameters; `text.rs`, `numeric.rs` and `json.rs` have the
//! forms of single types.

pub(crate) mod decode;
pub(crate) mod encode;
mod json;
pub(crate) mod list;
mod numeric;
mod text;
pub(crate) mod types;
