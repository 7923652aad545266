//! What tables, regions and store files there are, and where they lie.

pub(crate) mod layout;
pub(crate) mod manifest;
pub(crate) mod messages;

pub(crate) use manifest::{Catalog, Fate, FileEntry, Manifest, NamespaceEntry, RegionEntry, TableEntry};
