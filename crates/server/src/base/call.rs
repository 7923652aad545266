//! Calls, their peers, replies and errors.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::Caller;
use halite_types::ServerName;
use halite_types::{Cells, Error, RegionInfo, Result as StoreResult};
use halite_wire::cellblock::{CellBlock, CellBlockFormat};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::rpc::{ConnectionInfo, ProtocolError as PeerFault, Request, RpcLimits};
use halite_wire::service::Method;
use prost::Message;

use crate::base::buffers::{Account, MemoryReservation};
use crate::base::identity::Identity;
use crate::base::operations::Operations;
use crate::outside::Instant;

/// Maximum logged characters of a protocol error, which may contain text from the client.
const MAX_PROTOCOL_ERROR_CHARS: usize = 300;

/// Client of a connection, as specified in the connection header.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Number of the connection, unique in this process.
    pub(crate) connection: u64,
    /// Address of the client.
    pub(crate) address: SocketAddr,
    /// User that the calls are made for; empty if the client did not send one.
    pub(crate) user: String,
    /// Format of cell blocks; `None` if the client requests cells inside messages.
    pub(crate) format: Option<CellBlockFormat>,
    /// Major and minor version of the client; only the Java client sends it.
    pub(crate) version: Option<(u32, u32)>,
    /// Client as the engine's log of operations has it.
    pub(crate) caller: Arc<Caller>,
    /// Contents of the connection header.
    pub(crate) header: ConnectionInfo,
    /// Host, ports and start code of this server as returned to the client.
    pub(crate) identity: Identity,
    /// Server name as returned by `hbase:meta`.
    pub(crate) server: Arc<ServerName>,
    /// Network buffers of the connection.
    pub(crate) account: Arc<Account>,
    /// Memory of its open scanners.
    pub(crate) scanner_memory: Arc<Account>,
    /// `true` once a protocol error of this client has been logged.
    pub(crate) protocol_error_logged: Arc<AtomicBool>,
}

impl Peer {
    /// Returns a client as the engine's log of operations has it.
    pub(crate) fn caller_of(
        address: SocketAddr,
        user: Option<&str>,
        version: Option<(u32, u32)>,
    ) -> Arc<Caller> {
        let version = version.map(|(major, minor)| format!("{major}.{minor}"));
        Arc::new(Caller {
            address: address.ip().to_string().into(),
            user: user.unwrap_or_default().into(),
            version: version.unwrap_or_default().into(),
        })
    }

    /// Returns `true` if the client requests compressed cell blocks.
    pub(crate) fn has_compressor(&self) -> bool {
        self.format.is_some_and(|format| format.compressor.is_some())
    }

    /// Logs that a call of this client cannot be decoded. The client receives an error and the
    /// connection continues. Only the first error of a connection is logged, so that a client
    /// cannot fill the log.
    pub(crate) fn log_protocol_error(&self, what: &impl Display) {
        if !self.protocol_error_logged.swap(true, Relaxed) {
            let fault: String = what.to_string().chars().take(MAX_PROTOCOL_ERROR_CHARS).collect();
            tracing::warn!(
                address = %self.address,
                user = self.user,
                service = self.header.service.name(),
                fault,
                "a call is refused that cannot be understood; others of this connection are not \
                 logged"
            );
        }
    }
}

/// RPC call.
#[derive(Debug)]
pub(crate) struct Call {
    /// Call id of the response.
    pub(crate) id: u32,
    pub(crate) method: Method,
    /// Request as received.
    pub(crate) request: Request,
    /// Bytes that the call holds until it is answered.
    pub(crate) bytes: usize,
    /// Time at which the call was read from the socket.
    pub(crate) received: Instant,
    /// Time that the client waits for the response, in milliseconds; `None` for no limit.
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) peer: Arc<Peer>,
    /// Limits on the decoded sizes of the message and the cell block.
    pub(crate) limits: RpcLimits,
    /// Memory of the decoded message in bytes, once it has been computed.
    pub(crate) message_bytes: OnceLock<usize>,
    /// Bytes held in addition to `bytes`, once the call is decoded and has to wait.
    pub(crate) decoded_bytes: AtomicUsize,
    /// Operations in the call, once they have been computed.
    pub(crate) operations: OnceLock<Operations>,
    /// Region of the scanner that the call continues, once it is found.
    pub(crate) scanned: OnceLock<Arc<RegionInfo>>,
    /// Number of times that the message was decoded.
    #[cfg(test)]
    pub(crate) messages_decoded: AtomicUsize,
}

impl Call {
    /// Decodes the message. Its byte fields share the frame.
    pub(crate) fn message<M: Message + Default>(&self) -> Result<M, CallError> {
        self.request
            .check_decoded_size(self.method, &self.limits)
            .map_err(|fault| self.protocol_error(fault))?;
        self.measured_message()
    }

    /// Decodes a message whose decoded size is already known to be within the limit.
    pub(crate) fn measured_message<M: Message + Default>(&self) -> Result<M, CallError> {
        #[cfg(test)]
        self.messages_decoded.fetch_add(1, Relaxed);
        self.request.message().map_err(|fault| self.protocol_error(fault))
    }

    /// Returns `true` if the message has at most `max_bytes` bytes when decoded, and no more than
    /// the limit of all calls. Also `true`, without a measurement, for a message of at most 4 KiB.
    pub(crate) fn is_decoded_within(&self, max_bytes: usize) -> bool {
        self.request.is_short()
            || self.message_bytes() <= max_bytes.min(self.limits.max_decoded_bytes)
    }

    /// Returns the memory of the decoded message in bytes. It is computed once.
    fn message_bytes(&self) -> usize {
        *self.message_bytes.get_or_init(|| self.request.decoded_size(self.method))
    }

    /// Counts the decoded message, and `bytes` more, in the memory that the call holds while it
    /// waits.
    pub(crate) fn hold_decoded(&self, bytes: usize) {
        self.decoded_bytes.store(self.message_bytes().saturating_add(bytes), Relaxed);
    }

    /// Counts `bytes` of decoded data in the memory that the call holds while it waits. Its message
    /// is not counted, because it has been dropped.
    pub(crate) fn hold_without_message(&self, bytes: usize) {
        self.decoded_bytes.store(bytes, Relaxed);
    }

    /// Returns the cells after the message; none without a cell block.
    pub(crate) fn cells(&self) -> Result<Cells, CallError> {
        self.request
            .cells(self.peer.format, &self.limits)
            .map_err(|fault| self.protocol_error(fault))
    }

    /// Returns the error for a method that the service does not have (HBase's text).
    pub(crate) fn unknown_method(&self) -> CallError {
        let fault = CallError::do_not_retry(format!(
            "java.lang.UnsupportedOperationException: {}",
            self.method.name()
        ));
        self.peer.log_protocol_error(fault.exception());
        fault
    }

    fn protocol_error(&self, fault: PeerFault) -> CallError {
        self.peer.log_protocol_error(&format_args!("{}: {fault}", self.method.name()));
        CallError::from(fault)
    }

    /// Returns the cells as [`Call::cells`] does, if the decoded block has at most `max_bytes`
    /// bytes.
    pub(crate) fn cells_within(&self, max_bytes: usize) -> Result<Cells, CallError> {
        let limits = RpcLimits {
            max_cell_block_bytes: max_bytes.min(self.limits.max_cell_block_bytes),
            ..self.limits
        };
        self.request.cells(self.peer.format, &limits).map_err(CallError::from)
    }

    /// Returns the bytes that the call keeps in memory while it waits.
    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes + self.decoded_bytes.load(Relaxed)
    }

    /// Returns the time at which the client stops waiting.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout_ms
            .and_then(|timeout| self.received.checked_add(Duration::from_millis(timeout.into())))
    }
}

/// Response of a call: a message, and the cells that its results own, in their order.
pub(crate) struct Reply {
    message: Box<dyn ReplyMessage>,
    cells: Option<ReplyCells>,
    /// Network buffers reserved for the reply until its frame is encoded.
    reservation: Option<MemoryReservation>,
}

/// Cells of a reply, owned by it or shared with a scanner.
enum ReplyCells {
    Own(Vec<Cells>),
    Shared(Arc<[Cells]>),
}

impl Reply {
    /// Returns a reply without cells.
    pub(crate) fn new(message: impl Message + 'static) -> Self {
        Self { message: Box::new(message), cells: None, reservation: None }
    }

    /// Returns a reply with the cells of its results. Only for connections with a codec.
    pub(crate) fn with_cells(message: impl Message + 'static, cells: Vec<Cells>) -> Self {
        Self { message: Box::new(message), cells: Some(ReplyCells::Own(cells)), reservation: None }
    }

    /// Returns a reply whose message is shared with another owner, with its cells if they are sent
    /// in a cell block.
    pub(crate) fn shared(
        message: Arc<impl Message + 'static>,
        cells: Option<Arc<[Cells]>>,
    ) -> Self {
        Self {
            message: Box::new(SharedReply(message)),
            cells: cells.map(ReplyCells::Shared),
            reservation: None,
        }
    }

    /// Adds the network buffers that were reserved for the reply.
    pub(crate) fn with_reservation(self, reservation: MemoryReservation) -> Self {
        Self { reservation: Some(reservation), ..self }
    }

    /// Returns the reserved network buffers, if any, and removes them from the reply.
    pub(crate) fn take_reservation(&mut self) -> Option<MemoryReservation> {
        self.reservation.take()
    }

    /// Returns the bytes of its cells.
    pub(crate) fn cell_bytes(&self) -> usize {
        self.cells().unwrap_or_default().iter().map(|cells| cells.bytes().len()).sum()
    }

    fn cells(&self) -> Option<&[Cells]> {
        self.cells.as_ref().map(|cells| match cells {
            ReplyCells::Own(cells) => &cells[..],
            ReplyCells::Shared(cells) => cells,
        })
    }

    /// Encodes the frame of the reply.
    ///
    /// # Errors
    /// If the reply does not fit in a frame.
    pub(crate) fn encode(
        &self,
        call_id: u32,
        format: Option<CellBlockFormat>,
    ) -> StoreResult<BytesMut> {
        let block = match (self.cells(), format) {
            (Some(cells), Some(format)) => {
                Some(format.block(cells)?).filter(|block| !block.is_empty())
            }
            _ => None,
        };
        let mut out = BytesMut::new();
        self.message.encode(call_id, block.as_ref(), &mut out)?;
        Ok(out)
    }
}

/// Message that can be part of a reply.
trait ReplyMessage: Send {
    fn encode(
        &self,
        call_id: u32,
        block: Option<&CellBlock<'_>>,
        out: &mut BytesMut,
    ) -> StoreResult<()>;
}

impl<M: Message> ReplyMessage for M {
    fn encode(
        &self,
        call_id: u32,
        block: Option<&CellBlock<'_>>,
        out: &mut BytesMut,
    ) -> StoreResult<()> {
        halite_wire::rpc::encode_response(call_id, self, block, out)
    }
}

struct SharedReply<M>(Arc<M>);

impl<M: Message> ReplyMessage for SharedReply<M> {
    fn encode(
        &self,
        call_id: u32,
        block: Option<&CellBlock<'_>>,
        out: &mut BytesMut,
    ) -> StoreResult<()> {
        halite_wire::rpc::encode_response(call_id, &*self.0, block, out)
    }
}

/// Reason a call is rejected: an exception with the name of its Java class.
#[derive(Clone, Debug)]
pub(crate) struct CallError(Box<Exception>);

impl CallError {
    /// Returns an error with a human-readable message: subject, location and fix.
    pub(crate) fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        Self(Box::new(Exception::new(kind, message)))
    }

    /// Returns the error for a request that fails on every retry.
    pub(crate) fn do_not_retry(message: impl Into<String>) -> Self {
        Self::new(ExceptionKind::DoNotRetry, message)
    }

    /// Returns the exception with its class, message and flags.
    pub(crate) fn exception(&self) -> &Exception {
        &self.0
    }
}

impl From<Exception> for CallError {
    fn from(exception: Exception) -> Self {
        Self(Box::new(exception))
    }
}

impl From<PeerFault> for CallError {
    fn from(fault: PeerFault) -> Self {
        match fault {
            PeerFault::Close(why) => Self::do_not_retry(why),
            PeerFault::Fatal(exception)
            | PeerFault::Call(_, exception)
            | PeerFault::LastCall(_, exception) => Self::from(exception),
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self(Box::new(Exception::from(&error)))
    }
}

impl From<&Error> for CallError {
    fn from(error: &Error) -> Self {
        Self(Box::new(Exception::from(error)))
    }
}
