//! Requests: a call id, a method, its message, and perhaps cells.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::{Cells, Error, Result};
use prost::Message;

use super::frame::{delimited_len, put_delimited, take_delimited};
use super::unfold::unfolded_bytes;
use super::{Connection, Fault, Limits};
use crate::cellblock::{self, Block, Format};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;
use crate::service::{Call, Method, Service};

/// Most bytes of a header that is looked at in a frame that is refused for its size.
const REFUSED_HEADER_BYTES_MAX: usize = 64 << 10;
/// Most bytes of a header; its attributes take many times as much in memory.
const HEADER_BYTES_MAX: usize = 1 << 20;
/// What a message of so few bytes unfolds to is little, whatever is in it.
pub(super) const SMALL_BYTES: usize = 4 << 10;
/// Since this version clients know `RequestTooBigException`.
const KNOWS_TOO_BIG: (u32, u32) = (1, 3);

/// A request as it came: its parts share the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The id to answer under.
    pub call_id: u32,
    /// What else the header says: priority, timeout in milliseconds, attributes.
    pub header: pb::RequestHeader,
    message: Bytes,
    cells: Option<Bytes>,
}

/// Splits the frame of a request into its parts; neither message nor cells are decoded yet.
///
/// # Errors
/// [`Fault::Close`] if the header cannot be read, so that nobody knows whom to answer; [`Fault::Call`] for the rest.
pub fn decode_request(frame: &Bytes) -> Result<Request, Fault> {
    let mut rest = frame.clone();
    let header = take_delimited(&mut rest).ok_or_else(|| Fault::close("the header of a request does not fit its frame"))?;
    if header.len() > HEADER_BYTES_MAX {
        return Err(Fault::close(format!("the header of a request has {} bytes, more than {HEADER_BYTES_MAX}", header.len())));
    }
    let header = pb::RequestHeader::decode(&header[..]).map_err(|error| Fault::close(format!("the header of a request is damaged: {error}")))?;
    let call_id = header.call_id();
    if !header.request_param() {
        return Err(refuse(call_id, "the request has no message; set request_param and send one, empty if need be"));
    }
    let message = take_delimited(&mut rest).ok_or_else(|| refuse(call_id, "the message of the request does not fit its frame"))?;
    let cells = match &header.cell_block_meta {
        None => None,
        Some(meta) => {
            Some(take_cells(&mut rest, meta.length()).ok_or_else(|| refuse(call_id, "the cell block of the request does not fit its frame"))?)
        }
    };
    Ok(Request { call_id, header, message, cells })
}

pub(super) fn take_cells(rest: &mut Bytes, length: u32) -> Option<Bytes> {
    let length = usize::try_from(length).ok()?;
    (length <= rest.len()).then(|| rest.split_to(length))
}

fn refuse(call_id: u32, message: impl Into<String>) -> Fault {
    Fault::Call(call_id, Exception::new(ExceptionKind::DoNotRetry, message))
}

impl Request {
    /// The method that is called.
    ///
    /// # Errors
    /// [`Fault::Call`] if the service has none of that name.
    pub fn method(&self, service: Service) -> Result<Method, Fault> {
        let name = self.header.method_name();
        // HBase's text: the Java exception it wraps, and the name.
        service.method(name).ok_or_else(|| refuse(self.call_id, format!("java.lang.UnsupportedOperationException: {name}")))
    }

    /// Bytes that the message takes in memory when it is decoded as that of `method`, beside the frame it shares.
    pub fn unfolded_bytes(&self, method: Method) -> usize {
        unfolded_bytes(method, &self.message)
    }

    /// Refuses a message that would take too much memory when decoded as that of `method`. It is not decoded for that, and a
    /// short one is not even looked at.
    ///
    /// # Errors
    /// [`Fault::Call`] if so.
    pub fn check_unfolded(&self, method: Method, limits: &Limits) -> Result<(), Fault> {
        if self.message.len() <= SMALL_BYTES {
            return Ok(());
        }
        check_unfolded(method, &self.message, limits).map_err(|exception| Fault::Call(self.call_id, exception))
    }

    /// The message, decoded; its byte fields share the frame. A server calls [`Request::check_unfolded`] first.
    ///
    /// # Errors
    /// [`Fault::Call`] if it is not a message of this type.
    pub fn message<M: Message + Default>(&self) -> Result<M, Fault> {
        M::decode(self.message.clone()).map_err(|error| {
            Fault::Call(self.call_id, Exception::new(ExceptionKind::InvalidProtocolBuffer, format!("the request is damaged: {error}")))
        })
    }

    /// The cells behind the message; none if there is no cell block.
    ///
    /// # Errors
    /// [`Fault::Call`] if the block is damaged or unfolds to too much, or if the connection named no codec to read it with.
    pub fn cells(&self, format: Option<Format>, limits: &Limits) -> Result<Cells, Fault> {
        let Some(block) = &self.cells else {
            return Ok(Cells::default());
        };
        let format = format.ok_or_else(|| refuse(self.call_id, "cells came behind the message, but the connection header names no codec"))?;
        cellblock::decode(block, format, limits.cell_block_bytes_max).map_err(|error| refuse(self.call_id, error.message()))
    }
}

/// As [`Request::check_unfolded`], for the message of an endpoint, which stands in that of the call as bytes.
///
/// # Errors
/// What to answer if it would take too much memory.
pub fn check_unfolded(method: Method, message: &[u8], limits: &Limits) -> Result<(), Exception> {
    let (bytes, most) = (unfolded_bytes(method, message), limits.unfolded_bytes_max);
    if bytes <= most {
        return Ok(());
    }
    let text = format!("the message of {} bytes takes {bytes} in memory and {most} are allowed; send less in one call", message.len());
    Err(Exception::new(ExceptionKind::DoNotRetry, text))
}

/// The answer to a frame of `length` bytes, more than is allowed, once its header has come. `received` is what was read of
/// it, its length field included. `None` means that more has to be read.
pub fn refuse_too_big(received: &[u8], length: usize, limits: &Limits, connection: &Connection) -> Option<Fault> {
    let start = received.get(4..)?;
    // What follows the frame is another's, and what the frame does not have will not come.
    let most = length.min(REFUSED_HEADER_BYTES_MAX);
    let start = start.get(..most).unwrap_or(start);
    let Some(header) = take_delimited(&mut Bytes::copy_from_slice(start)) else {
        let is_all = start.len() == most;
        return is_all.then(|| Fault::close(format!("a request has {length} bytes, and its header is too long or damaged")));
    };
    let Ok(header) = pb::RequestHeader::decode(header) else {
        return Some(Fault::close(format!("a request has {length} bytes, and its header is damaged")));
    };
    let (major, minor) = KNOWS_TOO_BIG;
    let kind = if connection.is_at_least(major, minor) { ExceptionKind::RequestTooBig } else { ExceptionKind::DoNotRetry };
    let message = format!(
        "the request has {length} bytes and {} are allowed; send less in one call, or raise hbase.ipc.max.request.size on the server",
        limits.frame_bytes_max
    );
    Some(Fault::LastCall(header.call_id(), Exception::new(kind, message)))
}

/// What a client says about a call beside its message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// How urgent it is; 200 for system tables in HBase's own clients.
    pub priority: Option<u32>,
    /// How long the client will wait, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Names and values that the server may record.
    pub attributes: Vec<pb::NameBytesPair>,
}

/// Appends the frame of a request, with its cells if it has any.
///
/// # Errors
/// If it does not fit a frame; `out` is unchanged then.
pub fn encode_request<C: Call>(
    call_id: u32,
    message: &C::Request,
    options: RequestOptions,
    cells: Option<&Block<'_>>,
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

pub(super) fn cell_block_meta(block: &Block<'_>) -> Result<pb::CellBlockMeta> {
    let length = u32::try_from(block.len()).map_err(|_| too_big(block.len()))?;
    Ok(pb::CellBlockMeta { length: Some(length) })
}

/// Appends a frame in one pass: every length is known before the first byte is written.
pub(super) fn put_frame<M: Message>(header: &impl Message, message: Option<&M>, cells: Option<&Block<'_>>, out: &mut BytesMut) -> Result<()> {
    let parts = [delimited_len(header), message.map_or(0, delimited_len), cells.map_or(0, Block::len)];
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
    Error::invalid(format!("{length} bytes do not fit a frame, which holds less than 2 GiB; send or ask for less in one call"))
}
