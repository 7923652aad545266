//! Times of packed points: no bytes for a steady period, or else Rice codes of the changes of the
//! period.

use super::bits::{BitReader, BitWriter, best_rice, put_varint, take_varint, unzigzag, zigzag};

/// Encoding of the times.
const STEADY: u8 = 0;
const CHANGING: u8 = 1;

/// Appends ascending times, at least one: the first, the first step, and the difference of each
/// step from the previous one.
pub(super) fn encode(times: &[i64], mut out: Vec<u8>) -> Vec<u8> {
    put_varint(zigzag(times[0]), &mut out);
    let step = |at: usize| times[at].wrapping_sub(times[at - 1]);
    let changes = (2..times.len()).map(|at| zigzag(step(at).wrapping_sub(step(at - 1))));
    let first_step = if times.len() > 1 { step(1) } else { 0 };
    if changes.clone().all(|change| change == 0) {
        out.push(STEADY);
        put_varint(zigzag(first_step), &mut out);
        return out;
    }
    let (k, _) = best_rice(&changes);
    out.push(CHANGING);
    put_varint(k.into(), &mut out);
    put_varint(zigzag(first_step), &mut out);
    let mut bits = BitWriter::after(out);
    changes.for_each(|change| bits.put_rice(change, k));
    bits.finish()
}

/// Splits `count` times off the front of `bytes`; returns `None` if they are damaged.
pub(super) fn decode(count: usize, bytes: &mut &[u8]) -> Option<Vec<i64>> {
    let mut time = unzigzag(take_varint(bytes)?);
    let (&mode, rest) = bytes.split_first()?;
    *bytes = rest;
    let k = match mode {
        STEADY => None,
        CHANGING => Some(u32::try_from(take_varint(bytes)?).ok().filter(|&k| k < 64)?),
        _ => return None,
    };
    let mut step = unzigzag(take_varint(bytes)?);
    let mut bits = BitReader::new(bytes);
    let mut times = Vec::with_capacity(count);
    times.push(time);
    for at in 1..count {
        if let Some(k) = k.filter(|_| at > 1) {
            step = step.wrapping_add(unzigzag(bits.take_rice(k)?));
        }
        let next = time.checked_add(step)?;
        if next <= time {
            return None;
        }
        time = next;
        times.push(time);
    }
    *bytes = &bytes[bits.bytes_begun()..];
    Some(times)
}
