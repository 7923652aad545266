//! Basics of mistakes and techniques: order, ranges, versions, TTLs. Each page has one file with
//! the name of the page.

use crate::page::Page;

mod c01_block_size;
mod c02_block_cache;
mod c03_compression;
mod c04_versions;
mod c05_family_ttl;
mod c06_expired_files;
mod c07_cell_ttl;
mod c08_family_count;
mod c09_sql_table_declaration;
mod c16_append_vs_increment;
mod m07_row_range_scan;
mod m08_like_on_row_keys;
mod m09_full_table_scan;
mod m10_region_for_key;
mod m11_memstore_and_file_order;
mod m12_cell_order;
mod m13_newest_version_wins;
mod m14_move_row;
mod m15_row_across_families;
mod m16_wide_row;
mod m17_inbox_outbox_families;

/// Pages in the order of their ids.
pub(crate) static PAGES: &[Page] = &[
    c01_block_size::PAGE,
    c02_block_cache::PAGE,
    c03_compression::PAGE,
    c04_versions::PAGE,
    c05_family_ttl::PAGE,
    c06_expired_files::PAGE,
    c07_cell_ttl::PAGE,
    c08_family_count::PAGE,
    c09_sql_table_declaration::PAGE,
    c16_append_vs_increment::PAGE,
    m07_row_range_scan::PAGE,
    m08_like_on_row_keys::PAGE,
    m09_full_table_scan::PAGE,
    m10_region_for_key::PAGE,
    m11_memstore_and_file_order::PAGE,
    m12_cell_order::PAGE,
    m13_newest_version_wins::PAGE,
    m14_move_row::PAGE,
    m15_row_across_families::PAGE,
    m16_wide_row::PAGE,
    m17_inbox_outbox_families::PAGE,
];
