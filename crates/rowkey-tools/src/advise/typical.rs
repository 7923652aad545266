//! Values of a type for which no generator is specified: random ones, which compress least.

use std::borrow::Cow;

use fastrand::Rng;
use halite_rowkey::value::{Decimal, FieldType, Value};

/// Letters of generated text of no fixed length.
const TEXT_LETTERS: usize = 16;
/// Bytes of generated values of no fixed length.
const VALUE_BYTES: usize = 16;
/// Digits of generated decimals.
const DECIMAL_DIGITS: u32 = 8;

/// Returns a value. Times are the time of the row.
pub(super) fn value(ty: FieldType, rng: &mut Rng, time_ms: i64) -> Value<'static> {
    match ty {
        FieldType::Bool => Value::Bool(rng.bool()),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            Value::Unsigned(rng.u64(..) & mask(ty))
        }
        FieldType::I8 | FieldType::I16 | FieldType::I32 | FieldType::I64 => {
            // Half of the range, so that the sign is not random: numbers are rarely negative.
            Value::Signed((rng.u64(..) & (mask(ty) >> 1)).cast_signed())
        }
        FieldType::F32 => Value::F32(rng.f32()),
        FieldType::F64 => Value::F64(rng.f64()),
        FieldType::Decimal => {
            let digits = i128::from(rng.u64(..10_u64.pow(DECIMAL_DIGITS)));
            Decimal::new(digits, -2).map_or(Value::Null, Value::Decimal)
        }
        FieldType::String => letters(rng, TEXT_LETTERS),
        FieldType::Char(length) => letters(rng, length.into()),
        FieldType::Bytes => bytes(rng, VALUE_BYTES),
        FieldType::Fixed(length) => bytes(rng, length.into()),
        FieldType::Uuid => Value::Uuid(rng.u128(..).to_be_bytes()),
        FieldType::Ipv4 => Value::Ipv4(rng.u32(..).into()),
        FieldType::Ipv6 => Value::Ipv6(rng.u128(..).into()),
        FieldType::Timestamp(unit) => {
            Value::Signed(time_ms.saturating_mul(unit.per_second() / 1_000))
        }
        FieldType::Date => Value::Signed(time_ms.div_euclid(86_400_000)),
    }
}

/// Returns a description of [`value`].
pub(super) fn describe(ty: FieldType) -> String {
    match ty {
        FieldType::String => format!("text of {TEXT_LETTERS} random letters"),
        FieldType::Bytes => format!("{VALUE_BYTES} random bytes"),
        FieldType::Decimal => format!("random decimals of {DECIMAL_DIGITS} digits"),
        FieldType::Timestamp(_) | FieldType::Date => "the time of the write".to_owned(),
        FieldType::Bool => "random".to_owned(),
        _ => format!("random over all of {ty}"),
    }
}

/// Returns the bits of an unsigned number of the size of a type.
fn mask(ty: FieldType) -> u64 {
    match ty.fixed_bytes() {
        Some(1) => 0xff,
        Some(2) => 0xffff,
        Some(4) => 0xffff_ffff,
        _ => u64::MAX,
    }
}

fn letters(rng: &mut Rng, length: usize) -> Value<'static> {
    let text: String = std::iter::repeat_with(|| rng.alphanumeric()).take(length).collect();
    Value::Text(Cow::Owned(text))
}

fn bytes(rng: &mut Rng, length: usize) -> Value<'static> {
    Value::Bytes(Cow::Owned(std::iter::repeat_with(|| rng.u8(..)).take(length).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_of_their_types() {
        let mut rng = Rng::with_seed(1);
        let text = "BOOL U8 U16 U32 U64 I8 I16 I32 I64 F32 F64 DECIMAL STRING BYTES UUID IPV4 IPV6 \
                    TIMESTAMP DATE CHAR(5) BYTES(7)";
        for name in text.split_whitespace() {
            let table = format!("CREATE TABLE t (v STRING, ROW KEY (id {name}))");
            let Ok(halite_rowkey::language::Statement::CreateTable(table)) = table.parse() else {
                panic!("{table}")
            };
            let ty = table.key.fields()[0].ty;
            for _ in 0..100 {
                let value = value(ty, &mut rng, 1_710_460_800_000);
                assert!(table.key.encode(&[value.borrowed()]).is_ok(), "{name}: {value:?}");
            }
        }
    }
}
