//! Keys of Phoenix, which have separators and no types, and of `OpenTSDB`, which contain an hour
//! between numeric ids of names.

use std::collections::HashSet;
use std::ops::Range;

use halite_rowkey::internals::{self, Input, big_endian};
use halite_rowkey::schema::{HashFunction, Profile};
use halite_rowkey::value::{FieldType, TimeUnit};

use super::column::{Column, is_text};
use super::draft::{Content, Draft, DraftSegment, FieldEncoding, KEYS_REMEMBERED};
use super::sample::SampledKeys;
use super::times::{self, TimeForm};
use super::values;
use super::witness::{self, Written};

/// Minimum percentage of keys that agree.
const MIN_AGREEMENT_PERCENT: usize = 95;
/// Bytes of the id of a name in `OpenTSDB`, and of a tag: the ids of its name and its value.
const ID: usize = 3;
const TAG: usize = 2 * ID;
/// Bytes of the hour in `OpenTSDB`.
const HOUR: usize = 4;
/// Maximum salts of Phoenix.
const MAX_SALTS: usize = 256;
/// Maximum fields of one key.
const MAX_FIELDS: usize = 8;
/// Confidence in Phoenix keys whose only feature is zeros after text.
const UNSALTED_SURE: f64 = 0.75;
/// Maximum names of tags at one position of all keys. Tables have a few for each metric; random
/// bytes are all different.
const MAX_TAG_NAMES: usize = 64;

/// Returns drafts of keys in Phoenix's encoding: a salt, text followed by a zero, numbers with an
/// inverted sign bit.
pub(super) fn phoenix(seen: &SampledKeys<'_>) -> Vec<Draft> {
    let salted = salts(&seen.keys).map(|count| {
        let mut draft = Draft::new(Profile::Phoenix);
        let content =
            Content::Salt { of: Vec::new(), function: HashFunction::Phoenix, count, digits: None };
        let evidence = format!(
            "Phoenix's salt of everything after it, modulo {count}: {} of {} keys",
            seen.keys.len(),
            seen.keys.len()
        );
        let values: Vec<&[u8]> = seen.keys.iter().map(|key| &key[..1]).collect();
        draft.push(DraftSegment {
            content,
            ..DraftSegment::field(FieldType::U8, "salt", evidence, 4.0, &values).sure(0.98, "")
        });
        (draft, 1)
    });
    let is_salted = salted.is_some();
    let (draft, from) = salted.unwrap_or_else(|| (Draft::new(Profile::Phoenix), 0));
    let places = seen.keys.iter().map(|_| from).collect();
    follow(seen, draft, places, is_salted).into_iter().collect()
}

/// Returns the number of salts, if the first byte is one.
fn salts(keys: &[&[u8]]) -> Option<u32> {
    let most = keys.iter().filter_map(|key| key.first()).max().copied().filter(|most| *most > 0)?;
    let pairs: Vec<(u8, i128)> = keys
        .iter()
        .filter(|key| key.len() > 1)
        .map(|key| {
            (key[0], internals::number(HashFunction::Phoenix, Input::Bytes(&key[1..])).unwrap_or(0))
        })
        .collect();
    let fits = |count: &usize| {
        let right = pairs.iter().filter(|(salt, hash)| {
            usize::try_from(hash.rem_euclid(i128::try_from(*count).unwrap_or(1)))
                == Ok(usize::from(*salt))
        });
        right.count() * 100 >= pairs.len() * MIN_AGREEMENT_PERCENT
    };
    // Divisors of the right number fit as well. The first keys of a table have few salts, so the
    // greatest number is the right one. With few salts and keys, any number agrees randomly.
    let count = (usize::from(most) + 1..=MAX_SALTS).rev().find(fits)?;
    (pairs.len() >= 32 || pairs.len() * usize::try_from(count.ilog2()).unwrap_or(1) >= 26)
        .then(|| u32::try_from(count).ok())
        .flatten()
}

/// Adds segments from `places` to the end of the keys.
fn follow(
    seen: &SampledKeys<'_>,
    mut draft: Draft,
    mut places: Vec<usize>,
    is_salted: bool,
) -> Option<Draft> {
    let mut separators = 0;
    let mut turned = 0;
    while draft.segments.len() <= MAX_FIELDS {
        let rest: Vec<&[u8]> =
            seen.keys.iter().zip(&places).map(|(key, &at)| &key[at.min(key.len())..]).collect();
        if rest.iter().all(|rest| rest.is_empty()) {
            break;
        }
        if rest.iter().any(|rest| rest.is_empty()) {
            return None;
        }
        let (piece, lengths) = if let Some(found) = number(&rest, seen) {
            turned += usize::from(is_phoenix_alone(&found.0.content));
            found
        } else {
            let (piece, lengths, is_ended) = text(&rest)?;
            separators += usize::from(is_ended);
            (piece, lengths)
        };
        draft.push(piece);
        places.iter_mut().zip(lengths).for_each(|(at, length)| *at += length);
    }
    // Without a salt or a separator, the bytes have no feature of Phoenix alone.
    if draft.segments.len() > MAX_FIELDS || !is_salted && separators == 0 {
        return None;
    }
    let sure: f64 = match (is_salted, turned > 0) {
        (true, _) => 0.97,
        (false, true) => 0.91,
        (false, false) => UNSALTED_SURE,
    };
    let doubt = if sure > 0.9 {
        ""
    } else {
        "programs that append a zero to text write the same bytes; with this declaration they are \
         read unchanged"
    };
    for piece in &mut draft.segments {
        piece.lengths.clear();
        if piece.sure > sure {
            *piece = piece.clone().sure(sure, doubt);
        }
    }
    Some(draft)
}

/// Returns `true` if only Phoenix writes numbers in this way. Other programs write them unchanged,
/// and times subtracted from `Long.MAX_VALUE`.
fn is_phoenix_alone(content: &Content) -> bool {
    matches!(content, Content::Field { ty, desc: false, .. } if *ty != FieldType::U64)
}

/// Returns eight bytes of a time, or an integer to the end of the key, both with an inverted sign
/// bit.
fn number(rest: &[&[u8]], seen: &SampledKeys<'_>) -> Option<(DraftSegment, Vec<usize>)> {
    if let Some(found) = time(rest, seen) {
        return Some(found);
    }
    let width = rest.first()?.len();
    let is_number = matches!(width, 2 | 4 | 8)
        && rest.iter().all(|rest| {
            rest.len() == width
                && (rest[0] == 0x80 && rest[1] == 0 || rest[0] == 0x7f && rest[1] == 0xff)
        });
    let ty = match width {
        2 => FieldType::I16,
        4 => FieldType::I32,
        _ => FieldType::I64,
    };
    let evidence = format!("{width} bytes, the sign turned round, of small numbers");
    let is_negative = rest.iter().all(|rest| rest[0] == 0x7f);
    let (sure, doubt) = if is_negative {
        (0.8, "all would be negative: they may be numbers taken from the greatest one")
    } else {
        (0.91, "")
    };
    is_number.then(|| {
        (
            DraftSegment::field(ty, "id", evidence, 2.5, rest).sure(sure, doubt),
            vec![width; rest.len()],
        )
    })
}

fn time(rest: &[&[u8]], seen: &SampledKeys<'_>) -> Option<(DraftSegment, Vec<usize>)> {
    let eight: Option<Vec<u64>> = rest
        .iter()
        .map(|rest| rest.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)))
        .collect();
    let numbers = eight?;
    let (form, signed) = times::form_from_longs(&numbers)?;
    let (unit, is_reversed) = match form {
        TimeForm::Direct(unit) => (unit, false),
        TimeForm::Reversed(unit) => (unit, true),
        TimeForm::Seconds | TimeForm::Calendar => return None,
    };
    if unit != TimeUnit::Millis || seen.is_plain {
        return None;
    }
    let turned = |bits: u64| if signed && !is_reversed { bits ^ (1 << 63) } else { bits };
    let times_ms: Vec<i64> =
        numbers.iter().map(|&number| times::in_ms(turned(number), 8, form)).collect();
    let found = witness::witness(
        witness::sure_of(form, 8),
        &times_ms,
        Some(Written::binary(&numbers)),
        seen,
    );
    let order = match (is_reversed, signed) {
        (true, _) => "newest first",
        (false, true) => "oldest first",
        (false, false) => "without the sign turned round, as UNSIGNED_LONG",
    };
    let ty = if signed { FieldType::Timestamp(TimeUnit::Millis) } else { FieldType::U64 };
    let evidence = format!(
        "eight bytes, milliseconds since 1970, {order}, {} for one",
        times::format_time(*times_ms.first()?, TimeUnit::Millis)
    );
    let values: Vec<&[u8]> = rest.iter().map(|rest| &rest[..8]).collect();
    let piece = DraftSegment::field(ty, "ts", evidence, 3.0, &values)
        .written(FieldEncoding::Plain, is_reversed, None)
        .sure(found.sure, &found.doubt);
    Some((piece, vec![8; rest.len()]))
}

/// Returns text up to a zero, or to the end of the key.
fn text(rest: &[&[u8]]) -> Option<(DraftSegment, Vec<usize>, bool)> {
    let ends: Vec<Option<usize>> =
        rest.iter().map(|rest| rest.iter().position(|byte| *byte == 0)).collect();
    let is_ended = ends.iter().all(Option::is_some);
    if !is_ended && ends.iter().any(Option::is_some) {
        return None;
    }
    let texts: Vec<&[u8]> =
        rest.iter().zip(&ends).map(|(rest, end)| &rest[..end.unwrap_or(rest.len())]).collect();
    if !texts.iter().all(|text| is_text(text)) {
        return None;
    }
    let mut piece = values::text(&Column::from_values(texts.clone()));
    if is_ended {
        piece.evidence = format!("{}, followed by a zero", piece.evidence);
        piece.points += 1.0;
    }
    let lengths = texts.iter().map(|text| text.len() + usize::from(is_ended)).collect();
    Some((piece, lengths, is_ended))
}

/// Returns the draft of an `OpenTSDB` key: an optional salt, three bytes for the metric, the hour
/// in seconds, then three bytes each for the name and the value of every tag.
pub(super) fn opentsdb(seen: &SampledKeys<'_>) -> Option<Draft> {
    [0, 1].into_iter().find_map(|salt| tsdb(seen, salt))
}

/// Returns `true` if tags follow at `from`: few first names, names in ascending order in each key,
/// and not text in all keys.
fn are_tags(part: &SampledKeys<'_>, from: usize) -> bool {
    let names = |key: &&'_ [u8]| -> Vec<Vec<u8>> {
        key[from..].chunks_exact(TAG).map(|tag| tag[..ID].to_vec()).collect()
    };
    let all: Vec<Vec<Vec<u8>>> = part.keys.iter().map(names).collect();
    let different: HashSet<&[u8]> = part.keys.iter().map(|key| &key[from..]).collect();
    let firsts: HashSet<&Vec<u8>> = all.iter().filter_map(|names| names.first()).collect();
    let rise = all.iter().all(|names| names.is_sorted());
    let is_few = firsts.len() <= MAX_TAG_NAMES
        && (firsts.len() * 2 <= different.len() || different.len() < 4);
    rise && is_few && !part.keys.iter().all(|key| is_text(&key[from..]))
}

fn tsdb(seen: &SampledKeys<'_>, salt: usize) -> Option<Draft> {
    let front = salt + ID;
    let part = seen.only(|key| has_hour_and_tags(key, front));
    if part.keys.len() * 100 < seen.keys.len() * MIN_AGREEMENT_PERCENT || part.keys.is_empty() {
        return None;
    }
    let (sure, doubt) = sure_of_tsdb(&part, front);
    let mut draft = Draft::new(Profile::Bin);
    // The doubt is reported once, for the hours.
    if salt > 0 {
        let evidence = "a salt, computed by OpenTSDB from the metric and the tags";
        draft.push(tsdb_id(&part, 0..salt, "prefix", evidence).sure(sure, ""));
    }
    let evidence = "three bytes, the number of a metric in OpenTSDB's table of names";
    draft.push(tsdb_id(&part, salt..front, "metric", evidence).sure(sure, ""));
    draft.push(tsdb_hours(&part, front).sure(sure, doubt));
    for piece in tsdb_tags(&part, front + HOUR) {
        draft.push(piece.sure(sure, ""));
    }
    draft.segments.iter_mut().for_each(|piece| piece.lengths.truncate(KEYS_REMEMBERED));
    Some(draft)
}

/// Returns `true` if a key has an hour at `front`, and whole tags after it.
fn has_hour_and_tags(key: &[u8], front: usize) -> bool {
    let seconds = key
        .get(front..front + HOUR)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u32::from_be_bytes);
    let is_hour = seconds.is_some_and(|seconds| {
        seconds % 3600 == 0 && times::is_plausible(i64::from(seconds) * 1000, TimeUnit::Millis)
    });
    is_hour && key.len() > front + HOUR && (key.len() - front - HOUR).is_multiple_of(TAG)
}

/// Returns the confidence in these keys, and the doubt. A random number is divisible by 3600 once
/// in 3600 times. One hour cannot be distinguished from a constant.
fn sure_of_tsdb(part: &SampledKeys<'_>, front: usize) -> (f64, &'static str) {
    let hours: HashSet<&[u8]> = part.keys.iter().map(|key| &key[front..front + HOUR]).collect();
    match hours.len() {
        0..3 => (
            0.8,
            "there are one or two hours only in these keys; keys from elsewhere in the table tell",
        ),
        _ if !are_tags(part, front + HOUR) => {
            (0.6, "what follows the hours does not look like tag ids; check what writes the keys")
        }
        _ => (0.97, ""),
    }
}

/// Returns the segment of a salt or of the id of a name.
fn tsdb_id(part: &SampledKeys<'_>, place: Range<usize>, name: &str, role: &str) -> DraftSegment {
    let values: Vec<&[u8]> = part.keys.iter().map(|key| &key[place.clone()]).collect();
    let different = Column::from_values(values.clone()).distinct;
    let ty = u16::try_from(place.len()).map_or(FieldType::Bytes, FieldType::Fixed);
    DraftSegment::field(ty, name, format!("{role}, {different} different"), 1.5, &values)
}

fn tsdb_hours(part: &SampledKeys<'_>, front: usize) -> DraftSegment {
    let stamps: Vec<&[u8]> = part.keys.iter().map(|key| &key[front..front + HOUR]).collect();
    let first = i64::try_from(big_endian(stamps[0])).unwrap_or(0);
    let shown = times::format_time(first.saturating_mul(1000), TimeUnit::Millis);
    let evidence =
        format!("four bytes, seconds since 1970, whole hours all of them, {shown} for one");
    DraftSegment::field(FieldType::Timestamp(TimeUnit::Millis), "ts", evidence, 4.0, &stamps)
        .written(FieldEncoding::Bucket(1000), false, None)
}

/// Returns a segment for the name and for the value of each tag, if all keys have the same few
/// tags, or else one for all tags.
fn tsdb_tags(part: &SampledKeys<'_>, from: usize) -> Vec<DraftSegment> {
    let count_of = |key: &[u8]| (key.len() - from) / TAG;
    let count = count_of(part.keys[0]);
    if count > MAX_FIELDS || part.keys.iter().any(|key| count_of(key) != count) {
        let values: Vec<&[u8]> = part.keys.iter().map(|key| &key[from..]).collect();
        let evidence = "tags, three bytes for the name and three for the value of each; keys have \
                    different numbers of them";
        return vec![DraftSegment::field(FieldType::Bytes, "tags", evidence, 1.5, &values)];
    }
    let ids_of = |tag: usize| {
        let number = if count == 1 { String::new() } else { (tag + 1).to_string() };
        let at = from + tag * TAG;
        let (name, value) =
            ("three bytes, the number of a tag's name", "three bytes, the number of a tag's value");
        [
            tsdb_id(part, at..at + ID, &format!("tagk{number}"), name),
            tsdb_id(part, at + ID..at + TAG, &format!("tagv{number}"), value),
        ]
    };
    (0..count).flat_map(ids_of).collect()
}
