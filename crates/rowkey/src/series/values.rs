//! Values of packed points: decimal numbers stored as integers where possible, or else the changed
//! bits.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a number is written only after it was seen to come back with its very bits; counts \
              of bits are below 65"
)]

use super::bits::{BitReader, BitWriter, best_rice, put_varint, take_varint, unzigzag, zigzag};

/// Encoding of the values.
const CONSTANT: u8 = 0;
/// Integers, each as its difference from the previous one.
const STEPS: u8 = 1;
/// Bits that differ from the previous value, as in Gorilla.
const XOR: u8 = 2;
/// Eight bytes each.
const PLAIN: u8 = 3;

/// Decimal places that are tried; a double has at most 15.
const MAX_DECIMAL_PLACES: u8 = 15;
/// Doubles represent all integers up to here.
const MAX_WHOLE_NUMBER: f64 = 9_007_199_254_740_992.0;

/// Appends values, at least one, in the encoding with the fewest bytes.
pub(super) fn encode(values: &[f64], mut out: Vec<u8>) -> Vec<u8> {
    if values.iter().all(|value| value.to_bits() == values[0].to_bits()) {
        out.push(CONSTANT);
        out.extend(values[0].to_bits().to_be_bytes());
        return out;
    }
    let start = out.len();
    if let Some((places, numbers)) = whole_numbers(values) {
        out = encode_steps(places, &numbers, out);
        // Random decimals are no shorter than the following encodings.
        if (out.len() - start) < values.len() * 2 {
            return out;
        }
    }
    let by_bits = encode_xor(values);
    if out.len() > start && out.len() - start <= by_bits.len() + 1 {
        return out;
    }
    out.truncate(start);
    if by_bits.len() < values.len() * 8 {
        out.push(XOR);
        out.extend(by_bits);
    } else {
        out.push(PLAIN);
        values.iter().for_each(|value| out.extend(value.to_bits().to_be_bytes()));
    }
    out
}

/// Returns the values as integers with the fewest decimal places; `None` if that would lose a bit
/// of any of them.
fn whole_numbers(values: &[f64]) -> Option<(u8, Vec<i64>)> {
    let mut places = 0;
    let mut at = 0;
    while at < values.len() {
        if whole_number(values[at], places).is_some() {
            at += 1;
        } else if places == MAX_DECIMAL_PLACES || !values[at].is_finite() {
            return None;
        } else {
            // The previous values were integers with fewer places. They remain integers with more,
            // unless they become too large, which the last step detects.
            places += 1;
        }
    }
    values
        .iter()
        .map(|&value| whole_number(value, places))
        .collect::<Option<Vec<_>>>()
        .map(|numbers| (places, numbers))
}

fn whole_number(value: f64, places: u8) -> Option<i64> {
    let scaled = (value * power_of_ten(places)).round();
    // A number is stored this way only if division restores the same bits; -0.0 does not.
    let number = scaled as i64;
    (scaled.abs() <= MAX_WHOLE_NUMBER
        && (number as f64 / power_of_ten(places)).to_bits() == value.to_bits())
    .then_some(number)
}

fn power_of_ten(places: u8) -> f64 {
    10f64.powi(i32::from(places))
}

fn encode_steps(places: u8, numbers: &[i64], mut out: Vec<u8>) -> Vec<u8> {
    let steps = || numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
    let least = steps().min().unwrap_or(0);
    let either_way = best_rice(&steps().map(zigzag));
    // A counter never decreases: relative to its smallest step, steps need no sign.
    let from_least = best_rice(&steps().map(|step| step.wrapping_sub(least).cast_unsigned()));
    let signed = either_way.1 <= from_least.1;
    let k = if signed { either_way.0 } else { from_least.0 };
    out.extend([STEPS, places, k as u8 | if signed { 0x80 } else { 0 }]);
    put_varint(zigzag(numbers[0]), &mut out);
    if !signed {
        put_varint(zigzag(least), &mut out);
    }
    let mut bits = BitWriter::after(out);
    for step in steps() {
        bits.put_rice(
            if signed { zigzag(step) } else { step.wrapping_sub(least).cast_unsigned() },
            k,
        );
    }
    bits.finish()
}

/// Encodes as Facebook's Gorilla: the first value in full; for each following value a zero if it is
/// equal, or else the differing bits, in the window of the previous value or in a new one.
fn encode_xor(values: &[f64]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    let mut before = values[0].to_bits();
    bits.put(before, 64);
    let mut window: Option<(u32, u32)> = None;
    for value in &values[1..] {
        let value = value.to_bits();
        let differs = value ^ before;
        before = value;
        if differs == 0 {
            bits.put(0, 1);
            continue;
        }
        let (leading, trailing) = (differs.leading_zeros().min(31), differs.trailing_zeros());
        if let Some((left, right)) =
            window.filter(|&(left, right)| leading >= left && trailing >= right)
        {
            bits.put(0b10, 2);
            bits.put(differs >> right, 64 - left - right);
        } else {
            let width = 64 - leading - trailing;
            bits.put(0b11, 2);
            bits.put(u64::from(leading), 5);
            bits.put(u64::from(width - 1), 6);
            bits.put(differs >> trailing, width);
            window = Some((leading, trailing));
        }
    }
    bits.finish()
}

/// Decodes `count` values; returns `None` if the bytes are damaged or longer than the values
/// require.
pub(super) fn decode(count: usize, bytes: &[u8]) -> Option<Vec<f64>> {
    let (&mode, rest) = bytes.split_first()?;
    match mode {
        CONSTANT => Some(vec![f64::from_bits(u64::from_be_bytes(rest.try_into().ok()?)); count]),
        STEPS => decode_steps(count, rest),
        XOR => decode_xor(count, rest),
        PLAIN => {
            let (values, left) = rest.as_chunks::<8>();
            (left.is_empty() && values.len() == count).then(|| {
                values.iter().map(|&value| f64::from_bits(u64::from_be_bytes(value))).collect()
            })
        }
        _ => None,
    }
}

fn decode_steps(count: usize, bytes: &[u8]) -> Option<Vec<f64>> {
    let (&[places, k], mut rest) = bytes.split_first_chunk::<2>()?;
    let (signed, k) = (k & 0x80 != 0, u32::from(k & 0x7f));
    if places > MAX_DECIMAL_PLACES || k > 63 {
        return None;
    }
    let mut number = unzigzag(take_varint(&mut rest)?);
    let least = if signed { 0 } else { unzigzag(take_varint(&mut rest)?) };
    let mut bits = BitReader::new(rest);
    let mut values = Vec::with_capacity(count);
    values.push(number as f64 / power_of_ten(places));
    for _ in 1..count {
        let coded = bits.take_rice(k)?;
        let step = if signed { unzigzag(coded) } else { least.wrapping_add(coded.cast_signed()) };
        number = number.wrapping_add(step);
        values.push(number as f64 / power_of_ten(places));
    }
    (bits.bytes_begun() == rest.len()).then_some(values)
}

fn decode_xor(count: usize, bytes: &[u8]) -> Option<Vec<f64>> {
    let mut bits = BitReader::new(bytes);
    let mut before = bits.take(64)?;
    let mut values = Vec::with_capacity(count);
    values.push(f64::from_bits(before));
    let mut window: Option<(u32, u32)> = None;
    for _ in 1..count {
        if bits.take(1)? == 1 {
            if bits.take(1)? == 1 {
                let leading = bits.take(5)? as u32;
                let width = bits.take(6)? as u32 + 1;
                window = Some((leading, 64u32.checked_sub(leading)?.checked_sub(width)?));
            }
            let (left, right) = window?;
            before ^= bits.take(64 - left - right)? << right;
        }
        values.push(f64::from_bits(before));
    }
    (bits.bytes_begun() == bytes.len()).then_some(values)
}
