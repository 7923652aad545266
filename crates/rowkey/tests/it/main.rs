//! Public API of declared row keys: properties over random schemas and values, and
//! malicious declarations.

mod allocation;
mod hostile;
mod properties;
mod random;
