//! Designs under simulation: a key, its regions, and its queries.

use bytes::Bytes;
use halite_rowkey::language::Query;
use halite_rowkey::schema::KeySchema;

/// Design under simulation: a key and its regions.
#[derive(Clone, Debug)]
pub struct Design {
    /// Name in reports.
    pub name: String,
    /// Row key.
    pub key: KeySchema,
    /// Splits of the table.
    pub regions: RegionLayout,
    /// Expected queries.
    pub queries: Vec<Query>,
}

/// Splits of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionLayout {
    /// Boundaries at these keys, ascending, without the empty key of the first region.
    Boundaries(Vec<Bytes>),
    /// This many regions with equal numbers of writes, as far as possible: the best splits with
    /// full knowledge.
    Even(u32),
}
