//! First row of each group of adjacent rows: one seek for each group where groups are large, and a
//! plain scan where they are small.
//!
//! How large they are is seen from a sample of the first groups, and again after some hundreds of
//! them. Every read is finished in the call that began it, so a cancelled call loses no rows.

use std::ops::Bound;
use std::sync::Arc;

use halite_types::key::{successor_of_prefix, to_string_binary};
use halite_types::{Bytes, Result, Row, RowRange, Scan};

use super::cursor::ScatterContext;
use crate::plan::{KeyGroups, KeyRange};

/// Rows of a group from which on a seek is cheaper than reading them; also the rows of a sample.
const LARGE_GROUP_ROWS: usize = 20;
/// Groups that the sample is about.
const SAMPLE_GROUPS: usize = 8;
/// Groups that are sought before the next sample: large ones may be followed by small ones.
const SOUGHT_GROUPS: usize = 512;
/// Rows of a plain read, whose groups are held until it ends.
const PLAIN_ROWS: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Reads the beginnings of groups to see how large they are.
    Sample,
    /// Groups are large: reads the first row of each.
    Seek,
    /// Groups are small: reads all rows.
    Plain,
}

/// Remaining ranges, in the order in which they are read.
pub(super) struct Loose {
    context: Arc<ScatterContext>,
    groups: KeyGroups,
    ranges: std::vec::IntoIter<KeyRange>,
    /// Rest of the range that is being read.
    left: Option<RowRange>,
    mode: Mode,
    sampled: usize,
    large: usize,
    /// Groups since the last sample.
    sought: usize,
    /// Common bytes of the group of the last row.
    last: Vec<u8>,
}

impl Loose {
    pub(super) fn new(
        context: Arc<ScatterContext>,
        mut ranges: Vec<KeyRange>,
        groups: KeyGroups,
    ) -> Self {
        if context.plan.query().reverse {
            ranges.reverse();
        }
        Self {
            context,
            groups,
            ranges: ranges.into_iter(),
            left: None,
            mode: Mode::Sample,
            sampled: 0,
            large: 0,
            sought: 0,
            last: Vec::new(),
        }
    }

    /// Returns the next first rows, at most `most`; empty at the end.
    pub(super) async fn next_rows(&mut self, most: usize) -> Result<Vec<Row>> {
        loop {
            if self.left.as_ref().is_none_or(RowRange::is_empty) {
                let Some(next) = self.ranges.next() else { return Ok(Vec::new()) };
                self.left = Some(next.range);
                self.last.clear();
            }
            let mut rows = self.read().await?;
            if !rows.is_empty() {
                rows.truncate(most);
                return Ok(rows);
            }
        }
    }

    /// Reads a part of the range; returns the first rows of the groups in it.
    async fn read(&mut self) -> Result<Vec<Row>> {
        let Some(left) = self.left.clone() else { return Ok(Vec::new()) };
        let asked = match self.mode {
            Mode::Sample => LARGE_GROUP_ROWS,
            Mode::Seek => 1,
            Mode::Plain => PLAIN_ROWS,
        };
        let place = format!("table {}, first rows of groups", self.context.table.name());
        let mut stream = self.context.table.scan(Scan {
            range: left,
            limit: Some(asked),
            reverse: self.context.plan.query().reverse,
            ..self.context.template.clone()
        });
        let (mut firsts, mut came, mut groups) = (Vec::new(), 0, 0);
        let (mut last, mut key) = (self.last.clone(), None);
        loop {
            let rows = stream.next_rows().await.map_err(|error| error.at(&place))?;
            if rows.is_empty() {
                break;
            }
            came += rows.len();
            self.context.count(&rows);
            key = rows.last().map(|row| row.key().to_vec());
            for row in rows {
                if !last.is_empty() && row.key().starts_with(&last) || !self.context.keeps(&row)? {
                    continue;
                }
                let bytes =
                    self.context.plan.group_bytes(self.groups, row.key()).map_err(|error| {
                        halite_types::Error::from(error)
                            .at(format_args!("row {}", to_string_binary(row.key())))
                    })?;
                last = row.key()[..bytes].to_vec();
                groups += 1;
                firsts.push(row);
            }
        }
        self.last = last;
        self.go_on(came < asked, key);
        self.decide(came == asked, came, groups);
        Ok(firsts)
    }

    /// Moves to the rows that are left after a read whose last row has `key`.
    fn go_on(&mut self, is_over: bool, key: Option<Vec<u8>>) {
        let (Some(key), false) = (key, is_over) else {
            self.left = None;
            return;
        };
        let Some(left) = &mut self.left else { return };
        let reverse = self.context.plan.query().reverse;
        // A row that is no key belongs to no group.
        let is_in_group = !self.last.is_empty() && key.starts_with(&self.last);
        let after = if self.mode == Mode::Plain || !is_in_group {
            Some(Bound::Excluded(Bytes::from(key)))
        } else if reverse {
            Some(Bound::Excluded(Bytes::copy_from_slice(&self.last)))
        } else {
            successor_of_prefix(&self.last).map(|next| Bound::Included(next.into()))
        };
        match after {
            Some(after) if reverse => left.end = after,
            Some(after) => left.start = after,
            None => self.left = None,
        }
    }

    /// Chooses how to read on, from what a read found.
    fn decide(&mut self, is_full: bool, rows: usize, groups: usize) {
        match self.mode {
            Mode::Sample => {
                self.sampled += groups.max(1);
                self.large += usize::from(is_full && groups <= 1);
                if self.sampled >= SAMPLE_GROUPS {
                    let is_large = self.large * 2 >= self.sampled;
                    self.mode = if is_large { Mode::Seek } else { Mode::Plain };
                }
            }
            Mode::Plain if is_full && groups * LARGE_GROUP_ROWS <= rows => {
                (self.mode, self.sought) = (Mode::Seek, 0);
            }
            Mode::Seek => {
                self.sought += groups;
                if self.sought >= SOUGHT_GROUPS {
                    (self.mode, self.sought) = (Mode::Sample, 0);
                    (self.sampled, self.large) = (0, 0);
                }
            }
            Mode::Plain => {}
        }
    }
}
