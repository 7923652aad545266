//! Items that `halite-rowkey-tools` and the derive macro share with this crate, and no others use:
//! they examine keys that no schema describes yet, and propose schemas for them.
//!
//! They are hidden because they are no API: they change with the tools.

pub use crate::codec::numeric::end as numeric_end;
pub use crate::codec::slot::big_endian;
pub use crate::hash::{Input, MAX_DIGEST_BYTES, digest, number};
pub use crate::hot_end::{Growth, HotEnd, leading_segment, rearranged_text, salt_by, salted};
pub use crate::language::split::print_table;
pub use crate::language::statement::line_of;
pub use crate::language::table_attributes::check_split;
