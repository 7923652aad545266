//! Responses: a call id, and a message with optional cells, or an exception.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Bytes, BytesMut};
use halite_types::{Cells, Result};
use prost::Message;

use super::decoded_size::decoded_response_size;
use super::frame::take_delimited;
use super::request::{SMALL_BYTES, cell_block_meta, put_frame, take_cells};
use super::{ProtocolError, RpcLimits};
use crate::cellblock::{self, CellBlock, CellBlockFormat};
use crate::exception::Exception;
use crate::proto as pb;
use crate::service::Method;

/// Appends the frame of a response, with its cells if it has any, with one reservation and in one
/// pass.
///
/// # Errors
/// If it does not fit in a frame; `out` is unchanged then.
pub fn encode_response<M: Message>(
    call_id: u32,
    message: &M,
    cells: Option<&CellBlock<'_>>,
    out: &mut BytesMut,
) -> Result<()> {
    let cell_block_meta = cells.map(cell_block_meta).transpose()?;
    let header = pb::ResponseHeader { call_id: Some(call_id), exception: None, cell_block_meta };
    put_frame(&header, Some(message), cells, out)
}

/// Appends the frame of a response that is an exception.
pub fn encode_exception(call_id: u32, exception: &Exception, out: &mut BytesMut) {
    let header = pb::ResponseHeader {
        call_id: Some(call_id),
        exception: Some(exception.to_response()),
        cell_block_meta: None,
    };
    put_frame::<pb::ResponseHeader>(&header, None, None, out)
        .expect("an exception is far smaller than a frame");
}

/// Response as received: its parts share the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Call id of the request; [`CONNECTION_CALL_ID`](super::CONNECTION_CALL_ID) for the connection
    /// itself.
    pub call_id: u32,
    /// Body or exception.
    pub result: Result<ResponseBody, Exception>,
}

/// Message of a response and the cells after it, not yet decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseBody {
    message: Bytes,
    cells: Option<Bytes>,
}

/// Returns the call that a response answers, from the first bytes of its frame with their length;
/// `None` if more bytes are needed, or it names no call first, as every server does.
pub fn response_call_id(received: &[u8]) -> Option<u32> {
    const CALL_ID_TAG: u8 = 1 << 3;
    let mut header = received.get(4..)?;
    prost::decode_length_delimiter(&mut header).ok()?;
    let mut id = header.strip_prefix(&[CALL_ID_TAG])?;
    prost::encoding::decode_varint(&mut id).ok().and_then(|id| u32::try_from(id).ok())
}

/// Splits the frame of a response into its parts.
///
/// # Errors
/// [`ProtocolError::Close`]: the server uses another protocol, or bytes were lost.
pub fn decode_response(frame: &Bytes) -> Result<Response, ProtocolError> {
    let mut rest = frame.clone();
    let header = take_delimited(&mut rest)
        .ok_or_else(|| ProtocolError::close("the response header exceeds its frame"))?;
    let header = pb::ResponseHeader::decode(header)
        .map_err(|error| ProtocolError::close(format!("undecodable response header: {error}")))?;
    let call_id = header.call_id();
    if let Some(exception) = &header.exception {
        return Ok(Response { call_id, result: Err(Exception::from_response(exception)) });
    }
    let message = take_delimited(&mut rest).ok_or_else(|| {
        ProtocolError::close(format!("the response to call {call_id} exceeds its frame"))
    })?;
    let cells = match &header.cell_block_meta {
        None => None,
        Some(meta) => Some(take_cells(&mut rest, meta.length()).ok_or_else(|| {
            ProtocolError::close(format!(
                "the cells of the response to call {call_id} exceed its frame"
            ))
        })?),
    };
    Ok(Response { call_id, result: Ok(ResponseBody { message, cells }) })
}

impl ResponseBody {
    /// Rejects a message that would require too much memory when decoded as the response of
    /// `method`. The check does not decode the message, and it skips short ones.
    ///
    /// # Errors
    /// [`ProtocolError::Close`] if the message is too large.
    pub fn check_decoded_size(
        &self,
        method: Method,
        limits: &RpcLimits,
    ) -> Result<(), ProtocolError> {
        if self.message.len() <= SMALL_BYTES {
            return Ok(());
        }
        let (bytes, max_bytes) =
            (decoded_response_size(method, &self.message), limits.max_decoded_bytes);
        if bytes <= max_bytes {
            return Ok(());
        }
        let length = self.message.len();
        Err(ProtocolError::close(format!(
            "response to {} too large: {length} bytes decode to {bytes} bytes, limit {max_bytes}",
            method.name()
        )))
    }

    /// Returns the decoded message; its byte fields share the frame. A client calls
    /// [`ResponseBody::check_decoded_size`] first.
    ///
    /// # Errors
    /// [`ProtocolError::Close`] if it is not a message of this type.
    pub fn message<M: Message + Default>(&self) -> Result<M, ProtocolError> {
        M::decode(self.message.clone())
            .map_err(|error| ProtocolError::close(format!("undecodable response: {error}")))
    }

    /// Returns the cells after the message; `None` if the server put them into the message or has
    /// none to send.
    ///
    /// # Errors
    /// [`ProtocolError::Close`] if the block is damaged or its decoded size exceeds the limit.
    pub fn cells(
        &self,
        format: CellBlockFormat,
        limits: &RpcLimits,
    ) -> Result<Option<Cells>, ProtocolError> {
        let block = self.cells.as_ref();
        block
            .map(|block| cellblock::decode(block, format, limits.max_cell_block_bytes))
            .transpose()
            .map_err(|error| ProtocolError::close(format!("cells of a response: {error}")))
    }
}
