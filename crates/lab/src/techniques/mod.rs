//! Techniques, each with declaration, demonstration and costs. Each page has one file with the name
//! of the page.

use crate::page::Page;

mod k01_md5_prefix;
mod k02_delimited_text_key;
mod k03_reversed_timestamp;
mod k04_decode_text_key;
mod k05_hashed_time_series_key;
mod k06_inbox_key;
mod k07_user_time_range;
mod k08_natural_key;
mod k09_prefix_and_skip_scan;
mod k10_prefix_successor;
mod k11_reversed_phone_number;
mod k12_newest_first;
mod k13_fixed_width_salt;
mod k14_hash_prefix;
mod k15_round_robin_salt;
mod k16_computed_salt;
mod k17_presplit_table;
mod k18_random_digit_prefix;
mod k19_modulo_salt;
mod k20_java_hash_code_salt;
mod k21_thousand_salts;
mod k22_merged_salted_scan;
mod k23_region_aggregation;
mod k24_one_task_per_region;
mod k25_reversed_user_id;
mod k26_user_activity_range;
mod k27_time_modulo_bucket;
mod k28_equality_before_range;
mod k29_short_identifiers;
mod k30_time_bucket_rows;
mod k31_query_driven_field_order;
mod k32_key_length_cost;
mod k33_key_space_estimate;
mod k34_per_cell_overhead;
mod k35_short_family_names;

/// Pages in the order of their ids.
pub(crate) static PAGES: &[Page] = &[
    k01_md5_prefix::PAGE,
    k02_delimited_text_key::PAGE,
    k03_reversed_timestamp::PAGE,
    k04_decode_text_key::PAGE,
    k05_hashed_time_series_key::PAGE,
    k06_inbox_key::PAGE,
    k07_user_time_range::PAGE,
    k08_natural_key::PAGE,
    k09_prefix_and_skip_scan::PAGE,
    k10_prefix_successor::PAGE,
    k11_reversed_phone_number::PAGE,
    k12_newest_first::PAGE,
    k13_fixed_width_salt::PAGE,
    k14_hash_prefix::PAGE,
    k15_round_robin_salt::PAGE,
    k16_computed_salt::PAGE,
    k17_presplit_table::PAGE,
    k18_random_digit_prefix::PAGE,
    k19_modulo_salt::PAGE,
    k20_java_hash_code_salt::PAGE,
    k21_thousand_salts::PAGE,
    k22_merged_salted_scan::PAGE,
    k23_region_aggregation::PAGE,
    k24_one_task_per_region::PAGE,
    k25_reversed_user_id::PAGE,
    k26_user_activity_range::PAGE,
    k27_time_modulo_bucket::PAGE,
    k28_equality_before_range::PAGE,
    k29_short_identifiers::PAGE,
    k30_time_bucket_rows::PAGE,
    k31_query_driven_field_order::PAGE,
    k32_key_length_cost::PAGE,
    k33_key_space_estimate::PAGE,
    k34_per_cell_overhead::PAGE,
    k35_short_family_names::PAGE,
];
