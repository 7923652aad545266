//! Requests: a call id, a method, its message, and optional cells.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::{Cells, Error, Result};
use prost::Message;

use super::decoded_size::decoded_size;
use super::frame::{delimited_len, put_delimited, take_delimited};
use super::{ConnectionInfo, ProtocolError, RpcLimits};
use crate::cellblock::{self, CellBlock, CellBlockFormat};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;
use crate::service::{Method, RpcMethod, Service};

/// Maximum bytes of a header that is examined in a frame rejected for its size.
const MAX_REFUSED_HEADER_BYTES: usize = 64 << 10;
/// Maximum bytes of a header; its attributes require many times as much memory.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// Message size up to which the decoded size is always small, regardless of the content.
pub(super) const SMALL_BYTES: usize = 4 << 10;
/// First client version that has `RequestTooBigException`.
const MIN_REQUEST_TOO_BIG_VERSION: (u32, u32) = (1, 3);

/// Request as received: its parts share the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Call id of the response.
    pub call_id: u32,
    /// Other header fields: priority, timeout in milliseconds, attributes.
    pub header: pb::RequestHeader,
    message: Bytes,
    cells: Option<Bytes>,
}

/// Splits the frame of a request into its parts; neither message nor cells are decoded yet.
///
/// # Errors
/// [`ProtocolError::Close`] if the header cannot be decoded, so that the call id is unknown;
/// [`ProtocolError::Call`] for the rest.
pub fn decode_request(frame: &Bytes) -> Result<Request, ProtocolError> {
    let mut rest = frame.clone();
    let header = take_delimited(&mut rest)
        .ok_or_else(|| ProtocolError::close("the request header exceeds its frame"))?;
    if header.len() > MAX_HEADER_BYTES {
        return Err(ProtocolError::close(format!(
            "the request header has {} bytes, more than {MAX_HEADER_BYTES}",
            header.len()
        )));
    }
    let header = pb::RequestHeader::decode(&header[..])
        .map_err(|error| ProtocolError::close(format!("undecodable request header: {error}")))?;
    let call_id = header.call_id();
    if !header.request_param() {
        return Err(refuse(
            call_id,
            "the request has no message; set request_param and send one, empty if need be",
        ));
    }
    let message = take_delimited(&mut rest)
        .ok_or_else(|| refuse(call_id, "the request message exceeds its frame"))?;
    let cells = match &header.cell_block_meta {
        None => None,
        Some(meta) => Some(
            take_cells(&mut rest, meta.length())
                .ok_or_else(|| refuse(call_id, "the request's cell block exceeds its frame"))?,
        ),
    };
    Ok(Request { call_id, header, message, cells })
}

pub(super) fn take_cells(rest: &mut Bytes, length: u32) -> Option<Bytes> {
    let length = usize::try_from(length).ok()?;
    (length <= rest.len()).then(|| rest.split_to(length))
}

fn refuse(call_id: u32, message: impl Into<String>) -> ProtocolError {
    ProtocolError::Call(call_id, Exception::new(ExceptionKind::DoNotRetry, message))
}

impl Request {
    /// Returns the method of the call.
    ///
    /// # Errors
    /// [`ProtocolError::Call`] if the service has no method of that name.
    pub fn method(&self, service: Service) -> Result<Method, ProtocolError> {
        let name = self.header.method_name();
        // HBase's text: the wrapped Java exception, and the name.
        service.method(name).ok_or_else(|| {
            refuse(self.call_id, format!("java.lang.UnsupportedOperationException: {name}"))
        })
    }

    /// Returns the memory in bytes of the message when decoded as that of `method`, in addition to
    /// the frame it shares.
    pub fn decoded_size(&self, method: Method) -> usize {
        decoded_size(method, &self.message)
    }

    /// Returns `true` for a message of at most 4 KiB. The decoded size of such a message needs no
    /// check.
    pub fn is_short(&self) -> bool {
        self.message.len() <= SMALL_BYTES
    }

    /// Rejects a message that would require too much memory when decoded as that of `method`. The
    /// check does not decode the message, and it skips short ones ([`Request::is_short`]).
    ///
    /// # Errors
    /// [`ProtocolError::Call`] if the message is too large.
    pub fn check_decoded_size(
        &self,
        method: Method,
        limits: &RpcLimits,
    ) -> Result<(), ProtocolError> {
        if self.is_short() {
            return Ok(());
        }
        check_decoded_size(method, &self.message, limits)
            .map_err(|exception| ProtocolError::Call(self.call_id, exception))
    }

    /// Returns the decoded message; its byte fields share the frame. A server calls
    /// [`Request::check_decoded_size`] first.
    ///
    /// # Errors
    /// [`ProtocolError::Call`] if it is not a message of this type.
    pub fn message<M: Message + Default>(&self) -> Result<M, ProtocolError> {
        M::decode(self.message.clone()).map_err(|error| {
            ProtocolError::Call(
                self.call_id,
                Exception::new(
                    ExceptionKind::InvalidProtocolBuffer,
                    format!("undecodable request: {error}"),
                ),
            )
        })
    }

    /// Returns the cells after the message; none if there is no cell block.
    ///
    /// # Errors
    /// [`ProtocolError::Call`] if the block is damaged, its decoded size exceeds the limit, or the
    /// connection specified no codec for it.
    pub fn cells(
        &self,
        format: Option<CellBlockFormat>,
        limits: &RpcLimits,
    ) -> Result<Cells, ProtocolError> {
        let Some(block) = &self.cells else {
            return Ok(Cells::default());
        };
        let format = format.ok_or_else(|| {
            refuse(
                self.call_id,
                "cells follow the message, but the connection header specifies no codec",
            )
        })?;
        cellblock::decode(block, format, limits.max_cell_block_bytes)
            .map_err(|error| refuse(self.call_id, error.message()))
    }
}

/// Checks the message of an endpoint, which the message of the call contains as bytes; see
/// [`Request::check_decoded_size`].
///
/// # Errors
/// The response if it would require too much memory.
pub fn check_decoded_size(
    method: Method,
    message: &[u8],
    limits: &RpcLimits,
) -> Result<(), Exception> {
    let (bytes, max_bytes) = (decoded_size(method, message), limits.max_decoded_bytes);
    if bytes <= max_bytes {
        return Ok(());
    }
    let text = format!(
        "message too large: {} bytes decode to {bytes} bytes, limit {max_bytes}; split the call",
        message.len()
    );
    Err(Exception::new(ExceptionKind::DoNotRetry, text))
}

/// Returns the response to a frame of `length` bytes that exceeds the limit, once its header has
/// arrived. `received` contains the bytes read so far, including the length field. `None` means
/// that more bytes must be read.
pub fn refuse_too_big(
    received: &[u8],
    length: usize,
    limits: &RpcLimits,
    connection: &ConnectionInfo,
) -> Option<ProtocolError> {
    let start = received.get(4..)?;
    // Bytes after the frame belong to the next one, and bytes past its end will never arrive.
    let length_limit = length.min(MAX_REFUSED_HEADER_BYTES);
    let start = start.get(..length_limit).unwrap_or(start);
    let Some(header) = take_delimited(&mut Bytes::copy_from_slice(start)) else {
        let is_all = start.len() == length_limit;
        return is_all.then(|| {
            ProtocolError::close(format!(
                "a request of {length} bytes has an oversized or undecodable header"
            ))
        });
    };
    let Ok(header) = pb::RequestHeader::decode(header) else {
        return Some(ProtocolError::close(format!(
            "a request of {length} bytes has an undecodable header"
        )));
    };
    let (major, minor) = MIN_REQUEST_TOO_BIG_VERSION;
    let kind = if connection.is_at_least(major, minor) {
        ExceptionKind::RequestTooBig
    } else {
        ExceptionKind::DoNotRetry
    };
    let message = format!(
        "the request has {length} bytes and {} are allowed; send less in one call, or raise \
         hbase.ipc.max.request.size on the server",
        limits.max_frame_bytes
    );
    Some(ProtocolError::LastCall(header.call_id(), Exception::new(kind, message)))
}

/// Call options in the request header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// Priority; HBase's own clients use 200 for system tables.
    pub priority: Option<u32>,
    /// Client's timeout in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Names and values that the server may record.
    pub attributes: Vec<pb::NameBytesPair>,
}

/// Appends the frame of a request, with its cells if it has any.
///
/// # Errors
/// If it does not fit in a frame; `out` is unchanged then.
pub fn encode_request<C: RpcMethod>(
    call_id: u32,
    message: &C::Request,
    options: RequestOptions,
    cells: Option<&CellBlock<'_>>,
    out: &mut BytesMut,
) -> Result<()> {
    let header = pb::RequestHeader {
        call_id: Some(call_id),
        trace_info: None,
        method_name: Some(C::METHOD.name().to_string()),
        request_param: Some(true),
        cell_block_meta: cells.map(cell_block_meta).transpose()?,
        priority: options.priority,
        timeout: options.timeout_ms,
        attribute: options.attributes,
    };
    put_frame(&header, Some(message), cells, out)
}

pub(super) fn cell_block_meta(block: &CellBlock<'_>) -> Result<pb::CellBlockMeta> {
    let length = u32::try_from(block.len()).map_err(|_| too_big(block.len()))?;
    Ok(pb::CellBlockMeta { length: Some(length) })
}

/// Appends a frame in one pass: every length is known before the first byte is written.
pub(super) fn put_frame<M: Message>(
    header: &impl Message,
    message: Option<&M>,
    cells: Option<&CellBlock<'_>>,
    out: &mut BytesMut,
) -> Result<()> {
    let parts =
        [delimited_len(header), message.map_or(0, delimited_len), cells.map_or(0, CellBlock::len)];
    let length = parts.into_iter().fold(0, usize::saturating_add);
    let length_field = i32::try_from(length).map_err(|_| too_big(length))?;
    out.reserve(length.saturating_add(4));
    out.put_i32(length_field);
    put_delimited(header, out);
    if let Some(message) = message {
        put_delimited(message, out);
    }
    if let Some(cells) = cells {
        cells.write(out);
    }
    Ok(())
}

fn too_big(length: usize) -> Error {
    Error::invalid(format!(
        "{length} bytes do not fit into a frame of less than 2 GiB; send or request less in one \
         call"
    ))
}
