//! Catalog of tables, regions, store files and snapshots, and their locations.

pub(crate) mod encoding;
mod entries;
pub(crate) mod history;
pub(crate) mod layout;
pub(crate) mod manifest;
pub(crate) mod messages;
pub(crate) mod meta;
pub(crate) mod snapshot_messages;

pub(crate) use entries::{
    Catalog, FamilyFiles, FileEntry, FileOrigin, LinkTarget, NamespaceEntry, RegionEntry,
    RequiredLocation, SnapshotEntry, TableEntry, table_not_found,
};
pub(crate) use manifest::Manifest;
