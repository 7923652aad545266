//! How a connection begins: the preamble, and the header that says who calls which service.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, BytesMut};
use halite_wire::proto as pb;
use halite_wire::rpc::{self, Auth, CONNECTION_CALL_ID, Connection, Fault, Limits, Next, PREAMBLE_BYTES, Preamble};
use halite_wire::service::Service;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::buffers::{Account, FLOOR_BYTES};
use crate::call::Peer;
use crate::context::Context;
use crate::listener::Port;
use crate::outside::Stream;

/// Bytes of a connection header: what any connection may hold without being counted.
const HEADER_BYTES_MAX: usize = FLOOR_BYTES;
/// Bytes of a first SASL message, of which none is kept.
const SASL_BYTES_MAX: usize = 1 << 20;
/// Questions about security that one connection may ask before it begins.
const QUESTIONS_MAX: usize = 16;

/// How the beginning of a connection ended.
pub(crate) enum Begun {
    /// With calls to come; what has been read of them already.
    Calls(Arc<Peer>, BytesMut),
    /// With one answer, and that was all.
    Answered,
}

/// Why a connection did not begin.
pub(crate) enum Refused {
    /// The peer made a mistake; what is to be sent to it stands in the fault.
    Fault(Fault),
    /// The connection is broken or was closed.
    Broken(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Reads preamble and header, and answers what is asked before them.
pub(crate) async fn begin(stream: &mut Stream, port: Port, context: &Context, account: &Arc<Account>) -> Result<Begun, Refused> {
    let mut input = BytesMut::new();
    for _ in 0..QUESTIONS_MAX {
        match Preamble::decode(read_preamble(stream, &mut input).await?)? {
            Preamble::Registry => {
                let mut out = BytesMut::new();
                let answer = pb::GetConnectionRegistryResponse { cluster_id: context.cluster_id.clone() };
                rpc::encode_response(CONNECTION_CALL_ID, &answer, None, &mut out).map_err(io::Error::other)?;
                stream.write_all(&out).await?;
                return Ok(Begun::Answered);
            }
            Preamble::Security => {
                let mut out = BytesMut::new();
                rpc::encode_exception(CONNECTION_CALL_ID, &Preamble::security_not_enabled(), &mut out);
                stream.write_all(&out).await?;
            }
            Preamble::Calls(auth) => {
                if auth != Auth::Simple {
                    stream.write_all(&Auth::SWITCH_TO_SIMPLE).await?;
                    skip_sasl_message(stream, &mut input).await?;
                }
                let header = Connection::decode(read_frame(stream, &mut input).await?)?;
                return Ok(Begun::Calls(Arc::new(peer(stream, port, context, account, header)?), input));
            }
        }
    }
    Err(Fault::Close("it asked about security again and again".to_string()).into())
}

async fn read_preamble(stream: &mut Stream, input: &mut BytesMut) -> io::Result<[u8; PREAMBLE_BYTES]> {
    loop {
        if let Some(preamble) = input.first_chunk::<PREAMBLE_BYTES>() {
            let preamble = *preamble;
            input.advance(PREAMBLE_BYTES);
            return Ok(preamble);
        }
        read_more(stream, input).await?;
    }
}

/// The client has begun with SASL before it learned that there is none here. Its message may be empty.
async fn skip_sasl_message(stream: &mut Stream, input: &mut BytesMut) -> Result<(), Refused> {
    while input.len() < 4 {
        read_more(stream, input).await?;
    }
    let length = usize::try_from(input.get_i32()).ok().filter(|length| *length <= SASL_BYTES_MAX);
    let mut left = length.ok_or_else(|| Fault::Close("the length of its SASL message is wrong".to_string()))?;
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

async fn read_frame(stream: &mut Stream, input: &mut BytesMut) -> Result<bytes::Bytes, Refused> {
    let limits = Limits { frame_bytes_max: HEADER_BYTES_MAX, ..Limits::default() };
    loop {
        match rpc::next_frame(input, &limits)? {
            Next::Frame(frame) => return Ok(frame),
            Next::Ping => {}
            Next::Need(bytes) => {
                input.reserve(bytes);
                read_more(stream, input).await?;
            }
            Next::TooBig(length) => return Err(Fault::Close(format!("its connection header has {length} bytes")).into()),
        }
    }
}

async fn read_more(stream: &mut Stream, input: &mut BytesMut) -> io::Result<()> {
    match stream.read_buf(input).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn peer(stream: &Stream, port: Port, context: &Context, account: &Arc<Account>, header: Connection) -> Result<Peer, Refused> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    if !is_served(port, header.service) {
        return Err(Fault::Close(format!("{} is not served on this port", header.service.name())).into());
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
        server: Arc::new(identity.region_server_identity()),
        identity,
        header,
        account: Arc::clone(account),
        scanner_memory: scanner_memory.ok_or_else(|| io::Error::other("too many connections"))?,
        is_noted: Arc::default(),
    })
}

/// As in HBase: a master answers what a region server answers too.
fn is_served(port: Port, service: Service) -> bool {
    match service {
        Service::Client | Service::Admin | Service::ClientMeta | Service::BootstrapNode => true,
        Service::Master | Service::Hbck | Service::Lock => port == Port::Master,
        _ => false,
    }
}
