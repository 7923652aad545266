//! Public API of declared row keys: properties over random schemas and values, and the pages of
//! lint.

mod allocation;
mod hostile;
mod lint_input;
mod lint_pages;
mod properties;
mod random;
