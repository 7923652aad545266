//! Bytes between two recognized positions: salts, digests, numbers, UUIDs, text of a fixed width.

use halite_rowkey::internals::{MAX_DIGEST_BYTES, big_endian};
use halite_rowkey::value::{FieldType, TimeUnit};

use super::column::{Column, is_text};
use super::draft::{DerivedCandidate, DraftSegment, FieldEncoding, KEYS_REMEMBERED, char_type};
use super::ids;
use super::sample::SampledKeys;
use super::times::{self, TimeForm};
use super::uuids;
use super::values;
use super::witness::{self, Witness, Written};

/// Possible widths of a derived part at the start of a gap.
const DERIVED: [usize; 8] = [1, 2, 4, 8, 16, 20, 32, 64];

/// Returns the possible contents of a gap, most likely first.
pub(super) fn segments(column: &Column<'_>, seen: &SampledKeys<'_>) -> Vec<Vec<DraftSegment>> {
    let width = column.min;
    let mut all = Vec::new();
    if let Some(same) = column.constant() {
        return vec![vec![DraftSegment::literal(same, column.values.len().min(KEYS_REMEMBERED))]];
    }
    // A salt or a digest is split from the following bytes; a proof must confirm it.
    for front in DERIVED.into_iter().filter(|front| *front < width) {
        if let Some((derived, rest)) = column
            .split_at(front)
            .filter(|(derived, rest)| derived.distinct > 1 && rest.distinct > 1)
        {
            let evidence = "bytes that may be derived from what follows them";
            let derived = DraftSegment {
                points: 0.0,
                ..as_derived_candidate(DraftSegment::field(
                    bytes_of(front),
                    "digest",
                    evidence,
                    0.0,
                    &derived.values,
                ))
            };
            all.push(vec![derived, whole(&rest, seen)]);
        }
    }
    all.push(vec![whole(column, seen)]);
    all.extend(numbers(column, seen));
    all
}

/// Returns the whole gap as one value.
pub(super) fn whole(column: &Column<'_>, seen: &SampledKeys<'_>) -> DraftSegment {
    let width = column.min;
    if column.values.iter().all(|value| is_text(value)) {
        return values::reversed(column)
            .or_else(|| hexadecimal(column))
            .unwrap_or_else(|| text(column));
    }
    let numbers: Vec<u64> = column.values.iter().map(|bytes| big_endian(bytes)).collect();
    let number = |ty, points: f64| {
        let (least, most) = (
            numbers.iter().min().copied().unwrap_or(0),
            numbers.iter().max().copied().unwrap_or(0),
        );
        let evidence = format!("{width} bytes; as numbers {least} to {most}");
        let is_small = width > 1 && most >> (8 * width - 8) == 0;
        let (sure, doubt) = if is_small {
            (0.8, "")
        } else {
            (0.65, "bytes of any kind of this width look the same")
        };
        DraftSegment::field(ty, "id", evidence, points, &column.values).sure(sure, doubt)
    };
    match width {
        1 => as_derived_candidate(number(FieldType::U8, 0.6)),
        2 => as_derived_candidate(number(FieldType::U16, 0.6)),
        4 => seconds(column, &numbers, seen)
            .or_else(|| bucket(column, &numbers, seen))
            .unwrap_or_else(|| as_derived_candidate(number(FieldType::U32, 0.8))),
        8 => snowflake(column, &numbers, seen)
            .unwrap_or_else(|| as_derived_candidate(number(FieldType::U64, 0.8))),
        _ => {
            if let Some(piece) =
                uuids::binary(column, seen).or_else(|| ids::binary_ulid(column, seen))
            {
                return piece;
            }
            let evidence =
                format!("{width} bytes, {:.1} random bits in each", column.bits_per_byte());
            let doubt = "what is in them cannot be told from the bytes";
            let piece = DraftSegment::field(bytes_of(width), "id", evidence, 0.4, &column.values)
                .sure(0.7, doubt);
            if width <= MAX_DIGEST_BYTES { as_derived_candidate(piece) } else { piece }
        }
    }
}

fn snowflake(column: &Column<'_>, numbers: &[u64], seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let found = ids::snowflake(numbers, seen)?;
    let points = if found.sure < 0.5 { 0.5 } else { 3.0 };
    Some(
        DraftSegment::field(
            FieldType::U64,
            "snowflake",
            format!("eight bytes, {}", found.evidence),
            points,
            &column.values,
        )
        .sure(found.sure, &found.doubt),
    )
}

fn bucket(column: &Column<'_>, numbers: &[u64], seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let (evidence, widths) = values::bucket_evidence(numbers, seen)
        .filter(|_| !seen.times_ms.is_empty() || column.distinct < column.values.len())?;
    let piece = DraftSegment::field(
        FieldType::Timestamp(TimeUnit::Millis),
        "ts",
        format!("four bytes, {evidence}"),
        2.0,
        &column.values,
    );
    Some(values::sure_of_bucket(
        piece.written(FieldEncoding::Bucket(*widths.first()?), false, None),
        &widths,
        seen,
    ))
}

/// Returns two numbers of usual widths: the second begins with zeros, and the first does not end
/// with zeros in all keys.
fn numbers(column: &Column<'_>, seen: &SampledKeys<'_>) -> Vec<Vec<DraftSegment>> {
    let widths = [4, 8, 2, 1]
        .into_iter()
        .filter(|front| *front < column.min && matches!(column.min - front, 1 | 2 | 4 | 8));
    let parts = widths.filter_map(|front| column.split_at(front)).filter(|(front, rest)| {
        let begins_with_zero = rest.values.iter().all(|value| value[0] == 0);
        begins_with_zero
            && front.distinct > 1
            && front.values.iter().any(|value| value[value.len() - 1] != 0)
    });
    parts.map(|(front, rest)| vec![whole(&front, seen), whole(&rest, seen)]).collect()
}

/// Returns hexadecimal digits in binary keys.
pub(super) fn hexadecimal(column: &Column<'_>) -> Option<DraftSegment> {
    let width = column.width().filter(|width| {
        column.is_hex && width.is_multiple_of(2) && *width <= 2 * MAX_DIGEST_BYTES
    })?;
    let evidence =
        format!("{width} hexadecimal digits; if they are a digest, its input is not in the key");
    Some(
        DraftSegment::field(char_type(width), "digest", evidence, 0.4, &column.values)
            .derived_candidate(DerivedCandidate::Digits)
            .sure(0.8, ""),
    )
}

/// Returns text of one width, without an end.
fn text(column: &Column<'_>) -> DraftSegment {
    let piece = values::text(column);
    DraftSegment {
        content: DraftSegment::field(char_type(column.min), "", "", 0.0, &[]).content,
        ..piece
    }
}

fn bytes_of(width: usize) -> FieldType {
    u16::try_from(width).map_or(FieldType::Bytes, FieldType::Fixed)
}

/// Returns a time in four bytes, if they are seconds.
fn seconds(column: &Column<'_>, numbers: &[u64], seen: &SampledKeys<'_>) -> Option<DraftSegment> {
    let first = i64::try_from(*numbers.first()?).ok()?;
    let times_ms: Vec<i64> =
        numbers.iter().map(|&number| times::in_ms(number, 4, TimeForm::Seconds)).collect();
    let Witness { sure, doubt, .. } = witness::witness(
        witness::sure_of(TimeForm::Seconds, 4),
        &times_ms,
        Some(Written::binary(numbers)),
        seen,
    );
    (times::are_seconds(numbers) && !seen.is_plain && sure >= 0.5).then(|| {
        let evidence = format!(
            "four bytes, seconds since 1970, {} for one",
            times::format_time(first.saturating_mul(1000), TimeUnit::Millis)
        );
        DraftSegment::field(
            FieldType::Timestamp(TimeUnit::Millis),
            "ts",
            evidence,
            2.5,
            &column.values,
        )
        .written(FieldEncoding::Bucket(1000), false, None)
        .sure(sure, &doubt)
    })
}

/// Marks a segment as possibly derived from others. It retains its points, so that it remains as a
/// field if it is not derived.
fn as_derived_candidate(piece: DraftSegment) -> DraftSegment {
    piece.derived_candidate(DerivedCandidate::Raw)
}
