//! Calls without sockets, for tests of the services.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::BytesMut;
use halite_types::Cells;
use halite_wire::rpc::{Connection, Limits, Next, RequestOptions, decode_request, encode_request, next_frame};
use halite_wire::service::{self, Service};

use crate::call::{Call, Peer};
use crate::context::Context;
use crate::outside::Instant;

/// A client of this version that has connected to a service.
pub(crate) fn peer(context: &Context, service: Service, version: Option<(u32, u32)>) -> Peer {
    let identity = context.identity(context.addresses.master);
    Peer {
        connection: 1,
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000)),
        user: "tester".to_owned(),
        format: None,
        version,
        scanner_memory: context.scanner_memory.connect(Ipv4Addr::LOCALHOST.into()).expect("any number"),
        account: context.buffers.connect(Ipv4Addr::LOCALHOST.into()).expect("tests open few connections"),
        is_noted: Arc::default(),
        server: Arc::new(identity.region_server_identity()),
        identity,
        header: Connection { service, user: Some("tester".to_owned()), real_user: None, format: None, version },
    }
}

/// A call as it comes from the socket.
pub(crate) fn call<C: service::Call>(peer: &Arc<Peer>, request: &C::Request) -> Call {
    call_with::<C>(peer, request, &[])
}

/// The same with cells behind the message, if its client has named a codec for them.
pub(crate) fn call_with<C: service::Call>(peer: &Arc<Peer>, request: &C::Request, cells: &[Cells]) -> Call {
    let mut out = BytesMut::new();
    let block = peer.format.filter(|_| !cells.is_empty()).map(|format| format.block(cells).unwrap());
    encode_request::<C>(1, request, RequestOptions::default(), block.as_ref(), &mut out).unwrap();
    let Next::Frame(frame) = next_frame(&mut out, &Limits::default()).unwrap() else { panic!("no frame") };
    let request = decode_request(&frame).unwrap();
    Call {
        id: 1,
        method: C::METHOD,
        request,
        bytes: frame.len(),
        received: Instant::now(),
        timeout_ms: None,
        peer: Arc::clone(peer),
        limits: Limits::default(),
        unfolded: std::sync::atomic::AtomicUsize::default(),
        operations: std::sync::OnceLock::new(),
    }
}
