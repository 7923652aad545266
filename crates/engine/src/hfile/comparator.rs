//! Orders of a file's keys: that of ordinary tables, and that of `hbase:meta`.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use halite_types::cell::{compare_keys, key_row};

/// Order of the keys of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparator {
    /// HBase's `CellComparatorImpl`: rows by unsigned bytes.
    #[default]
    Cell,
    /// HBase's `MetaCellComparator`: rows are `table,start key,region id`, compared part by part,
    /// so that a comma in a start key does not affect the order of the start keys.
    Meta,
}

impl Comparator {
    /// Returns the order for a class name in a trailer, which may be an old or a new name.
    pub(super) fn from_class_name(name: &str) -> Option<Self> {
        match name.strip_prefix("org.apache.hadoop.hbase.")? {
            "KeyValue$KVComparator"
            | "KeyValue$KeyComparator"
            | "CellComparator"
            | "CellComparatorImpl"
            | "InnerStoreCellComparator" => Some(Self::Cell),
            "KeyValue$MetaComparator"
            | "KeyValue$MetaKeyComparator"
            | "CellComparator$MetaCellComparator"
            | "CellComparatorImpl$MetaCellComparator"
            | "MetaCellComparator" => Some(Self::Meta),
            _ => None,
        }
    }

    /// Returns the class name that HBase 2.6 writes, which older versions also support.
    pub fn class_name(self) -> &'static str {
        match self {
            Self::Cell => "org.apache.hadoop.hbase.KeyValue$KVComparator",
            Self::Meta => "org.apache.hadoop.hbase.KeyValue$MetaComparator",
        }
    }

    /// Returns the order of two well-formed flat keys, without the sequence id.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Cell => compare_keys(a, b),
            Self::Meta => {
                compare_meta_rows(key_row(a), key_row(b)).then_with(|| compare_keys(a, b))
            }
        }
    }

    /// Returns the order of two rows.
    #[inline]
    pub fn compare_rows(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Cell => a.cmp(b),
            Self::Meta => compare_meta_rows(a, b),
        }
    }
}

fn compare_meta_rows(a: &[u8], b: &[u8]) -> Ordering {
    let (a_table, a_rest) = split_first_comma(a);
    let (b_table, b_rest) = split_first_comma(b);
    let tables = a_table.cmp(b_table);
    if tables != Ordering::Equal {
        return tables;
    }
    let (Some(a_rest), Some(b_rest)) = (a_rest, b_rest) else {
        return a_rest.is_some().cmp(&b_rest.is_some());
    };
    let (a_start, a_id) = split_last_comma(a_rest);
    let (b_start, b_id) = split_last_comma(b_rest);
    a_start.cmp(b_start).then_with(|| a_id.cmp(&b_id))
}

fn split_first_comma(row: &[u8]) -> (&[u8], Option<&[u8]>) {
    match row.iter().position(|&byte| byte == b',').and_then(|at| row.split_at_checked(at)) {
        Some((table, rest)) => (table, rest.split_first().map(|(_, rest)| rest)),
        None => (row, None),
    }
}

fn split_last_comma(rest: &[u8]) -> (&[u8], Option<&[u8]>) {
    match rest.iter().rposition(|&byte| byte == b',').and_then(|at| rest.split_at_checked(at)) {
        Some((start, id)) => (start, id.split_first().map(|(_, id)| id)),
        None => (rest, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_rows_are_ordered_by_start_key() {
        let rows: [&[u8]; 9] = [
            b"t",
            b"t,,17",
            b"t,k,17",
            b"t,k\x01,16",
            b"t,k!,15",
            b"t,k,5,14",
            b"t,k,5,,13",
            b"t,l,1",
            b"u,,1",
        ];
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                assert_eq!(
                    Comparator::Meta.compare_rows(a, b),
                    i.cmp(&j),
                    "{:?} {:?}",
                    a.escape_ascii(),
                    b.escape_ascii()
                );
            }
        }
    }
}
