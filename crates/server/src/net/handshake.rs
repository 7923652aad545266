//! Connection handshake: the preamble, and the header that specifies the user and the service.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, BytesMut};
use halite_wire::proto as pb;
use halite_wire::rpc::{
    self, Auth, CONNECTION_CALL_ID, ConnectionInfo, FrameStatus, PREAMBLE_BYTES, Preamble,
    ProtocolError, RpcLimits,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::port::Port;
use crate::base::buffers::{Account, FLOOR_BYTES};
use crate::base::call::Peer;
use crate::base::context::Context;
use crate::outside::Stream;

/// Maximum bytes of a connection header: the uncounted bytes of each connection.
const MAX_HEADER_BYTES: usize = FLOOR_BYTES;
/// Maximum bytes of a first SASL message, all of which are skipped.
const MAX_SASL_BYTES: usize = 1 << 20;
/// Maximum security queries of one connection before its header.
const MAX_SECURITY_QUERIES: usize = 16;

/// Result of a handshake.
pub(crate) enum HandshakeResult {
    /// Calls follow; the bytes of them already read.
    Calls(Arc<Peer>, BytesMut),
    /// One response was sent, and no call follows.
    Answered,
}

/// Reason a handshake failed.
pub(crate) enum HandshakeError {
    /// The peer violated the protocol; the error contains the response to send.
    Protocol(ProtocolError),
    /// The connection is broken or was closed.
    Io(io::Error),
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ProtocolError> for HandshakeError {
    fn from(fault: ProtocolError) -> Self {
        Self::Protocol(fault)
    }
}

/// Reads the preamble and the header, and answers the queries before them.
pub(crate) async fn begin(
    stream: &mut Stream,
    port: Port,
    context: &Context,
    account: &Arc<Account>,
) -> Result<HandshakeResult, HandshakeError> {
    let mut input = BytesMut::new();
    for _ in 0..MAX_SECURITY_QUERIES {
        match Preamble::decode(read_preamble(stream, &mut input).await?)? {
            Preamble::Registry => {
                let mut out = BytesMut::new();
                let answer =
                    pb::GetConnectionRegistryResponse { cluster_id: context.cluster_id.clone() };
                rpc::encode_response(CONNECTION_CALL_ID, &answer, None, &mut out)
                    .map_err(io::Error::other)?;
                stream.write_all(&out).await?;
                return Ok(HandshakeResult::Answered);
            }
            Preamble::Security => {
                let mut out = BytesMut::new();
                rpc::encode_exception(
                    CONNECTION_CALL_ID,
                    &Preamble::security_not_enabled(),
                    &mut out,
                );
                stream.write_all(&out).await?;
            }
            Preamble::Calls(auth) => {
                if auth != Auth::Simple {
                    stream.write_all(&Auth::SWITCH_TO_SIMPLE).await?;
                    skip_sasl_message(stream, &mut input).await?;
                }
                let header = ConnectionInfo::decode(read_frame(stream, &mut input).await?)?;
                return Ok(HandshakeResult::Calls(
                    Arc::new(peer(stream, port, context, account, header)?),
                    input,
                ));
            }
        }
    }
    Err(ProtocolError::Close("it asked about security again and again".to_string()).into())
}

async fn read_preamble(
    stream: &mut Stream,
    input: &mut BytesMut,
) -> io::Result<[u8; PREAMBLE_BYTES]> {
    loop {
        if let Some(preamble) = input.first_chunk::<PREAMBLE_BYTES>() {
            let preamble = *preamble;
            input.advance(PREAMBLE_BYTES);
            return Ok(preamble);
        }
        read_more(stream, input).await?;
    }
}

/// Skips the first SASL message of a client that started SASL before it learned that the server
/// does not use it. The message may be empty.
async fn skip_sasl_message(
    stream: &mut Stream,
    input: &mut BytesMut,
) -> Result<(), HandshakeError> {
    while input.len() < 4 {
        read_more(stream, input).await?;
    }
    let length = usize::try_from(input.get_i32()).ok().filter(|length| *length <= MAX_SASL_BYTES);
    let mut left = length.ok_or_else(|| {
        ProtocolError::Close("the length of its SASL message is wrong".to_string())
    })?;
    loop {
        let there = left.min(input.len());
        input.advance(there);
        left -= there;
        if left == 0 {
            return Ok(());
        }
        read_more(stream, input).await?;
    }
}

async fn read_frame(
    stream: &mut Stream,
    input: &mut BytesMut,
) -> Result<bytes::Bytes, HandshakeError> {
    let limits = RpcLimits { max_frame_bytes: MAX_HEADER_BYTES, ..RpcLimits::default() };
    loop {
        match rpc::next_frame(input, &limits)? {
            FrameStatus::Frame(frame) => return Ok(frame),
            FrameStatus::Ping => {}
            FrameStatus::Need(bytes) => {
                input.reserve(bytes);
                read_more(stream, input).await?;
            }
            FrameStatus::TooBig(length) => {
                return Err(ProtocolError::Close(format!(
                    "its connection header has {length} bytes"
                ))
                .into());
            }
        }
    }
}

async fn read_more(stream: &mut Stream, input: &mut BytesMut) -> io::Result<()> {
    match stream.read_buf(input).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn peer(
    stream: &Stream,
    port: Port,
    context: &Context,
    account: &Arc<Account>,
    header: ConnectionInfo,
) -> Result<Peer, HandshakeError> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    if !port.serves(header.service) {
        return Err(ProtocolError::Close(format!(
            "{} is not served on this port",
            header.service.name()
        ))
        .into());
    }
    let local = stream.local_addr()?;
    let identity = context.identity(local);
    let address = stream.peer_addr()?;
    let scanner_memory = context.scanner_memory.connect(address.ip());
    Ok(Peer {
        connection: NUMBER.fetch_add(1, Ordering::Relaxed),
        address,
        user: header.user.clone().unwrap_or_default(),
        format: header.format,
        version: header.version,
        caller: Peer::caller_of(address, header.user.as_deref(), header.version),
        server: Arc::new(identity.region_server_name()),
        identity,
        header,
        account: Arc::clone(account),
        scanner_memory: scanner_memory.ok_or_else(|| io::Error::other("too many connections"))?,
        protocol_error_logged: Arc::default(),
    })
}
