//! A simulated region server: takes connections, serves each call when chance wants it, answers as its mood is.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use halite_types::Bytes;
use halite_wire::rpc::{Connection, Request, decode_request, encode_exception};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use turmoil::net::tcp::OwnedWriteHalf;
use turmoil::net::{TcpListener, TcpStream};

use super::calls;
use super::cluster::{Incarnation, Mood, PORT, Shared};
use super::scans::Scanners;
use super::speak::frame;

/// One process: what its connections share.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) cluster: Shared,
    pub(super) who: Incarnation,
    pub(super) scanners: Rc<RefCell<Scanners>>,
}

/// What goes to the writer of a connection.
enum Out {
    Whole(Bytes),
    /// The first half of it, and the end of the connection.
    Half(Bytes),
}

/// The life of a process.
pub(super) async fn run(cluster: Shared, server: usize) -> turmoil::Result {
    let who = cluster.borrow_mut().boot(server);
    let process = Process { cluster, who, scanners: Rc::default() };
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
    let connection = Connection::decode(frame(&mut reader, &mut buffer).await?).ok()?;
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

async fn call(process: Process, connection: Connection, request: Request, out: UnboundedSender<Out>) {
    let mood = process.mood();
    sleep(mood).await;
    if mood.is_mute && fastrand::bool() {
        return;
    }
    let mut answer = BytesMut::new();
    if let Err(exception) = calls::answer(&process, connection.service, &request, &mut answer) {
        encode_exception(request.call_id, &exception, &mut answer);
    }
    sleep(mood).await;
    if mood.is_mute || process.mood().is_mute {
        return;
    }
    let frame = answer.freeze();
    let is_half = process.take_half();
    // Nobody reads what a connection that has ended would have answered.
    let _ = out.send(if is_half { Out::Half(frame) } else { Out::Whole(frame) });
}

async fn sleep(mood: Mood) {
    let most = if mood.is_slow { 400 } else { 12 };
    tokio::time::sleep(Duration::from_millis(fastrand::u64(..most))).await;
}

async fn write(mut socket: OwnedWriteHalf, mut answers: UnboundedReceiver<Out>) -> Option<()> {
    loop {
        match answers.recv().await? {
            Out::Half(frame) => {
                let half = frame.len() / 2;
                return socket.write_all(&frame[..half]).await.ok();
            }
            Out::Whole(frame) => {
                let cut = if fastrand::u8(..6) == 0 { fastrand::usize(..frame.len()) } else { 0 };
                socket.write_all(&frame[..cut]).await.ok()?;
                socket.write_all(&frame[cut..]).await.ok()?;
            }
        }
    }
}

impl Process {
    pub(super) fn mood(&self) -> Mood {
        self.cluster.borrow().nodes[self.who.server].mood
    }

    fn take_half(&self) -> bool {
        let mood = &mut self.cluster.borrow_mut().nodes[self.who.server].mood;
        let is_half = mood.halves > 0;
        mood.halves = mood.halves.saturating_sub(1);
        is_half
    }
}
