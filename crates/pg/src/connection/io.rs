//! Messages of a session in both directions, and what interrupts a statement.
//!
//! A task reads ahead, so that a client that leaves is noticed while a statement runs, also behind
//! messages that wait.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::CancelEntry;
use super::ending::Ending;
use crate::error::{CANCELLED, PROTOCOL_VIOLATION, PgError, Result, STOPPING};
use crate::session::Failure;
use crate::wire::frames::{self, Frame, FrameLimits, Received};
use crate::wire::{Backend, Message};

/// Socket, encrypted or not.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// Messages that are read ahead.
const READ_AHEAD: usize = 8;
/// Bytes that are read at once: a query is several messages of a few bytes each.
const READ_BYTES: usize = 8 << 10;
/// Bytes that are collected before they are sent.
const SEND_BYTES: usize = 32 << 10;

const CANCELLED_TEXT: &str = "the statement was cancelled by its user";

/// The client is gone, or does not take what is sent; nothing more can be said to it.
#[derive(Debug)]
pub(crate) struct Gone;

/// Messages of a session.
pub(crate) struct Channel {
    pub(crate) out: Backend,
    writer: WriteHalf<Box<dyn Socket>>,
    frames: mpsc::Receiver<io::Result<Received>>,
    reader: JoinHandle<()>,
    stall: Duration,
    /// The message that is worked off, with its share of the memory for messages.
    current: Option<Frame>,
    pub(crate) interrupts: Interrupts,
}

/// What ends a statement from outside.
pub(crate) struct Interrupts {
    /// The statement is cancelled.
    pub(crate) cancelled: watch::Receiver<()>,
    /// The session is to end.
    pub(crate) terminated: watch::Receiver<bool>,
    /// The client has left.
    pub(crate) gone: watch::Receiver<bool>,
    /// The server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Channel {
    /// Begins to read.
    pub(super) fn new(
        socket: Box<dyn Socket>,
        ending: Ending,
        limits: FrameLimits,
        entry: &CancelEntry,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let stall = limits.stall;
        let (reader, writer) = tokio::io::split(socket);
        let (sender, frames) = mpsc::channel(READ_AHEAD);
        let (left, gone) = watch::channel(false);
        let reader = tokio::spawn(read_all(reader, limits, ending, sender, left));
        let (cancelled, terminated) = (entry.cancelled.clone(), entry.terminated.clone());
        let interrupts = Interrupts { cancelled, terminated, gone, stopping };
        Self { out: Backend::default(), writer, frames, reader, stall, current: None, interrupts }
    }

    /// Waits for the next message; `None` when the session ends.
    ///
    /// # Errors
    /// A message that is none, or a server that stops; the session ends.
    pub(crate) async fn next(&mut self) -> Result<Option<Message>> {
        self.current = None;
        let received = tokio::select! {
            received = self.frames.recv() => received,
            () = stopped(&mut self.interrupts.stopping) => return Err(stopping()),
            () = stopped(&mut self.interrupts.terminated) => return Err(terminated()),
        };
        match received {
            Some(Ok(Received::TooLarge(kind, bytes))) => {
                Ok(Some(Message::TooLarge { kind, bytes }))
            }
            Some(Ok(Received::NoMemory(kind))) => Ok(Some(Message::NoMemory { kind })),
            Some(Ok(Received::Frame(frame))) => {
                let (kind, body) = (frame.kind, frame.body.clone());
                self.current = Some(frame);
                Message::read(kind, body).map(Some).map_err(|error| {
                    let shown = char::from(kind).escape_default();
                    PgError::fatal(PROTOCOL_VIOLATION, format!("message {shown}: {error}"))
                })
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(PgError::fatal(PROTOCOL_VIOLATION, error.to_string()))
            }
            None | Some(Ok(Received::End) | Err(_)) => Ok(None),
        }
    }

    /// Waits for the next message of COPY, until the statement is cancelled.
    ///
    /// # Errors
    /// As [`Self::next`], and `57014`.
    pub(crate) async fn next_of_copy(&mut self) -> Result<Option<Message>> {
        let mut cancelled = self.interrupts.cancelled.clone();
        tokio::select! {
            biased;
            Ok(()) = cancelled.changed() => {
                self.interrupts.begin();
                Err(PgError::new(CANCELLED, CANCELLED_TEXT))
            }
            next = self.next() => next,
        }
    }

    /// Sends what has been collected.
    ///
    /// # Errors
    /// `Gone`, also for a client that takes nothing for a while.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        let sending = async {
            self.writer.write_all_buf(self.out.buffer()).await?;
            self.writer.flush().await
        };
        match tokio::time::timeout(self.stall, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }

    /// Sends what has been collected, if it is much.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub(crate) async fn flush_if_full(&mut self) -> Result<(), Gone> {
        if self.out.len() < SEND_BYTES { Ok(()) } else { self.flush().await }
    }

    /// Sends rows that have been collected, if they are many. A statement whose client takes none
    /// can be cancelled meanwhile; what has not been sent then waits to be.
    ///
    /// # Errors
    /// As [`Self::flush`] and [`Interrupts::guard`].
    pub(crate) async fn flush_rows(&mut self) -> Result<(), Failure> {
        if self.out.len() < SEND_BYTES {
            return Ok(());
        }
        let sending = async {
            self.writer.write_all_buf(self.out.buffer()).await?;
            self.writer.flush().await
        };
        let sending = async { Ok::<_, PgError>(tokio::time::timeout(self.stall, sending).await) };
        match self.interrupts.guard(sending).await? {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone.into()),
        }
    }

    /// Sends the rest and closes the socket.
    pub(crate) async fn close(mut self) {
        let _ = self.flush().await;
        let _ = tokio::time::timeout(Duration::from_secs(1), self.writer.shutdown()).await;
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Interrupts {
    /// Forgets cancels of earlier statements.
    pub(crate) fn begin(&mut self) {
        self.cancelled.mark_unchanged();
    }

    /// Waits for work, and drops it when the statement is to end.
    ///
    /// # Errors
    /// That of the work; `57014` if it was cancelled, `57P01` if the server stops or the client has
    /// left.
    pub(crate) async fn guard<T, E: Into<PgError>>(
        &mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T> {
        let mut work = pin!(work);
        // Most work does not wait, and waiting for the others would enlist with each of them.
        if !self.has_changed()
            && let Poll::Ready(done) =
                poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await
        {
            return done.map_err(Into::into);
        }
        tokio::select! {
            biased;
            Ok(()) = self.cancelled.changed() => {
                Err(PgError::new(CANCELLED, CANCELLED_TEXT))
            }
            () = stopped(&mut self.stopping) => Err(stopping()),
            () = stopped(&mut self.terminated) => Err(terminated()),
            () = stopped(&mut self.gone) => Err(PgError::fatal(STOPPING, "the client has left")),
            done = work => done.map_err(Into::into),
        }
    }

    /// Returns `true` if any of them came since the last wait for it.
    fn has_changed(&self) -> bool {
        let flags = [&self.stopping, &self.terminated, &self.gone];
        // A channel without a sender has no news.
        self.cancelled.has_changed().unwrap_or(false)
            || flags.into_iter().any(|flag| flag.has_changed().unwrap_or(false))
    }
}

/// Waits until a flag is set. A flag without a sender is never set.
async fn stopped(flag: &mut watch::Receiver<bool>) {
    if flag.wait_for(|is_set| *is_set).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn terminated() -> PgError {
    PgError::fatal(STOPPING, "the session was ended by pg_terminate_backend")
}

fn stopping() -> PgError {
    PgError::fatal(STOPPING, "the server stops; connect again in a moment")
}

async fn read_all(
    reader: ReadHalf<Box<dyn Socket>>,
    limits: FrameLimits,
    ending: Ending,
    sender: mpsc::Sender<io::Result<Received>>,
    left: watch::Sender<bool>,
) {
    let mut reader = BufReader::with_capacity(READ_BYTES, reader);
    loop {
        let received = frames::read(&mut reader, &limits).await;
        let is_end = matches!(received, Ok(Received::End) | Err(_));
        if is_end {
            left.send_replace(true);
        }
        let Some(place) = place(&sender, &ending, &left).await else { return };
        place.send(received);
        if is_end {
            return;
        }
    }
}

/// Waits until another message may be read ahead, and remembers if the client leaves meanwhile.
/// `None` if no one takes messages any more.
async fn place<'s, T>(
    sender: &'s mpsc::Sender<T>,
    ending: &Ending,
    left: &watch::Sender<bool>,
) -> Option<mpsc::Permit<'s, T>> {
    if let Ok(place) = sender.try_reserve() {
        return Some(place);
    }
    let mut place = pin!(sender.reserve());
    tokio::select! {
        place = &mut place => return place.ok(),
        () = ending.has_come() => left.send_replace(true),
    };
    place.await.ok()
}
