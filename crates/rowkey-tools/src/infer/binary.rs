//! Drafts of binary keys: text with an end, times in eight bytes, text of a fixed width, and
//! numbers between them.

use std::collections::HashMap;

use halite_rowkey::schema::Profile;
use halite_rowkey::value::FieldType;

use super::column::{Column, is_text};
use super::draft::{Draft, DraftSegment, FieldEncoding};
use super::gaps;
use super::ids;
use super::sample::SampledKeys;
use super::tagged;
use super::times::{self, TimeForm};
use super::untagged;
use super::values;
use super::witness::{self, Witness, Written};

/// Maximum bytes between two recognized positions.
const MAX_GAP_BYTES: usize = 64;
/// Minimum percentage of keys that agree on the next segment; the other keys are ignored after it.
const MIN_AGREEMENT_PERCENT: usize = 95;
/// Maximum complete drafts.
const MAX_DRAFTS: usize = 24;
/// Maximum segments of one key.
const MAX_DRAFT_SEGMENTS: usize = 16;

/// Returns drafts of binary keys, some of which contradict each other.
pub(super) fn drafts(seen: &SampledKeys<'_>) -> Vec<Draft> {
    let mut walk = Walk { sampled: seen, found: Vec::new() };
    let start = (0..seen.keys.len()).map(|key| (key, 0)).collect();
    walk.follow(&start, Draft::new(Profile::Bin));
    let mut found = walk.found;
    if seen.keys.iter().all(|key| key.len() == 16) {
        let column = Column::from_values(seen.keys.clone());
        found.push(with(&Draft::new(Profile::Bin), [gaps::whole(&column, seen)]));
    }
    if !seen.is_plain {
        found.extend(tagged::drafts(seen));
        found.extend(untagged::opentsdb(seen));
        found.extend(untagged::phoenix(seen));
        if found.iter().any(|draft| draft.segments.iter().any(|piece| !piece.doubt.is_empty())) {
            found.extend(drafts(&SampledKeys { is_plain: true, ..seen.clone() }));
        }
    }
    found
}

/// Returns a note on keys that cannot be declared because of their form: text of any length
/// followed by a time.
pub(super) fn without_end(seen: &SampledKeys<'_>) -> Option<String> {
    let last: Vec<u64> = seen
        .keys
        .iter()
        .filter_map(|key| key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes)))
        .collect();
    let differ = seen.keys.iter().any(|key| key.len() != seen.keys[0].len());
    let texts =
        seen.keys.iter().filter(|key| key.len() > 8 && is_text(&key[..key.len() - 8])).count();
    let is_so = differ
        && texts * 100 >= seen.keys.len() * MIN_AGREEMENT_PERCENT
        && times::form_from_longs(&last).is_some();
    is_so.then(|| {
        "Keys end with eight bytes of a time, and the text in front of them has different lengths \
         and no end: a scan by its beginning returns rows of longer values too, and no declaration \
         tells where it ends (K-AMBIG)."
            .to_owned()
    })
}

/// Remaining keys, each with the number of its parsed bytes.
type Places = Vec<(usize, usize)>;

struct Walk<'s, 'k> {
    sampled: &'s SampledKeys<'k>,
    found: Vec<Draft>,
}

impl<'k> Walk<'_, 'k> {
    fn rest(&self, (key, at): (usize, usize)) -> &'k [u8] {
        &self.sampled.keys[key][at..]
    }

    /// Continues a draft from `places`, and retains every draft that reaches the end of the keys.
    fn follow(&mut self, places: &Places, draft: Draft) {
        if self.found.len() >= MAX_DRAFTS
            || draft.segments.len() > MAX_DRAFT_SEGMENTS
            || places.is_empty()
        {
            return;
        }
        if let Some((piece, behind)) = self.anchor(places) {
            return match piece {
                Some(piece) => self.follow(&behind, with(&draft, [piece])),
                None if !draft.segments.is_empty() => self.found.push(draft),
                None => {}
            };
        }
        let gap = (1..=MAX_GAP_BYTES).find_map(|width| {
            let behind = self.skip(places, width)?;
            let is_place = self.anchor(&behind).is_some();
            is_place.then_some((width, behind))
        });
        let Some((width, behind)) = gap else { return };
        let column = Column::from_values(
            behind.iter().map(|&(key, at)| &self.sampled.keys[key][at - width..at]).collect(),
        );
        let times_ms = if self.sampled.times_ms.is_empty() {
            Vec::new()
        } else {
            behind.iter().map(|(key, _)| self.sampled.times_ms[*key]).collect()
        };
        let part = SampledKeys {
            keys: Vec::new(),
            times_ms,
            now_ms: self.sampled.now_ms,
            is_plain: self.sampled.is_plain,
        };
        for pieces in gaps::segments(&column, &part) {
            self.follow(&behind, with(&draft, pieces));
        }
    }

    /// Returns the places `width` bytes further, if nearly all keys are long enough.
    fn skip(&self, places: &Places, width: usize) -> Option<Places> {
        self.advance(places, |rest| (rest.len() >= width).then_some(width))
    }

    /// Returns the places after the bytes that `length` finds in nearly all keys.
    fn advance(
        &self,
        places: &Places,
        length: impl Fn(&'k [u8]) -> Option<usize>,
    ) -> Option<Places> {
        let behind: Places = places
            .iter()
            .filter_map(|&place| Some((place.0, place.1 + length(self.rest(place))?)))
            .collect();
        (behind.len() * 100 >= places.len() * MIN_AGREEMENT_PERCENT).then_some(behind)
    }

    /// Returns a segment that is recognized without its neighbors: the end of the keys (no
    /// segment), a time, text with an end, or text to the end of the key.
    fn anchor(&self, places: &Places) -> Option<(Option<DraftSegment>, Places)> {
        if let Some(behind) = self.advance(places, |rest| rest.is_empty().then_some(0)) {
            return Some((None, behind));
        }
        let time = || self.time(places);
        let ended = || self.ended(places, 0).or_else(|| self.ended(places, 0xff));
        time()
            .or_else(ended)
            .or_else(|| self.last_text(places))
            .map(|(piece, behind)| (Some(piece), behind))
    }

    fn time(&self, places: &Places) -> Option<(DraftSegment, Places)> {
        let behind = self.skip(places, 8).filter(|_| !self.sampled.is_plain)?;
        let column = Column::from_values(
            behind.iter().map(|&(key, at)| &self.sampled.keys[key][at - 8..at]).collect(),
        );
        // Letters are in the range of times in nanoseconds. Such times begin with four letters for
        // only four seconds in a year.
        if column.values.iter().filter(|value| is_text(&value[..4])).count() * 2
            > column.values.len()
        {
            return None;
        }
        let numbers: Vec<u64> = column
            .values
            .iter()
            .filter_map(|bytes| bytes.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)))
            .collect();
        if ids::snowflake(&numbers, self.sampled).is_some() {
            return None;
        }
        let (form, signed) = times::form_from_longs(&numbers)?;
        let first = *numbers.first()?;
        let (unit, count, evidence) = match form {
            TimeForm::Reversed(unit) => (
                unit,
                i64::MAX.cast_unsigned().wrapping_sub(first),
                "newest first: Long.MAX_VALUE minus ",
            ),
            TimeForm::Direct(unit) if signed => {
                (unit, first ^ (1 << 63), "its sign turned round, ")
            }
            TimeForm::Direct(unit) => (unit, first, "as Bytes.toBytes(long) writes it, "),
            TimeForm::Seconds | TimeForm::Calendar => return None,
        };
        let shown = times::format_time(count.cast_signed(), unit);
        let evidence = format!(
            "eight bytes, {evidence}{} since 1970, {shown} for one",
            times::unit_name(unit)
        );
        let is_reversed = matches!(form, TimeForm::Reversed(_));
        let turned = |bits: u64| if signed && !is_reversed { bits ^ (1 << 63) } else { bits };
        let times_ms: Vec<i64> =
            numbers.iter().map(|&bits| times::in_ms(turned(bits), 8, form)).collect();
        let cells_ms = if self.sampled.times_ms.is_empty() {
            Vec::new()
        } else {
            behind.iter().map(|(key, _)| self.sampled.times_ms[*key]).collect()
        };
        let part = SampledKeys {
            keys: Vec::new(),
            times_ms: cells_ms,
            now_ms: self.sampled.now_ms,
            is_plain: false,
        };
        let Witness { sure, evidence: says, doubt } = witness::witness(
            witness::sure_of(form, 8),
            &times_ms,
            Some(Written::binary(&numbers)),
            &part,
        );
        // An unlikely time does not determine where other segments begin.
        if sure < 0.5 {
            return None;
        }
        let evidence = if says.is_empty() { evidence } else { format!("{evidence}; {says}") };
        // With an unchanged sign bit it is an unsigned number: no time type has this encoding.
        let ty = if signed { FieldType::Timestamp(unit) } else { FieldType::U64 };
        Some((
            DraftSegment::field(ty, "ts", evidence, 3.0, &column.values)
                .written(FieldEncoding::Plain, is_reversed, None)
                .sure(sure, &doubt),
            behind,
        ))
    }

    /// Returns text up to `00 01`, or both with all bits inverted.
    fn ended(&self, places: &Places, flip: u8) -> Option<(DraftSegment, Places)> {
        let behind = self.advance(places, |rest| {
            let end = end_of_text(rest, flip)?;
            let text: Vec<u8> = rest[..end - 2].iter().map(|byte| byte ^ flip).collect();
            // Inverted bytes of another kind are sometimes UTF-8 randomly.
            (is_text(&text) && (flip == 0 || text.is_ascii())).then_some(end)
        })?;
        let starts: HashMap<usize, usize> = places.iter().copied().collect();
        let start = |key: usize| starts.get(&key).copied().unwrap_or(0);
        let turned = |&(key, at): &(usize, usize)| {
            self.sampled.keys[key][start(key)..at - 2].iter().map(|byte| byte ^ flip).collect()
        };
        let texts: Vec<Vec<u8>> = behind.iter().map(turned).collect();
        let column = Column::from_values(texts.iter().map(Vec::as_slice).collect());
        let mut piece = values::text(&column);
        piece.evidence = format!(
            "{}, with the end 00 01{}",
            piece.evidence,
            if flip == 0 { "" } else { ", all bits turned over" }
        );
        piece.points += 1.0;
        piece.lengths.iter_mut().for_each(|length| *length += 2);
        Some((piece.written(FieldEncoding::Plain, flip != 0, None), behind))
    }

    /// Returns text up to the end of the key.
    fn last_text(&self, places: &Places) -> Option<(DraftSegment, Places)> {
        let behind = self.advance(places, |rest| is_text(rest).then_some(rest.len()))?;
        let starts: HashMap<usize, usize> = places.iter().copied().collect();
        let column = Column::from_values(
            behind
                .iter()
                .map(|&(key, at)| {
                    &self.sampled.keys[key][starts.get(&key).copied().unwrap_or(at)..at]
                })
                .collect(),
        );
        // One or two bytes may be text randomly.
        if column.max < 3 {
            return None;
        }
        let piece = values::reversed(&column)
            .or_else(|| gaps::hexadecimal(&column))
            .unwrap_or_else(|| values::text(&column));
        Some((piece, behind))
    }
}

fn with(draft: &Draft, pieces: impl IntoIterator<Item = DraftSegment>) -> Draft {
    let mut next = draft.clone();
    pieces.into_iter().for_each(|piece| next.push(piece));
    next
}

/// Returns the length of the text at the start, including its end.
fn end_of_text(rest: &[u8], flip: u8) -> Option<usize> {
    let first = rest.iter().position(|byte| byte ^ flip == 0)?;
    (first > 0 && rest.get(first + 1).is_some_and(|byte| byte ^ flip == 1)).then_some(first + 2)
}
