//! `FuzzyRowFilter`: row keys with fixed and free positions, with jumps to the next row that can
//! match.

use bytes::Bytes;
use halite_types::cell::{self, CellRef};
use halite_types::key::successor_of_prefix;
use halite_types::{Error, FuzzyKey, Result};

use super::evaluate::{Evaluate, ReturnCode};

/// Pattern; `None` accepts any byte.
struct Pattern {
    bytes: Vec<Option<u8>>,
}

/// Filter with the next row that each pattern can match, once a hint was requested.
pub(super) struct FuzzyRow {
    patterns: Vec<Pattern>,
    reversed: bool,
    done: bool,
    filter_row: bool,
    last_match: usize,
    next_rows: Option<Vec<Option<Bytes>>>,
}

impl FuzzyRow {
    pub(super) fn new(keys: &[FuzzyKey]) -> Result<Self> {
        if keys.is_empty() {
            return Err(Error::invalid("filter: a FuzzyRowFilter has no keys; give at least one"));
        }
        let patterns = keys.iter().map(Pattern::new).collect::<Result<_>>()?;
        Ok(Self {
            patterns,
            reversed: false,
            done: false,
            filter_row: false,
            last_match: 0,
            next_rows: None,
        })
    }
}

impl Evaluate for FuzzyRow {
    fn set_reversed(&mut self, reversed: bool) {
        self.reversed = reversed;
    }

    fn reset(&mut self) {
        self.filter_row = false;
    }

    fn filter_all_remaining(&self) -> bool {
        self.done
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        let (before, from) = self.patterns.split_at(self.last_match);
        let matches = |pattern: &Pattern| pattern.matches(cell.row());
        if let Some(position) = from.iter().chain(before).position(matches) {
            self.last_match = (self.last_match + position) % self.patterns.len();
            return ReturnCode::Include;
        }
        self.last_match = 0;
        self.filter_row = true;
        ReturnCode::SeekNextUsingHint
    }

    /// Returns the nearest of the patterns' next rows. Each is recomputed only once the scan has
    /// reached it.
    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        let (row, reversed) = (cell.row(), self.reversed);
        let ahead = |next: &Bytes| if reversed { row > &next[..] } else { row < &next[..] };
        let next_of = |pattern: &Pattern| pattern.next_row(row, reversed).map(Bytes::from);
        match &mut self.next_rows {
            None => self.next_rows = Some(self.patterns.iter().map(next_of).collect()),
            Some(next_rows) => {
                for (next, pattern) in next_rows.iter_mut().zip(&self.patterns) {
                    if next.as_ref().is_some_and(|next| !ahead(next)) {
                        *next = next_of(pattern);
                    }
                }
            }
        }
        let rows = self.next_rows.iter().flatten().flatten();
        let nearest = if reversed { rows.max() } else { rows.min() };
        self.done = nearest.is_none();
        nearest.map(|row| cell::first_on_row(row))
    }

    fn is_hinting(&self) -> bool {
        true
    }

    fn filter_row(&mut self) -> bool {
        self.filter_row
    }
}

impl Pattern {
    fn new(given: &FuzzyKey) -> Result<Self> {
        let FuzzyKey { key, mask } = given;
        if key.len() != mask.len() {
            let (key, mask) = (key.len(), mask.len());
            return Err(Error::invalid(format!(
                "filter: a FuzzyRowFilter has a key of {key} bytes with a mask of {mask}; give one \
                 mask byte for each"
            )));
        }
        let position = |(&byte, &mask): (&u8, &u8)| match mask {
            0 | 0xff => Ok(Some(byte)),
            1 | 2 => Ok(None),
            other => Err(Error::invalid(format!(
                "filter: a FuzzyRowFilter has {other} in its mask; give 0 for a fixed byte, 1 for \
                 any"
            ))),
        };
        Ok(Self { bytes: key.iter().zip(mask).map(position).collect::<Result<_>>()? })
    }

    /// Returns `true` if the row has the fixed bytes, as far as it extends: longer and shorter rows
    /// match too.
    fn matches(&self, row: &[u8]) -> bool {
        self.bytes.iter().zip(row).all(|(pattern, byte)| pattern.is_none_or(|fixed| fixed == *byte))
    }

    /// Returns the earliest position of the next matching row after `row`. Forward this is the
    /// smallest such key without the free bytes at its end, in reverse a key above the greatest
    /// such key.
    fn next_row(&self, row: &[u8], reversed: bool) -> Option<Vec<u8>> {
        let (low, high) = if reversed { (0xff, 0) } else { (0, 0xff) };
        let mut next: Vec<u8> = self.bytes.iter().map(|fixed| fixed.unwrap_or(low)).collect();
        next.resize(row.len().max(next.len()), low);
        let mut to_step = None;
        let mut moved = false;
        for (position, byte) in next.iter_mut().enumerate() {
            let at_row = row.get(position).copied().unwrap_or(low);
            match self.bytes.get(position).copied().flatten() {
                None => {
                    *byte = at_row;
                    if at_row != high {
                        to_step = Some(position);
                    }
                }
                Some(fixed) if fixed == at_row => {}
                Some(fixed) => {
                    moved = (at_row < fixed) != reversed;
                    break;
                }
            }
        }
        if !moved {
            let step = to_step?;
            next[step] =
                if reversed { next[step].wrapping_sub(1) } else { next[step].wrapping_add(1) };
            for (position, byte) in next.iter_mut().enumerate().skip(step + 1) {
                if self.bytes.get(position).copied().flatten().is_none() {
                    *byte = low;
                }
            }
        }
        let last_fixed = self.bytes.iter().rposition(Option::is_some);
        next.truncate(last_fixed.max(to_step).map_or(0, |position| position + 1));
        if reversed { successor_of_prefix(&next) } else { Some(next) }
    }
}
