//! Row keys by declaration, seen from outside: properties over random schemas and values.

mod allocation;
mod properties;
mod random;
