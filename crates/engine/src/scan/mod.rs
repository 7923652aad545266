//! Reading rows: what a scan or get goes through.
pub mod filter;
