//! Calls without sockets, for tests of the services.

pub(crate) mod test_server;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::BytesMut;
use halite_types::Cells;
use halite_wire::rpc::{
    ConnectionInfo, FrameStatus, RequestOptions, RpcLimits, decode_request, encode_request,
    next_frame,
};
use halite_wire::service::{self, Service};

use crate::base::call::{Call, Peer};
use crate::base::context::Context;
use crate::outside::Instant;

/// Returns a client of this version, connected to a service.
pub(crate) fn peer(context: &Context, service: Service, version: Option<(u32, u32)>) -> Peer {
    let identity = context.identity(context.addresses.master);
    Peer {
        connection: 1,
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000)),
        user: "tester".to_owned(),
        format: None,
        version,
        caller: Peer::caller_of((Ipv4Addr::LOCALHOST, 40_000).into(), Some("tester"), version),
        scanner_memory: context
            .scanner_memory
            .connect(Ipv4Addr::LOCALHOST.into())
            .expect("any number"),
        account: context
            .buffers
            .connect(Ipv4Addr::LOCALHOST.into())
            .expect("tests open few connections"),
        protocol_error_logged: Arc::default(),
        server: Arc::new(identity.region_server_name()),
        identity,
        header: ConnectionInfo {
            service,
            user: Some("tester".to_owned()),
            real_user: None,
            format: None,
            version,
        },
    }
}

/// Returns a call as read from the socket.
pub(crate) fn call<C: service::RpcMethod>(peer: &Arc<Peer>, request: &C::Request) -> Call {
    call_with::<C>(peer, request, &[])
}

/// Returns a call with cells after the message, if its client has named a codec for them.
pub(crate) fn call_with<C: service::RpcMethod>(
    peer: &Arc<Peer>,
    request: &C::Request,
    cells: &[Cells],
) -> Call {
    let mut out = BytesMut::new();
    let block =
        peer.format.filter(|_| !cells.is_empty()).map(|format| format.block(cells).unwrap());
    encode_request::<C>(1, request, RequestOptions::default(), block.as_ref(), &mut out).unwrap();
    let FrameStatus::Frame(frame) = next_frame(&mut out, &RpcLimits::default()).unwrap() else {
        panic!("no frame")
    };
    let request = decode_request(&frame).unwrap();
    Call {
        id: 1,
        method: C::METHOD,
        request,
        bytes: frame.len(),
        received: Instant::now(),
        timeout_ms: None,
        peer: Arc::clone(peer),
        limits: RpcLimits::default(),
        message_bytes: std::sync::OnceLock::new(),
        decoded_bytes: std::sync::atomic::AtomicUsize::default(),
        operations: std::sync::OnceLock::new(),
        scanned: std::sync::OnceLock::new(),
        messages_decoded: std::sync::atomic::AtomicUsize::default(),
    }
}
