//! Drafts of text keys: positions of delimiters, and the content between them.

use std::collections::HashMap;
use std::ops::Range;

use halite_rowkey::schema::Profile;
use halite_rowkey::value::FieldType;

use super::column::Column;
use super::draft::{DerivedCandidate, Draft, DraftSegment, KEYS_REMEMBERED, char_type};
use super::sample::SampledKeys;
use super::uuids::is_dashed;
use super::values::{self, is_date, is_ipv4};

/// Maximum delimiters in a key; the delimiters of a key with more are ignored.
const MAX_DELIMITERS: usize = 24;
/// Maximum shapes examined, the most frequent ones.
const MAX_SHAPES: usize = 3;
/// Minimum percentage of keys with a shape.
const MIN_SHAPE_PERCENT: usize = 10;
/// Minimum percentage of keys with digits at a position; the others are then excluded.
const MIN_ALIKE_PERCENT: usize = 97;
/// Numbers of derived digits that are followed by other content without a delimiter.
const GLUED: [usize; 12] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 40, 64];

/// Returns drafts of text keys, some of which contradict each other, with the indexes of their
/// keys.
pub(super) fn drafts(seen: &SampledKeys<'_>) -> Vec<(Draft, Vec<usize>)> {
    let mut drafts = Vec::new();
    for places in key_shapes(&seen.keys) {
        let (form, places) = alike(seen, places);
        for merges in [true, false] {
            drafts.push((form.draft(merges, None), places.clone()));
            drafts.extend(
                GLUED
                    .iter()
                    .map(|&width| (form.draft(merges, Some(width)), places.clone()))
                    .filter(|(draft, _)| !draft.segments.is_empty()),
            );
        }
        if form.draft(true, None).segments.iter().any(|piece| !piece.doubt.is_empty()) {
            let plain = KeyShape {
                sampled: SampledKeys { is_plain: true, ..form.sampled.clone() },
                ..form.clone()
            }
            .draft(true, None);
            drafts.push((plain, places.clone()));
        }
    }
    drafts.extend(anchored(seen).map(|draft| (draft, (0..seen.keys.len()).collect())));
    drafts
}

/// Returns the indexes of the keys, grouped by the delimiters in them, most frequent first.
fn key_shapes(keys: &[&[u8]]) -> Vec<Vec<usize>> {
    let mut forms: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for (at, key) in keys.iter().enumerate() {
        let mut delimiters: Vec<u8> = key
            .iter()
            .copied()
            .filter(|byte| is_delimiter(*byte))
            .take(MAX_DELIMITERS + 1)
            .collect();
        if delimiters.len() > MAX_DELIMITERS {
            delimiters.clear();
        }
        forms.entry(delimiters).or_default().push(at);
    }
    let mut forms: Vec<_> = forms
        .into_values()
        .filter(|places| places.len() * 100 >= keys.len() * MIN_SHAPE_PERCENT)
        .collect();
    forms.sort_by_key(|places| (std::cmp::Reverse(places.len()), places[0]));
    forms.truncate(MAX_SHAPES);
    forms
}

/// Returns the keys of a shape without the few that differ from all others at a position.
fn alike<'k>(seen: &SampledKeys<'k>, mut places: Vec<usize>) -> (KeyShape<'k>, Vec<usize>) {
    let mut form = KeyShape::from_keys(&seen.select(&places));
    for cell in 0..form.cells.len() {
        let is_digits: fn(&[u8]) -> bool =
            |value| !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let is_hex: fn(&[u8]) -> bool = |value| {
            !value.is_empty() && value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        for test in [is_digits, is_hex] {
            let column = form.column(cell, cell);
            let right: Vec<usize> =
                (0..places.len()).filter(|&at| test(column.values[at])).collect();
            if right.len() < places.len() && right.len() * 100 >= places.len() * MIN_ALIKE_PERCENT {
                places = right.into_iter().map(|at| places[at]).collect();
                form = KeyShape::from_keys(&seen.select(&places));
                break;
            }
        }
    }
    (form, places)
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_punctuation() || byte == b' '
}

/// Keys with the same delimiters, split at them.
#[derive(Clone)]
struct KeyShape<'k> {
    sampled: SampledKeys<'k>,
    /// For each position between delimiters, the range of its bytes in each key.
    cells: Vec<Vec<Range<usize>>>,
    delimiters: Vec<u8>,
}

impl<'k> KeyShape<'k> {
    fn from_keys(seen: &SampledKeys<'k>) -> Self {
        let first: Vec<u8> = seen
            .keys
            .first()
            .map_or(&[][..], |key| key)
            .iter()
            .copied()
            .filter(|byte| is_delimiter(*byte))
            .collect();
        let delimiters = if first.len() > MAX_DELIMITERS { Vec::new() } else { first };
        let mut cells = vec![Vec::with_capacity(seen.keys.len()); delimiters.len() + 1];
        for key in &seen.keys {
            let mut start = 0;
            for cell in cells.iter_mut().take(delimiters.len()) {
                let end = key[start..]
                    .iter()
                    .position(|byte| is_delimiter(*byte))
                    .map_or(key.len(), |length| start + length);
                cell.push(start..end);
                start = (end + 1).min(key.len());
            }
            cells[delimiters.len()].push(start..key.len());
        }
        Self { sampled: seen.clone(), cells, delimiters }
    }

    /// Returns the bytes from one position to another, including the delimiters between them.
    fn column(&self, from: usize, to: usize) -> Column<'k> {
        let cell = |(at, key): (usize, &&'k [u8])| {
            &key[self.cells[from][at].start..self.cells[to][at].end]
        };
        Column::from_values(self.sampled.keys.iter().enumerate().map(cell).collect())
    }

    /// Returns a draft. With `merges`, a constant word is part of the following value (`user_001`);
    /// otherwise it is a literal. The first `glued` characters may be derived from the rest. The
    /// draft is empty if `glued` does not apply.
    fn draft(&self, merges: bool, glued: Option<usize>) -> Draft {
        let mut draft = Draft::new(Profile::Text);
        let remembered = self.sampled.keys.len().min(KEYS_REMEMBERED);
        let mut at = 0;
        while at < self.cells.len() {
            let last = self.joined(at, merges);
            let column = self.column(at, last);
            let pieces = match glued.filter(|_| at == 0) {
                Some(width) => glued_segments(&column, width, &self.sampled),
                None if column.max == 0 => Some(Vec::new()),
                None if merges => Some(values::segments(&column, &self.sampled)),
                None => Some(after_letters(&column, &self.sampled)),
            };
            let Some(pieces) = pieces else { return Draft::new(Profile::Text) };
            pieces.into_iter().for_each(|piece| draft.push(piece));
            if let Some(delimiter) = self.delimiters.get(last) {
                draft.push(DraftSegment::literal(&[*delimiter], remembered));
            }
            at = last + 1;
        }
        draft
    }

    /// Returns the last position of a value that begins at `at` and contains delimiters.
    fn joined(&self, at: usize, merges: bool) -> usize {
        let all = |places: usize, test: fn(&[u8]) -> bool| {
            at + places < self.cells.len()
                && self.column(at, at + places).values.iter().all(|value| test(value))
        };
        if all(4, is_dashed) {
            return at + 4;
        }
        if !self.sampled.is_plain && all(3, is_ipv4) {
            return at + 3;
        }
        if all(2, is_date) {
            return at + 2;
        }
        let is_word = |place: usize| {
            let column = self.column(place, place);
            column.is_letters && column.constant().is_some()
        };
        let mut last = at;
        while merges
            && last + 1 < self.cells.len()
            && is_word(last)
            && self.delimiters.get(last).is_some_and(|delimiter| b"_-".contains(delimiter))
        {
            last += 1;
        }
        last
    }
}

/// Returns a candidate of `width` digits that is followed by the rest without a delimiter.
fn glued_segments(
    column: &Column<'_>,
    width: usize,
    seen: &SampledKeys<'_>,
) -> Option<Vec<DraftSegment>> {
    let (front, rest) = column.split_at(width).filter(|(_, rest)| rest.min > 0)?;
    if !front.is_hex || front.constant().is_some() || rest.distinct == 1 {
        return None;
    }
    let field = DraftSegment::field(char_type(width), "digest", "", 0.0, &front.values)
        .derived_candidate(DerivedCandidate::Digits)
        .sure(0.7, "");
    Some(std::iter::once(field).chain(values::segments(&rest, seen)).collect())
}

/// Returns constant letters as a literal, and the digits after them.
fn after_letters(column: &Column<'_>, seen: &SampledKeys<'_>) -> Vec<DraftSegment> {
    let letters = column.common_letters().len();
    let Some((front, rest)) = column
        .split_at(letters)
        .filter(|(_, rest)| letters > 0 && rest.is_digits && rest.distinct > 1)
    else {
        return values::segments(column, seen);
    };
    let front = DraftSegment::literal(front.values[0], front.values.len().min(KEYS_REMEMBERED));
    std::iter::once(front).chain(values::segments(&rest, seen)).collect()
}

/// Returns a draft of keys with different delimiters, because values contain some. A time of many
/// digits determines their ends.
fn anchored(seen: &SampledKeys<'_>) -> Option<Draft> {
    let with_time = seen.only(|key| time_in(key).is_some());
    if with_time.keys.len() * 2 < seen.keys.len() || with_time.keys.is_empty() {
        return None;
    }
    let remembered = with_time.keys.len().min(KEYS_REMEMBERED);
    let cuts: Vec<(&[u8], Range<usize>)> =
        with_time.keys.iter().filter_map(|key| Some((*key, time_in(key)?))).collect();
    let part = |cut: fn(&[u8], &Range<usize>) -> Range<usize>| {
        Column::from_values(cuts.iter().map(|(key, time)| &key[cut(key, time)]).collect())
    };
    let stamp = part(|_, time| time.clone());
    let before = part(|_, time| 0..time.start.saturating_sub(1));
    let after = part(|key, time| (time.end + 1).min(key.len())..key.len());
    let delimiter = |column: Column<'_>| {
        column
            .constant()
            .filter(|delimiter| delimiter.len() == 1)
            .map(|byte| DraftSegment::literal(byte, remembered))
    };
    let mut draft = Draft::new(Profile::Text);
    if before.max > 0 {
        draft.push(one_value(&before, &with_time));
        draft.push(delimiter(part(|_, time| time.start.saturating_sub(1)..time.start))?);
    }
    values::segments(&stamp, &with_time).into_iter().for_each(|piece| draft.push(piece));
    if after.max > 0 {
        draft.push(delimiter(part(|key, time| time.end..(time.end + 1).min(key.len())))?);
        draft.push(one_value(&after, &with_time));
    }
    // The recorded lengths would be compared with those of other keys, which have no time.
    draft.segments.iter_mut().for_each(|piece| piece.lengths.clear());
    Some(draft)
}

/// Returns the first run of digits that is as long as a time.
fn time_in(key: &[u8]) -> Option<Range<usize>> {
    let mut start = 0;
    while start < key.len() {
        let length = key[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if matches!(length, 13 | 14 | 16 | 19) {
            return Some(start..start + length);
        }
        start += length.max(1);
    }
    None
}

fn one_value(column: &Column<'_>, seen: &SampledKeys<'_>) -> DraftSegment {
    match values::segments(column, seen).as_slice() {
        [only] => only.clone(),
        _ => DraftSegment::field(
            FieldType::String,
            "name",
            "text that may contain delimiters",
            1.0,
            &column.values,
        )
        .sure(0.8, "the delimiters in it may separate fields"),
    }
}
