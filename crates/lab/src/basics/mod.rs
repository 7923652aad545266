//! What mistakes and techniques rest on: order, ranges, versions, lifetimes. One file a page, named after it.

use crate::page::Page;

/// In the order of their ids.
pub(crate) static PAGES: &[Page] = &[];
