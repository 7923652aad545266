//! Responses: a call id, and a message with perhaps cells, or an exception.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Bytes, BytesMut};
use halite_types::{Cells, Result};
use prost::Message;

use super::frame::take_delimited;
use super::request::{SMALL_BYTES, cell_block_meta, put_frame, take_cells};
use super::unfold::unfolded_answer_bytes;
use super::{Fault, Limits};
use crate::cellblock::{self, Block, Format};
use crate::exception::Exception;
use crate::proto as pb;
use crate::service::Method;

/// Appends the frame of an answer, with its cells if it has any. One reservation, one pass.
///
/// # Errors
/// If it does not fit a frame; `out` is unchanged then.
pub fn encode_response<M: Message>(call_id: u32, message: &M, cells: Option<&Block<'_>>, out: &mut BytesMut) -> Result<()> {
    let cell_block_meta = cells.map(cell_block_meta).transpose()?;
    let header = pb::ResponseHeader { call_id: Some(call_id), exception: None, cell_block_meta };
    put_frame(&header, Some(message), cells, out)
}

/// Appends the frame of an answer that is an exception.
pub fn encode_exception(call_id: u32, exception: &Exception, out: &mut BytesMut) {
    let header = pb::ResponseHeader { call_id: Some(call_id), exception: Some(exception.to_response()), cell_block_meta: None };
    put_frame::<pb::ResponseHeader>(&header, None, None, out).expect("an exception is far smaller than a frame");
}

/// An answer as it came: its parts share the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Whose answer it is; [`CONNECTION_CALL_ID`](super::CONNECTION_CALL_ID) if the connection itself is meant.
    pub call_id: u32,
    /// What was answered.
    pub answer: Result<Answer, Exception>,
}

/// The message of an answer and what follows it, not yet decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    message: Bytes,
    cells: Option<Bytes>,
}

/// Splits the frame of an answer into its parts.
///
/// # Errors
/// [`Fault::Close`]: the server does not speak this protocol, or bytes were lost.
pub fn decode_response(frame: &Bytes) -> Result<Response, Fault> {
    let mut rest = frame.clone();
    let header = take_delimited(&mut rest).ok_or_else(|| Fault::close("the header of an answer does not fit its frame"))?;
    let header = pb::ResponseHeader::decode(header).map_err(|error| Fault::close(format!("the header of an answer is damaged: {error}")))?;
    let call_id = header.call_id();
    if let Some(exception) = &header.exception {
        return Ok(Response { call_id, answer: Err(Exception::from_response(exception)) });
    }
    let message = take_delimited(&mut rest).ok_or_else(|| Fault::close(format!("the answer to call {call_id} does not fit its frame")))?;
    let cells = match &header.cell_block_meta {
        None => None,
        Some(meta) => Some(
            take_cells(&mut rest, meta.length())
                .ok_or_else(|| Fault::close(format!("the cells of the answer to call {call_id} do not fit its frame")))?,
        ),
    };
    Ok(Response { call_id, answer: Ok(Answer { message, cells }) })
}

impl Answer {
    /// Refuses a message that would take too much memory when decoded as the answer of `method`. It is not decoded for that, and a
    /// short one is not even looked at.
    ///
    /// # Errors
    /// [`Fault::Close`] if so.
    pub fn check_unfolded(&self, method: Method, limits: &Limits) -> Result<(), Fault> {
        if self.message.len() <= SMALL_BYTES {
            return Ok(());
        }
        let (bytes, most) = (unfolded_answer_bytes(method, &self.message), limits.unfolded_bytes_max);
        if bytes <= most {
            return Ok(());
        }
        let length = self.message.len();
        Err(Fault::close(format!("an answer of {length} bytes to {} takes {bytes} in memory and {most} are allowed", method.name())))
    }

    /// The message, decoded; its byte fields share the frame. A client calls [`Answer::check_unfolded`] first.
    ///
    /// # Errors
    /// [`Fault::Close`] if it is not a message of this type.
    pub fn message<M: Message + Default>(&self) -> Result<M, Fault> {
        M::decode(self.message.clone()).map_err(|error| Fault::close(format!("an answer is damaged: {error}")))
    }

    /// The cells behind the message; `None` if the server put them into the message, or has none to send.
    ///
    /// # Errors
    /// [`Fault::Close`] if the block is damaged or unfolds to too much.
    pub fn cells(&self, format: Format, limits: &Limits) -> Result<Option<Cells>, Fault> {
        let block = self.cells.as_ref();
        block
            .map(|block| cellblock::decode(block, format, limits.cell_block_bytes_max))
            .transpose()
            .map_err(|error| Fault::close(format!("the cells of an answer: {error}")))
    }
}
