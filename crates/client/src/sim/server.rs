//! Simulated region server: accepts connections, executes each call after a random delay, and
//! answers according to its behavior.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use halite_types::Bytes;
use halite_wire::rpc::{ConnectionInfo, Request, decode_request, encode_exception};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use turmoil::net::tcp::OwnedWriteHalf;
use turmoil::net::{TcpListener, TcpStream};

use super::calls;
use super::cluster::{Incarnation, PORT, ServerBehavior, SharedCluster};
use super::rpc::frame;
use super::scans::Scanners;

/// One process: the state shared by its connections.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) cluster: SharedCluster,
    pub(super) incarnation: Incarnation,
    pub(super) scanners: Rc<RefCell<Scanners>>,
}

/// Frame for the writer of a connection.
enum ResponseFrame {
    Whole(Bytes),
    /// First half of a frame, followed by the end of the connection.
    Half(Bytes),
}

/// Runs a process.
pub(super) async fn run(cluster: SharedCluster, server: usize) -> turmoil::Result {
    let who = cluster.borrow_mut().boot(server);
    let process = Process { cluster, incarnation: who, scanners: Rc::default() };
    let listener = TcpListener::bind((std::net::Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::task::spawn_local(serve(process.clone(), socket));
    }
}

async fn serve(process: Process, socket: TcpStream) -> Option<()> {
    let (mut reader, writer) = socket.into_split();
    let mut preamble = [0; 6];
    reader.read_exact(&mut preamble).await.ok()?;
    let mut buffer = BytesMut::new();
    let connection = ConnectionInfo::decode(frame(&mut reader, &mut buffer).await?).ok()?;
    let (out, answers) = unbounded_channel();
    let mut writing = tokio::task::spawn_local(write(writer, answers));
    loop {
        let frame = tokio::select! {
            biased;
            _ = &mut writing => return None,
            frame = frame(&mut reader, &mut buffer) => frame?,
        };
        let request = decode_request(&frame).ok()?;
        tokio::task::spawn_local(call(process.clone(), connection.clone(), request, out.clone()));
    }
}

async fn call(
    process: Process,
    connection: ConnectionInfo,
    request: Request,
    out: UnboundedSender<ResponseFrame>,
) {
    let mood = process.behavior();
    sleep(mood).await;
    if mood.is_mute && fastrand::bool() {
        return;
    }
    let mut answer = BytesMut::new();
    if let Err(exception) = calls::respond(&process, connection.service, &request, &mut answer) {
        encode_exception(request.call_id, &exception, &mut answer);
    }
    sleep(mood).await;
    if mood.is_mute || process.behavior().is_mute {
        return;
    }
    let frame = answer.freeze();
    let is_half = process.take_half();
    // The reply is dropped if the connection has ended.
    let _ =
        out.send(if is_half { ResponseFrame::Half(frame) } else { ResponseFrame::Whole(frame) });
}

async fn sleep(mood: ServerBehavior) {
    let most = if mood.is_slow { 400 } else { 12 };
    tokio::time::sleep(Duration::from_millis(fastrand::u64(..most))).await;
}

async fn write(
    mut socket: OwnedWriteHalf,
    mut answers: UnboundedReceiver<ResponseFrame>,
) -> Option<()> {
    loop {
        match answers.recv().await? {
            ResponseFrame::Half(frame) => {
                let half = frame.len() / 2;
                return socket.write_all(&frame[..half]).await.ok();
            }
            ResponseFrame::Whole(frame) => {
                let cut = if fastrand::u8(..6) == 0 { fastrand::usize(..frame.len()) } else { 0 };
                socket.write_all(&frame[..cut]).await.ok()?;
                socket.write_all(&frame[cut..]).await.ok()?;
            }
        }
    }
}

impl Process {
    pub(super) fn behavior(&self) -> ServerBehavior {
        self.cluster.borrow().nodes[self.incarnation.server].behavior
    }

    fn take_half(&self) -> bool {
        let mood = &mut self.cluster.borrow_mut().nodes[self.incarnation.server].behavior;
        let is_half = mood.halves > 0;
        mood.halves = mood.halves.saturating_sub(1);
        is_half
    }
}
