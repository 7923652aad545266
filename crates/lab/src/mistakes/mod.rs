//! Mistakes, each followed by the correct way. Each page has one file with the name of the page.

use crate::page::Page;

mod e01_reversed_range_bounds;
mod e02_last_24_hours_bounds;
mod e03_range_instead_of_prefix;
mod e04_range_over_hash;
mod e05_append_as_counter;
mod e06_limit_without_stop_row;
mod e07_negative_salt;
mod e08_leading_time_bucket;
mod e09_salt_from_timestamp;
mod e10_padding_too_short;
mod e11_delimiter_in_value;
mod e12_split_at_delimiter;
mod e13_inconsistent_hash_width;
mod e14_low_cardinality_hash;
mod e15_max_row_key_length;
mod e16_eight_byte_alignment;
mod e17_key_cost_estimate;
mod e19_comment_contradicts_code;
mod e20_int_overflow_in_range;
mod e21_receiver_key_sender_query;
mod e22_message_id_primary_key;
mod e23_missing_inverse_table;
mod e24_fan_out_one_by_one;
mod e25_ambiguous_concatenation;
mod e26_leading_date;
mod e27_cohort_not_first;
mod e28_hot_counter_row;
mod e29_random_salt;
mod e30_salts_regions_mismatch;
mod e31_salt_added_to_id;
mod e32_random_prefix_plus_millis;
mod e33_one_region_per_salt;
mod e34_range_over_hashed_field;
mod e37_ttl_is_per_cell;
mod e38_extra_versions_at_flush;
mod e39_reads_merge_memstore_and_files;
mod e41_host_before_time;
mod e42_bucket_row_one_column;
mod e43_oversized_text_key;
mod e44_one_cell_per_point;
mod e45_timestamp_stored_twice;
mod e46_hash_collision_16_bit;
mod e47_bound_width_mismatch;
mod e48_salts_do_not_speed_up_jobs;

/// Pages in the order of their ids.
pub(crate) static PAGES: &[Page] = &[
    e01_reversed_range_bounds::PAGE,
    e02_last_24_hours_bounds::PAGE,
    e03_range_instead_of_prefix::PAGE,
    e04_range_over_hash::PAGE,
    e05_append_as_counter::PAGE,
    e06_limit_without_stop_row::PAGE,
    e07_negative_salt::PAGE,
    e08_leading_time_bucket::PAGE,
    e09_salt_from_timestamp::PAGE,
    e10_padding_too_short::PAGE,
    e11_delimiter_in_value::PAGE,
    e12_split_at_delimiter::PAGE,
    e13_inconsistent_hash_width::PAGE,
    e14_low_cardinality_hash::PAGE,
    e15_max_row_key_length::PAGE,
    e16_eight_byte_alignment::PAGE,
    e17_key_cost_estimate::PAGE,
    e19_comment_contradicts_code::PAGE,
    e20_int_overflow_in_range::PAGE,
    e21_receiver_key_sender_query::PAGE,
    e22_message_id_primary_key::PAGE,
    e23_missing_inverse_table::PAGE,
    e24_fan_out_one_by_one::PAGE,
    e25_ambiguous_concatenation::PAGE,
    e26_leading_date::PAGE,
    e27_cohort_not_first::PAGE,
    e28_hot_counter_row::PAGE,
    e29_random_salt::PAGE,
    e30_salts_regions_mismatch::PAGE,
    e31_salt_added_to_id::PAGE,
    e32_random_prefix_plus_millis::PAGE,
    e33_one_region_per_salt::PAGE,
    e34_range_over_hashed_field::PAGE,
    e37_ttl_is_per_cell::PAGE,
    e38_extra_versions_at_flush::PAGE,
    e39_reads_merge_memstore_and_files::PAGE,
    e41_host_before_time::PAGE,
    e42_bucket_row_one_column::PAGE,
    e43_oversized_text_key::PAGE,
    e44_one_cell_per_point::PAGE,
    e45_timestamp_stored_twice::PAGE,
    e46_hash_collision_16_bit::PAGE,
    e47_bound_width_mismatch::PAGE,
    e48_salts_do_not_speed_up_jobs::PAGE,
];
