//! The engine's integration tests, one binary for all.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue must stop")]

mod caching;
mod compaction_policies;
mod damaged_files;
mod disorder;
mod encodings;
mod family_flushes;
mod gets;
mod guards;
mod half_done;
mod hfile;
mod in_memory_compaction;
mod joined_families;
mod limits;
mod merged_cells;
mod meta;
mod panics;
mod parts;
mod regions;
mod scanning;
mod split_policies;
mod stripes;
mod support;
mod threads;
mod timestamps;
mod versions;
mod writing;
