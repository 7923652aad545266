//! Public API of the tools for declared row keys: the pages of lint are its tests.

mod lint_input;
mod lint_pages;
