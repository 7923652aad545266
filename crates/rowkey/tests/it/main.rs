//! Row keys by declaration, seen from outside: properties over random schemas and values.

mod properties;
mod random;
