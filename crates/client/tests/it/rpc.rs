//! RPC framing of the test servers: reads request frames, writes responses with their cells.

use bytes::{Bytes, BytesMut};
use halite_types::cell::CellParts;
use halite_types::{CellType, Cells, CellsBuilder, Row};
use halite_wire::cellblock::CellBlockFormat;
use halite_wire::convert::result::rows_to_response;
use halite_wire::proto as pb;
use halite_wire::rpc::{FrameStatus, RpcLimits, encode_response, next_frame};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads the next frame; `None` if the connection has ended or the frame is invalid.
pub(crate) async fn frame(
    socket: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> Option<Bytes> {
    loop {
        match next_frame(buffer, &RpcLimits::default()).ok()? {
            FrameStatus::Frame(frame) => return Some(frame),
            FrameStatus::Need(bytes) => buffer.reserve(bytes),
            FrameStatus::Ping | FrameStatus::TooBig(_) => return None,
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// Writes a response.
pub(crate) fn put<M: prost::Message>(id: u32, message: &M, cells: &[Cells], out: &mut BytesMut) {
    let block = CellBlockFormat::default().block(cells).unwrap();
    encode_response(id, message, Some(&block), out).unwrap();
}

/// Writes the response to a scan.
pub(crate) fn put_rows(id: u32, rows: &[Row], mut response: pb::ScanResponse, out: &mut BytesMut) {
    rows_to_response(rows, true, &mut response);
    let cells: Vec<Cells> = rows.iter().map(|row| row.cells().clone()).collect();
    put(id, &response, &cells, out);
}

/// Returns a row with these columns.
pub(crate) fn row(key: &[u8], columns: &[(&str, &str, &[u8])]) -> Row {
    let mut cells = CellsBuilder::default();
    for (family, qualifier, value) in columns {
        let (family, qualifier) = (family.as_bytes(), qualifier.as_bytes());
        cells.push_parts(CellParts {
            row: key,
            family,
            qualifier,
            timestamp: 1,
            cell_type: CellType::Put,
            value,
            tags: &[],
        });
    }
    Row::new(cells.finish())
}
