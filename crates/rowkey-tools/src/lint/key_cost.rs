//! What a key costs in store files, measured on keys of the table or on keys made from its
//! declaration.

use bytes::Bytes;
use halite_rowkey::codec::KeyBuf;
use halite_rowkey::schema::KeySchema;
use halite_rowkey::value::{FieldType, TimeUnit, Value};
use halite_types::rng::split_mix;

use super::input::{KeySample, LintInput};
use crate::cell_cost::{DataBlockEncoding, RECOMMENDED, VALUE_BYTES, bytes_per_cell_of_keys};
use crate::simulate::TrafficResolver;

/// Keys that are made or taken.
const KEYS: usize = 2_000;
/// Sampled keys below which keys are made from the declaration instead.
const MIN_SAMPLED_KEYS: usize = 200;
/// Distinct values of each field but the last.
const VALUES: usize = 20;
/// Letters of a text without a fixed length.
const LETTERS: usize = 12;
/// Columns of a table that declares none.
const COLUMNS: [&[u8]; 2] = [b"a", b"b"];
/// Maximum columns that are measured.
const MAX_COLUMNS: usize = 8;
/// Times of made keys begin in November 2023.
const SECONDS: u64 = 1_700_000_000;

/// Keys whose cost is measured.
pub(super) struct MeasuredKeys {
    keys: Vec<Bytes>,
    /// What they are, in evidence.
    origin: String,
}

impl MeasuredKeys {
    /// Returns sampled keys if there are enough, or else keys made from the declaration; `None` if
    /// none can be made.
    pub(super) fn new(key: Option<&KeySchema>, sample: Option<&KeySample>) -> Option<Self> {
        let sampled = sample.map_or_else(Vec::new, |sample| sorted(sample.keys.clone()));
        if sampled.len() >= MIN_SAMPLED_KEYS {
            let origin = format!("{} sampled keys", sampled.len());
            return Some(Self { keys: sampled, origin });
        }
        let keys = sorted(made_keys(key?)?);
        let origin = format!("{} keys made from the declaration", keys.len());
        Some(Self { keys, origin })
    }

    /// Returns the bytes per cell under an encoding.
    pub(super) fn bytes_per_cell(
        &self,
        family: &[u8],
        columns: &[&[u8]],
        encoding: DataBlockEncoding,
    ) -> Option<f64> {
        bytes_per_cell_of_keys(&self.keys, family, columns, encoding).ok()
    }

    /// Describes what is measured, as the beginning of evidence.
    pub(super) fn describe(&self, columns: usize) -> String {
        let cells = if columns == 1 { "a value".to_owned() } else { format!("{columns} values") };
        format!("{}, each with {cells} of {VALUE_BYTES} bytes", self.origin)
    }
}

/// Bytes of a cell of a family, plain and encoded, as evidence.
pub(super) struct CellCosts {
    pub(super) plain: f64,
    pub(super) fast_diff: f64,
    about: String,
}

impl CellCosts {
    /// Measures the cells of a family, or of a small one if none is given.
    pub(super) fn measure(family: Option<&[u8]>, subject: &LintInput<'_>) -> Option<Self> {
        let keys = MeasuredKeys::new(subject.key, subject.sample)?;
        let columns = measured_columns(family, subject);
        let family = family.unwrap_or(b"f");
        Some(Self {
            plain: keys.bytes_per_cell(family, &columns, DataBlockEncoding::None)?,
            fast_diff: keys.bytes_per_cell(family, &columns, RECOMMENDED)?,
            about: keys.describe(columns.len()),
        })
    }

    /// Returns the evidence.
    pub(super) fn text(&self) -> String {
        format!(
            "measured on {}: {:.1} bytes on disk for a cell without an encoding, {:.1} under \
             FAST_DIFF",
            self.about, self.plain, self.fast_diff
        )
    }
}

/// Returns the qualifiers of a family, in order, or two short ones.
pub(super) fn measured_columns<'a>(
    family: Option<&[u8]>,
    subject: &LintInput<'a>,
) -> Vec<&'a [u8]> {
    let mut declared: Vec<&[u8]> = subject
        .columns
        .iter()
        .filter(|column| family.is_none_or(|family| column.family.as_bytes() == family))
        .map(|column| &column.qualifier[..])
        .collect();
    declared.sort_unstable();
    declared.dedup();
    declared.truncate(MAX_COLUMNS);
    if declared.is_empty() { COLUMNS.to_vec() } else { declared }
}

/// Returns keys that the declaration may have: few values of each field but the last, which is
/// different in every row. `None` if a value cannot be made, such as one that matches a pattern.
fn made_keys(key: &KeySchema) -> Option<Vec<Bytes>> {
    let resolver = TrafficResolver::seeded(1);
    let last = key.fields().len().checked_sub(1)?;
    let mut keys = Vec::with_capacity(KEYS);
    for row in 0..KEYS {
        let mut values: Vec<Value<'static>> = Vec::with_capacity(key.fields().len());
        let mut left = row;
        for (id, field) in key.fields().iter().enumerate() {
            let number = if id == last { row } else { left % VALUES };
            left /= VALUES;
            values.push(made_value(field.ty, id as u64, number as u64)?);
        }
        let mut out = KeyBuf::new();
        key.encode_into(&values, &resolver, &mut out).ok()?;
        keys.push(Bytes::copy_from_slice(&out));
    }
    Some(keys)
}

/// Returns a value of a type: the same for the same field and number.
fn made_value(ty: FieldType, field: u64, number: u64) -> Option<Value<'static>> {
    let random = |part: u64| split_mix(field << 48 | number << 16 | part);
    let letters = |count: usize| -> String {
        let letter = |at: usize| char::from(b'a' + (random(at as u64) % 26) as u8);
        (0..count).map(letter).collect()
    };
    let bytes = |count: usize| -> String {
        let byte = |at: usize| format!("{:02x}", random(at as u64) & 0xff);
        format!("x'{}'", (0..count).map(byte).collect::<Vec<_>>().concat())
    };
    let text = match ty {
        FieldType::Bool => (number % 2 == 1).to_string(),
        FieldType::U8 | FieldType::I8 => (number % 128).to_string(),
        FieldType::String => letters(LETTERS),
        FieldType::Char(count) => letters(usize::from(count)),
        FieldType::Bytes => bytes(VALUE_BYTES),
        FieldType::Fixed(count) => bytes(usize::from(count)),
        FieldType::Uuid => {
            let (high, low) = (random(0), random(1));
            format!(
                "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                high >> 32,
                high >> 16 & 0xffff,
                high & 0xffff,
                low >> 48,
                low & 0xffff_ffff_ffff
            )
        }
        FieldType::Ipv4 => format!("10.{}.{}.{}", field % 256, number / 256 % 256, number % 256),
        FieldType::Ipv6 => format!("2001:db8::{:x}:{:x}", field % 65_536, number % 65_536),
        FieldType::Timestamp(unit) => ((SECONDS + number) * per_second(unit)).to_string(),
        FieldType::Date => (19_000 + number).to_string(),
        FieldType::U16
        | FieldType::U32
        | FieldType::U64
        | FieldType::I16
        | FieldType::I32
        | FieldType::I64
        | FieldType::F32
        | FieldType::F64
        | FieldType::Decimal => number.to_string(),
    };
    ty.parse(&text).ok()
}

fn per_second(unit: TimeUnit) -> u64 {
    u64::try_from(unit.per_second()).unwrap_or(1)
}

fn sorted(mut keys: Vec<Bytes>) -> Vec<Bytes> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_can_be_made_for_every_type() {
        for ty in [
            "BOOL",
            "U8",
            "U16",
            "U32",
            "U64",
            "I8",
            "I16",
            "I32",
            "I64",
            "F32",
            "F64",
            "DECIMAL",
            "STRING",
            "BYTES",
            "CHAR(9)",
            "BYTES(9)",
            "UUID",
            "IPV4",
            "IPV6",
            "TIMESTAMP",
            "DATE",
        ] {
            let key: KeySchema = format!("(a {ty}, b U32)").parse().unwrap();
            let keys = sorted(made_keys(&key).unwrap_or_else(|| panic!("no keys of {ty}")));
            assert_eq!(keys.len(), KEYS, "{ty}");
        }
        let pattern: KeySchema = "TEXT '{a}_{n U32:10}' WHERE a MATCHES '[0-9]+'".parse().unwrap();
        assert!(made_keys(&pattern).is_none());
    }

    #[test]
    fn sampled_keys_are_preferred_to_made_ones() {
        let key: KeySchema = "(a CHAR(50), b U32)".parse().unwrap();
        let sample = KeySample {
            keys: (0..1000).map(|at| format!("{at:04}").into()).collect(),
            is_in_arrival_order: false,
        };
        let subject = LintInput { key: Some(&key), ..LintInput::default() };
        let made = CellCosts::measure(None, &subject).unwrap();
        let of_sample =
            CellCosts::measure(None, &LintInput { sample: Some(&sample), ..subject }).unwrap();
        assert!(made.plain > of_sample.plain + 45.0, "{} {}", made.text(), of_sample.text());
        assert!(of_sample.text().starts_with("measured on 1000 sampled keys, each with 2 values"));
        assert!(made.fast_diff * 3.0 < made.plain, "{}", made.text());
    }
}
