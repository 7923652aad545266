//! Mistakes, each done wrong and then right. One file a page, named after it.

use crate::page::Page;

mod e01;

/// In the order of their ids.
pub(crate) static PAGES: &[Page] = &[e01::PAGE];
