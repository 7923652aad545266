//! Writes of any shape and size from a few bytes each: puts, appends, increments, checks and
//! multis, with tags, inside the message or in cell blocks, up to the size of a frame. A number in
//! the input replaces contents that a fuzzer cannot grow byte by byte.

use bytes::{Bytes, BytesMut};
use halite_types::cell::{CellParts, MAX_TAGS_BYTES, write_tag};
use halite_types::{CellType, Cells, CellsBuilder};
use halite_wire::cellblock::{CellBlockFormat, Codec};
use halite_wire::proto as pb;
use halite_wire::rpc::{Auth, RequestOptions, encode_connection, encode_request};
use halite_wire::service::{ClientMulti, ClientMutate, RpcMethod, Service};
use pb::mutation_proto::column_value::QualifierValue;
use pb::mutation_proto::{ColumnValue, MutationType};

/// Maximum bytes sent per input.
const MAX_FILTER_BYTES: usize = 1 << 20;
const MAX_CALLS: u32 = 12;
const MAX_ACTIONS: u8 = 12;

/// Returns a connection with the writes that the bytes describe, on a region.
pub(crate) fn conversation(data: &[u8], region: &str) -> Vec<u8> {
    let mut source = Source { data, left: MAX_FILTER_BYTES, region: region.to_owned() };
    let codec = Codec::ALL[usize::from(source.byte()) % Codec::ALL.len()];
    let header = pb::ConnectionHeader {
        service_name: Some(Service::Client.name().to_owned()),
        cell_block_codec_class: Some(codec.class().to_owned()),
        ..Default::default()
    };
    let mut out = BytesMut::new();
    encode_connection(Auth::Simple, &header, &mut out).expect("a small header");
    let format = CellBlockFormat { codec, compressor: None };
    for id in 0..MAX_CALLS {
        if source.data.is_empty() {
            break;
        }
        let mut cells = Vec::new();
        if source.byte().is_multiple_of(3) {
            let request = source.multi(&mut cells);
            push::<ClientMulti>(id, &request, format, &cells, &mut out);
        } else {
            let request = source.mutate(&mut cells);
            push::<ClientMutate>(id, &request, format, &cells, &mut out);
        }
    }
    out.to_vec()
}

fn push<C: RpcMethod>(
    id: u32,
    request: &C::Request,
    format: CellBlockFormat,
    cells: &[Cells],
    out: &mut BytesMut,
) {
    let Ok(block) = format.block(cells) else { return };
    // A request that is too large for a frame is not sent.
    let _ = encode_request::<C>(
        id,
        request,
        RequestOptions::default(),
        (!cells.is_empty()).then_some(&block),
        out,
    );
}

struct Source<'a> {
    data: &'a [u8],
    /// Remaining bytes that may be sent.
    left: usize,
    region: String,
}

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        *byte
    }

    /// Returns a size: mostly small, around the 16-bit limits, or large.
    fn size(&mut self) -> usize {
        let byte = usize::from(self.byte());
        let size = match byte % 8 {
            0..=2 => byte >> 3,
            3 => 256 + byte,
            4 => (1 << 15) - 16 + (byte >> 3),
            5 | 6 => (1 << 16) - 16 + (byte >> 3),
            _ => byte << 11,
        };
        let size = size.min(self.left);
        self.left -= size;
        size
    }

    fn bytes(&mut self) -> Bytes {
        let size = self.size();
        Bytes::from(vec![self.byte(); size])
    }

    fn row(&mut self) -> Bytes {
        match self.byte() % 8 {
            0 => self.bytes(),
            number => Bytes::from(format!("r{number}")),
        }
    }

    /// Returns valid tags, or invalid bytes.
    fn tags(&mut self) -> Bytes {
        match self.byte() % 4 {
            0 => Bytes::new(),
            1 => self.bytes(),
            _ => {
                let mut tags = Vec::new();
                for _ in 0..=self.byte() % 3 {
                    // The length of a tag has 16 bits and includes its type.
                    let size = self.size().min(usize::from(u16::MAX) - 1);
                    write_tag(&mut tags, self.byte(), &vec![7; size]);
                }
                tags.into()
            }
        }
    }

    fn region(&self) -> pb::RegionSpecifier {
        let encoded = pb::region_specifier::RegionSpecifierType::EncodedRegionName;
        pb::RegionSpecifier {
            r#type: encoded.into(),
            value: Bytes::copy_from_slice(self.region.as_bytes()),
        }
    }

    fn mutation(&mut self, cells: &mut Vec<Cells>, row: Option<Bytes>) -> pb::MutationProto {
        let row = row.unwrap_or_else(|| self.row());
        let kind = [
            MutationType::Append,
            MutationType::Put,
            MutationType::Increment,
            MutationType::Append,
            MutationType::Delete,
        ];
        let kind = kind[usize::from(self.byte()) % kind.len()];
        let count = 1 + self.byte() % 3;
        let mut mutation = pb::MutationProto {
            row: Some(row.clone()),
            mutate_type: Some(kind.into()),
            ..Default::default()
        };
        let is_beside = self.byte().is_multiple_of(3);
        let mut beside = CellsBuilder::default();
        for _ in 0..count {
            let qualifier = Bytes::from(["q", "n", ""][usize::from(self.byte()) % 3]);
            let tags = self.tags();
            let value = if kind == MutationType::Increment {
                Bytes::copy_from_slice(&1_u64.to_be_bytes())
            } else {
                self.bytes()
            };
            if is_beside
                && tags.len() <= MAX_TAGS_BYTES
                && row.len() <= usize::from(u16::MAX) / 2
                && !row.is_empty()
            {
                let (timestamp, cell_type) = (i64::MAX, CellType::Put);
                beside.push_parts(CellParts {
                    row: &row,
                    family: b"f",
                    qualifier: &qualifier,
                    timestamp,
                    cell_type,
                    value: &value,
                    tags: &tags,
                });
                continue;
            }
            let value = QualifierValue {
                qualifier: Some(qualifier),
                value: Some(value),
                tags: Some(tags),
                ..Default::default()
            };
            mutation
                .column_value
                .push(ColumnValue { family: "f".into(), qualifier_value: vec![value] });
        }
        if !beside.is_empty() {
            mutation.associated_cell_count = i32::try_from(beside.len()).ok();
            cells.push(beside.finish());
        }
        mutation
    }

    fn condition(&mut self, row: &Bytes) -> Option<pb::Condition> {
        let check = halite_types::CheckAndMutate::if_not_exists(
            row.clone(),
            "f",
            "none",
            halite_types::Put::new(row.clone()).add("f", "q", "v"),
        );
        self.byte()
            .is_multiple_of(4)
            .then(|| halite_wire::convert::condition::to_proto(&check).ok())
            .flatten()
    }

    fn mutate(&mut self, cells: &mut Vec<Cells>) -> pb::MutateRequest {
        let mutation = self.mutation(cells, None);
        let condition = self.condition(&mutation.row.clone().unwrap_or_default());
        pb::MutateRequest { region: self.region(), mutation, condition, ..Default::default() }
    }

    fn multi(&mut self, cells: &mut Vec<Cells>) -> pb::MultiRequest {
        // All actions of an atomic request use one row.
        let atomic = self.byte().is_multiple_of(2);
        let row = atomic.then(|| self.row());
        let count = 1 + self.byte() % MAX_ACTIONS;
        let actions = (0..u32::from(count)).map(|index| {
            let mutation = self.mutation(cells, row.clone());
            pb::Action { index: Some(index), mutation: Some(mutation), ..Default::default() }
        });
        let action = actions.collect();
        let condition = row.as_ref().and_then(|row| self.condition(row));
        let actions = pb::RegionAction {
            region: self.region(),
            atomic: Some(atomic),
            action,
            condition: condition.clone(),
            ..Default::default()
        };
        pb::MultiRequest { region_action: vec![actions], condition, ..Default::default() }
    }
}

/// Returns an append whose tags do not fit into a cell together with the existing ones, a multi of
/// all kinds, and cells in cell blocks.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let append = |size: u8| [1, 1, 0, 0, 1, 0, 2, 0, size, 70, 0, 0, 1];
    let heavy = [&[0][..], &append(5), &append(5), &append(6)].concat();
    let multi: Vec<u8> =
        [0, 0, 0, 1, 5].into_iter().chain((0..60_u8).map(|index| index.wrapping_mul(37))).collect();
    let batch: Vec<u8> =
        [1, 0, 1, 11].into_iter().chain((0..120_u8).map(|index| index.wrapping_mul(61))).collect();
    let beside: Vec<u8> = [1]
        .into_iter()
        .chain((0..8).flat_map(|index| [1, 1 + index, 1, 0, 0, 0, 2, 0, 28, 9, 28, 1]))
        .collect();
    vec![heavy, multi, batch, beside]
}
