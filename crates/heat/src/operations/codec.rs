//! Operations as bytes, in batches that share their texts.
//!
//! ```text
//! version    u8 = 1
//! dropped    varint: operations that were due and were not recorded, for want of room
//! texts      varint number, then for each: varint length, UTF-8 bytes
//! calls      varint number, then for each:
//!            time       varint: zigzag of the milliseconds since the previous call (first: 1970)
//!            kind       u8: position in CallKind::ALL
//!            weight     varint; 0: the table was dropped then
//!            table, address, user, version, statement    varint each: position in the texts
//!            row        varint length, bytes
//!            stop       varint: 0 for none, else length + 1; bytes
//!            cells, rows, bytes    varint each
//! ```

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use super::record::{Call, CallKind, Client};
use crate::codec::{Input, NotAColumn, write_varint};

const VERSION: u8 = 1;
/// Largest batch in bytes. A decoder takes at most a hundred times that in memory.
pub const MAX_BATCH_BYTES: usize = 1 << 20;
/// Fewest bytes of a call.
const MIN_CALL_BYTES: usize = 13;

/// Operations that were recorded together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationBatch {
    /// Operations that were due and were not recorded, for want of room.
    pub dropped: u64,
    /// Operations, roughly in the order of their times.
    pub calls: Vec<Call>,
}

/// Bytes that are not a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotABatch {
    /// Offset of the damage in bytes.
    pub offset: usize,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for NotABatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a batch of operations: {} at byte {}", self.reason, self.offset)
    }
}

impl StdError for NotABatch {}

impl From<NotAColumn> for NotABatch {
    fn from(damage: NotAColumn) -> Self {
        Self { offset: damage.offset, reason: damage.reason }
    }
}

impl OperationBatch {
    /// Returns the batch as bytes, with the leading calls that fit into `max_bytes`, which is at
    /// most [`MAX_BATCH_BYTES`], and the number of these calls. A first call that does not fit
    /// alone is left out.
    #[must_use]
    pub fn encode(&self, max_bytes: usize) -> (Vec<u8>, usize) {
        let mut texts = Texts::default();
        let (mut body, mut count, mut taken, mut before) = (Vec::new(), 0_u64, 0, 0_i64);
        // Version, and three numbers of at most ten bytes.
        let room = max_bytes.min(MAX_BATCH_BYTES).saturating_sub(31);
        for call in &self.calls {
            let (body_end, texts_end) = (body.len(), texts.mark());
            write_call(&mut body, call, before, &mut texts);
            if body.len() + texts.bytes > room {
                body.truncate(body_end);
                texts.truncate(texts_end);
                // One that does not fit into an empty batch fits nowhere.
                taken += usize::from(count == 0);
                break;
            }
            before = call.time_ms;
            (count, taken) = (count + 1, taken + 1);
        }
        let mut out = vec![VERSION];
        write_varint(&mut out, self.dropped);
        write_varint(&mut out, texts.all.len() as u64);
        texts.all.iter().for_each(|text| write_bytes(&mut out, text.as_bytes()));
        write_varint(&mut out, count);
        out.extend(body);
        (out, taken)
    }

    /// Returns the batch of these bytes.
    ///
    /// # Errors
    /// If the bytes are damaged, of another version or too many; memory is bounded in any case.
    pub fn decode(bytes: &[u8]) -> Result<Self, NotABatch> {
        let mut input = Input { bytes, at: 0 };
        if bytes.len() > MAX_BATCH_BYTES {
            return Err(input.error("it is too long").into());
        }
        if input.take(1)? != [VERSION] {
            return Err(input.error("it has another version").into());
        }
        let dropped = input.varint()?;
        let texts = read_texts(&mut input)?;
        let count = input.varint()?;
        let most = (bytes.len() - input.at) / MIN_CALL_BYTES;
        let count = usize::try_from(count).ok().filter(|count| *count <= most);
        let count = count.ok_or_else(|| input.error("it has fewer calls than it says"))?;
        let (mut calls, mut before) = (Vec::with_capacity(count), 0);
        for _ in 0..count {
            let call = read_call(&mut input, before, &texts)?;
            before = call.time_ms;
            calls.push(call);
        }
        if input.at != bytes.len() {
            return Err(input.error("bytes follow its end").into());
        }
        Ok(Self { dropped, calls })
    }
}

/// Texts of a batch, in the order of their first use.
#[derive(Default)]
struct Texts<'c> {
    places: HashMap<&'c str, u64>,
    all: Vec<&'c str>,
    bytes: usize,
}

impl<'c> Texts<'c> {
    fn place(&mut self, text: &'c str) -> u64 {
        let next = self.all.len() as u64;
        let place = *self.places.entry(text).or_insert(next);
        if place == next {
            self.all.push(text);
            // Its length takes at most ten bytes.
            self.bytes += text.len() + 10;
        }
        place
    }

    fn mark(&self) -> (usize, usize) {
        (self.all.len(), self.bytes)
    }

    fn truncate(&mut self, (count, bytes): (usize, usize)) {
        for text in self.all.drain(count..) {
            self.places.remove(text);
        }
        self.bytes = bytes;
    }
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_call<'c>(out: &mut Vec<u8>, call: &'c Call, before: i64, texts: &mut Texts<'c>) {
    let step = call.time_ms.wrapping_sub(before);
    write_varint(out, ((step << 1) ^ (step >> 63)).cast_unsigned());
    let kind = CallKind::ALL.iter().position(|kind| *kind == call.kind).unwrap_or(0);
    out.push(u8::try_from(kind).unwrap_or(0));
    write_varint(out, call.weight);
    let client = &call.client;
    for text in [&call.table, &client.address, &client.user, &client.version, &call.statement] {
        write_varint(out, texts.place(text));
    }
    write_bytes(out, &call.row);
    match &call.stop {
        None => write_varint(out, 0),
        Some(stop) => {
            write_varint(out, stop.len() as u64 + 1);
            out.extend_from_slice(stop);
        }
    }
    for amount in [call.cells, call.rows, call.bytes] {
        write_varint(out, amount);
    }
}

fn read_texts(input: &mut Input<'_>) -> Result<Vec<Arc<str>>, NotABatch> {
    let count = input.varint()?;
    // Each has a length.
    let most = input.bytes.len() - input.at;
    let count = usize::try_from(count).ok().filter(|count| *count <= most);
    let count = count.ok_or_else(|| input.error("it has fewer texts than it says"))?;
    let mut texts = Vec::with_capacity(count);
    for _ in 0..count {
        let bytes = read_bytes(input, 0)?;
        let text = std::str::from_utf8(bytes).map_err(|_| input.error("a text is not UTF-8"))?;
        texts.push(text.into());
    }
    Ok(texts)
}

/// Reads as many bytes as the next number says, less `less`.
fn read_bytes<'a>(input: &mut Input<'a>, less: u64) -> Result<&'a [u8], NotABatch> {
    let length = input.varint()?.saturating_sub(less);
    Ok(input.take(usize::try_from(length).unwrap_or(usize::MAX))?)
}

fn read_call(input: &mut Input<'_>, before: i64, texts: &[Arc<str>]) -> Result<Call, NotABatch> {
    let step = input.varint()?;
    let step = (step >> 1).cast_signed() ^ -(step & 1).cast_signed();
    let kind = usize::from(input.take(1)?[0]);
    let kind = CallKind::ALL.get(kind).copied();
    let kind = kind.ok_or_else(|| input.error("it has an unknown kind of call"))?;
    let weight = input.varint()?;
    let mut text = || {
        let place = input.varint()?;
        let found = usize::try_from(place).ok().and_then(|place| texts.get(place));
        found.cloned().ok_or_else(|| NotABatch::from(input.error("a text is not in it")))
    };
    let (table, address, user, version, statement) = (text()?, text()?, text()?, text()?, text()?);
    let row = read_bytes(input, 0)?.into();
    let has_stop = input.bytes.get(input.at).is_some_and(|byte| *byte != 0);
    let stop = read_bytes(input, 1)?;
    Ok(Call {
        time_ms: before.wrapping_add(step),
        kind,
        weight,
        table,
        row,
        stop: has_stop.then(|| stop.into()),
        cells: input.varint()?,
        rows: input.varint()?,
        bytes: input.varint()?,
        client: Client { address, user, version },
        statement,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(number: u64) -> Call {
        Call {
            time_ms: 1_700_000_000_000 + number.cast_signed() * 7 - 3,
            kind: CallKind::ALL[usize::try_from(number % 8).unwrap()],
            weight: 1 + number % 1000,
            table: format!("t{}", number % 3).into(),
            row: format!("row{number}").into_bytes().into(),
            stop: [None, Some(Box::default()), Some([0xff, 0][..].into())]
                [usize::try_from(number % 3).unwrap()]
            .clone(),
            cells: number,
            rows: number / 2,
            bytes: number * 100,
            client: Client {
                address: "10.0.0.1".into(),
                user: format!("u{}", number % 2).into(),
                version: "".into(),
            },
            statement: format!("put f:{}", number % 5).into(),
        }
    }

    #[test]
    fn batch_is_read_as_it_was_written() {
        let batch = OperationBatch { dropped: 7, calls: (0..500).map(call).collect() };
        let (bytes, taken) = batch.encode(MAX_BATCH_BYTES);
        assert_eq!((taken, OperationBatch::decode(&bytes)), (500, Ok(batch)));
        assert!(bytes.len() < 500 * 40, "texts are shared: {}", bytes.len());
        let times = [i64::MIN, i64::MAX, 0, -1];
        let calls = times.into_iter().map(|time_ms| Call { time_ms, ..call(0) });
        let batch = OperationBatch { dropped: 0, calls: calls.collect() };
        assert_eq!(OperationBatch::decode(&batch.encode(MAX_BATCH_BYTES).0), Ok(batch));
    }

    #[test]
    fn encoded_batches_respect_bound() {
        let mut calls: Vec<Call> = (0..500).map(call).collect();
        calls[100].row = vec![7; 5000].into();
        let (mut rest, mut read) = (calls.clone(), Vec::new());
        while !rest.is_empty() {
            let (bytes, taken) = OperationBatch { dropped: 0, calls: rest.clone() }.encode(4096);
            assert!(bytes.len() <= 4096 && taken > 0);
            read.extend(OperationBatch::decode(&bytes).unwrap().calls);
            rest.drain(..taken);
        }
        calls.remove(100);
        assert_eq!(read, calls, "only the call of 5,000 bytes fits nowhere");
    }

    #[test]
    fn every_cut_of_batch_is_rejected() {
        let (bytes, _) =
            OperationBatch { dropped: 1, calls: (0..9).map(call).collect() }.encode(9999);
        for end in 0..bytes.len() {
            OperationBatch::decode(&bytes[..end]).unwrap_err();
        }
        OperationBatch::decode(&[&bytes[..], &[0]].concat()).unwrap_err();
    }

    proptest! {
        #[test]
        fn damaged_batch_is_read_or_rejected(at in 0_usize..400, byte: u8, extra: Vec<u8>) {
            let (mut bytes, _) =
                OperationBatch { dropped: 0, calls: (0..9).map(call).collect() }.encode(9999);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = OperationBatch::decode(&bytes);
            let _ = OperationBatch::decode(&extra);
        }
    }
}
