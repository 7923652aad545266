//! What tables, regions, store files and snapshots there are, and where they lie.

pub(crate) mod encoding;
mod entries;
pub(crate) mod history;
pub(crate) mod layout;
pub(crate) mod manifest;
pub(crate) mod messages;
pub(crate) mod meta;

pub(crate) use entries::{Catalog, FamilyFiles, FileEntry, Home, NamespaceEntry, Need, RegionEntry, SnapshotEntry, TableEntry, Target, no_table};
pub(crate) use manifest::Manifest;
