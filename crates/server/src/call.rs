//! A call, who makes it, and what can be answered.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::ServerIdentity;
use halite_types::{Cells, Error, Result as StoreResult};
use halite_wire::cellblock::{Block, Format};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::rpc::{Connection, Fault as PeerFault, Limits, Request};
use halite_wire::service::Method;
use prost::Message;

use crate::buffers::{Account, Held};
use crate::identity::Identity;
use crate::operations::Operations;
use crate::outside::Instant;

/// Characters of what a client did wrong that are logged: some of them are its own.
const MISTAKE_CHARS_MAX: usize = 300;

/// Who is at the other end of a connection, as its header said.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The connection's number, unique in this process.
    pub(crate) connection: u64,
    /// The client's address.
    pub(crate) address: SocketAddr,
    /// The user the calls are made for; empty if the client did not say.
    pub(crate) user: String,
    /// What cell blocks look like; `None` if the client wants cells inside messages.
    pub(crate) format: Option<Format>,
    /// Major and minor version of the client; only the Java client says it.
    pub(crate) version: Option<(u32, u32)>,
    /// Everything the header of the connection said.
    pub(crate) header: Connection,
    /// Who this server is to the client.
    pub(crate) identity: Identity,
    /// The same as `hbase:meta` tells it.
    pub(crate) server: Arc<ServerIdentity>,
    /// The connection's network buffers.
    pub(crate) account: Arc<Account>,
    /// The memory of its open scanners.
    pub(crate) scanner_memory: Arc<Account>,
    /// Whether a mistake of this client has been logged.
    pub(crate) is_noted: Arc<AtomicBool>,
}

impl Peer {
    /// Logs that a call of this client cannot be understood. It is told so and the connection goes on, so only the first
    /// of a connection is logged: nobody is to fill the log with them.
    pub(crate) fn note_mistake(&self, what: &impl Display) {
        if !self.is_noted.swap(true, Relaxed) {
            let fault: String = what.to_string().chars().take(MISTAKE_CHARS_MAX).collect();
            tracing::warn!(
                address = %self.address,
                user = self.user,
                service = self.header.service.name(),
                fault,
                "a call is refused that cannot be understood; others of this connection are not logged"
            );
        }
    }
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call {
    /// The id to answer under.
    pub(crate) id: u32,
    pub(crate) method: Method,
    /// The request as it came.
    pub(crate) request: Request,
    /// Bytes that the call holds while it is not answered.
    pub(crate) bytes: usize,
    /// When the call was read from the socket.
    pub(crate) received: Instant,
    /// How long the client waits for the answer, in milliseconds; `None` for ever.
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) peer: Arc<Peer>,
    /// What its message and its cell block may unfold to.
    pub(crate) limits: Limits,
    /// Bytes that it holds beside those, once it has been unfolded and has to wait.
    pub(crate) unfolded: AtomicUsize,
    /// The operations in it, once somebody has looked.
    pub(crate) operations: OnceLock<Operations>,
}

impl Call {
    /// The message, decoded; its byte fields share the frame.
    pub(crate) fn message<M: Message + Default>(&self) -> Result<M, Fault> {
        self.request.check_unfolded(self.method, &self.limits).map_err(|fault| self.mistake(fault))?;
        self.measured_message()
    }

    /// The same of a message of which it is known that it unfolds to no more than it may.
    pub(crate) fn measured_message<M: Message + Default>(&self) -> Result<M, Fault> {
        self.request.message().map_err(|fault| self.mistake(fault))
    }

    /// The cells behind the message; none if there is no cell block.
    pub(crate) fn cells(&self) -> Result<Cells, Fault> {
        self.request.cells(self.peer.format, &self.limits).map_err(|fault| self.mistake(fault))
    }

    /// The service has no such method here (HBase's text).
    pub(crate) fn unknown_method(&self) -> Fault {
        let fault = Fault::do_not_retry(format!("java.lang.UnsupportedOperationException: {}", self.method.name()));
        self.peer.note_mistake(fault.exception());
        fault
    }

    fn mistake(&self, fault: PeerFault) -> Fault {
        self.peer.note_mistake(&format_args!("{}: {fault}", self.method.name()));
        Fault::from(fault)
    }

    /// The same of a block that unfolds to no more than this.
    pub(crate) fn cells_within(&self, bytes_max: usize) -> Result<Cells, Fault> {
        let limits = Limits { cell_block_bytes_max: bytes_max.min(self.limits.cell_block_bytes_max), ..self.limits };
        self.request.cells(self.peer.format, &limits).map_err(Fault::from)
    }

    /// Bytes that the call keeps in memory while it waits.
    pub(crate) fn bytes_held(&self) -> usize {
        self.bytes + self.unfolded.load(Relaxed)
    }

    /// When the client stops waiting.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout_ms.and_then(|timeout| self.received.checked_add(Duration::from_millis(timeout.into())))
    }
}

/// What is answered: a message, and the cells that its results own, in their order.
pub(crate) struct Reply {
    message: Box<dyn ReplyMessage>,
    cells: Option<ReplyCells>,
    /// Network buffers held for it until its frame is made.
    held: Option<Held>,
}

/// Cells of an answer, its own or kept by a scanner too.
enum ReplyCells {
    Own(Vec<Cells>),
    Shared(Arc<[Cells]>),
}

impl Reply {
    /// A message without cells.
    pub(crate) fn new(message: impl Message + 'static) -> Self {
        Self { message: Box::new(message), cells: None, held: None }
    }

    /// A message with the cells of its results. Only for connections that named a codec.
    pub(crate) fn with_cells(message: impl Message + 'static, cells: Vec<Cells>) -> Self {
        Self { message: Box::new(message), cells: Some(ReplyCells::Own(cells)), held: None }
    }

    /// A message that somebody else keeps too, with its cells if they go into a cell block.
    pub(crate) fn shared(message: Arc<impl Message + 'static>, cells: Option<Arc<[Cells]>>) -> Self {
        Self { message: Box::new(Shared(message)), cells: cells.map(ReplyCells::Shared), held: None }
    }

    /// The same with the network buffers that were reserved for it.
    pub(crate) fn holding(self, held: Held) -> Self {
        Self { held: Some(held), ..self }
    }

    /// Returns those buffers.
    pub(crate) fn take_held(&mut self) -> Option<Held> {
        self.held.take()
    }

    /// Bytes of its cells.
    pub(crate) fn cell_bytes(&self) -> usize {
        self.cells().unwrap_or_default().iter().map(|cells| cells.bytes().len()).sum()
    }

    fn cells(&self) -> Option<&[Cells]> {
        self.cells.as_ref().map(|cells| match cells {
            ReplyCells::Own(cells) => &cells[..],
            ReplyCells::Shared(cells) => cells,
        })
    }

    /// The frame of this answer.
    ///
    /// # Errors
    /// If it does not fit a frame.
    pub(crate) fn encode(&self, call_id: u32, format: Option<Format>) -> StoreResult<BytesMut> {
        let block = match (self.cells(), format) {
            (Some(cells), Some(format)) => Some(format.block(cells)?).filter(|block| !block.is_empty()),
            _ => None,
        };
        let mut out = BytesMut::new();
        self.message.encode(call_id, block.as_ref(), &mut out)?;
        Ok(out)
    }
}

/// Any message that can stand in an answer.
trait ReplyMessage: Send {
    fn encode(&self, call_id: u32, block: Option<&Block<'_>>, out: &mut BytesMut) -> StoreResult<()>;
}

impl<M: Message> ReplyMessage for M {
    fn encode(&self, call_id: u32, block: Option<&Block<'_>>, out: &mut BytesMut) -> StoreResult<()> {
        halite_wire::rpc::encode_response(call_id, self, block, out)
    }
}

struct Shared<M>(Arc<M>);

impl<M: Message> ReplyMessage for Shared<M> {
    fn encode(&self, call_id: u32, block: Option<&Block<'_>>, out: &mut BytesMut) -> StoreResult<()> {
        halite_wire::rpc::encode_response(call_id, &*self.0, block, out)
    }
}

/// Why a call is refused: an exception with the name of its Java class.
#[derive(Clone, Debug)]
pub(crate) struct Fault(Box<Exception>);

impl Fault {
    /// A fault with a text for people: what, where and the mend.
    pub(crate) fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        Self(Box::new(Exception::new(kind, message)))
    }

    /// A request that will never be served as it is.
    pub(crate) fn do_not_retry(message: impl Into<String>) -> Self {
        Self::new(ExceptionKind::DoNotRetry, message)
    }

    /// The exception with its class, message and flags.
    pub(crate) fn exception(&self) -> &Exception {
        &self.0
    }
}

impl From<Exception> for Fault {
    fn from(exception: Exception) -> Self {
        Self(Box::new(exception))
    }
}

impl From<PeerFault> for Fault {
    fn from(fault: PeerFault) -> Self {
        match fault {
            PeerFault::Close(why) => Self::do_not_retry(why),
            PeerFault::Fatal(exception) | PeerFault::Call(_, exception) | PeerFault::LastCall(_, exception) => Self::from(exception),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self(Box::new(Exception::from(&error)))
    }
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Self(Box::new(Exception::from(error)))
    }
}
