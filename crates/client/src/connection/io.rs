//! The two tasks of a connection: one writes what callers left in the buffer, one reads answers.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use halite_types::Error;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::rpc::{CONNECTION_CALL_ID, Next, decode_response, next_frame};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::{Connection, TRUSTED_BYTES};
use crate::config::not_supported_yet;
use crate::failure::{Cause, Failure};
use crate::net::Reader;

/// A buffer that has grown beyond this is not kept.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// What the first read makes room for.
const READ_BYTES: usize = 64 << 10;
/// How a record of TLS begins where a length was expected: an alert.
const TLS_ALERT: [u8; 2] = [0x15, 0x03];

/// Writes until the connection ends.
pub(super) async fn write(connection: Arc<Connection>) {
    let mut buffer = BytesMut::new();
    loop {
        connection.write.notified().await;
        // Whoever is ready to send a call goes along.
        tokio::task::yield_now().await;
        while take(&connection, &mut buffer) {
            if let Err(error) = write_all(&connection, &buffer).await {
                return connection.end(&Failure::lost(format!("writing failed: {error}")));
            }
            buffer.clear();
            if buffer.capacity() > KEPT_BYTES_MAX {
                buffer = BytesMut::new();
            }
        }
        if !connection.is_open() {
            return;
        }
    }
}

/// Exchanges the empty buffer for that of the connection; false if there is nothing in it or the connection has ended.
fn take(connection: &Connection, buffer: &mut BytesMut) -> bool {
    let mut state = connection.lock();
    if state.ended.is_some() || state.out.is_empty() {
        state.writing = false;
        return false;
    }
    std::mem::swap(&mut state.out, buffer);
    drop(state);
    connection.taken.notify_waiters();
    true
}

async fn write_all(connection: &Connection, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match connection.socket.try_write(bytes) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => tokio::select! {
                biased;
                writable = connection.socket.writable() => writable?,
                () = tokio::time::sleep(connection.write_stall) => return Err(stalled(connection)),
                // While there is something to write only the end of the connection is news.
                () = connection.write.notified() => return Err(std::io::ErrorKind::BrokenPipe.into()),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn stalled(connection: &Connection) -> std::io::Error {
    let text = format!("the server does not read what is sent to it, nothing for {} ms", connection.write_stall.as_millis());
    std::io::Error::new(std::io::ErrorKind::TimedOut, text)
}

/// Reads until the connection ends, and then ends it for everybody.
pub(super) async fn read(connection: Arc<Connection>, mut socket: Reader) {
    let mut buffer = BytesMut::with_capacity(READ_BYTES);
    let why = loop {
        match take_answers(&connection, &mut buffer) {
            Err(failure) => break failure,
            Ok(need) => make_room(&mut buffer, need),
        }
        let read = tokio::select! {
            biased;
            read = socket.read_buf(&mut buffer) => read,
            () = connection.over.notified() => return,
        };
        match read {
            Ok(0) => break closed(&connection),
            Err(error) => break Failure::lost(format!("reading failed: {error}")),
            Ok(_) => connection.lock().heard = Some(Instant::now()),
        }
    };
    connection.end(&why);
}

/// Makes room for what comes next. A buffer takes back the memory of the answers that nobody has any more; that of one which was
/// larger than the usual is not kept.
fn make_room(buffer: &mut BytesMut, need: usize) {
    buffer.reserve(need);
    let wanted = buffer.len() + need;
    if buffer.capacity() > 2 * wanted.max(TRUSTED_BYTES) {
        let mut fresh = BytesMut::with_capacity(wanted);
        fresh.extend_from_slice(buffer);
        *buffer = fresh;
    }
}

/// HBase closes a connection without a word if it cannot make sense of how it began.
fn closed(connection: &Connection) -> Failure {
    Failure::lost(match connection.lock().heard {
        Some(_) => "the server closed the connection",
        None => {
            "the server closed the connection without a word; look whether it is a server of HBase, of the kind that is called, and has the \
             compressor of cell blocks"
        }
    })
}

/// Completes the calls of all whole frames; gives how much room the next read needs.
fn take_answers(connection: &Connection, buffer: &mut BytesMut) -> Result<usize, Failure> {
    loop {
        if buffer.starts_with(&TLS_ALERT) {
            return Err(not_supported_yet("the server answers with TLS; reach the cluster without it").into());
        }
        if buffer.starts_with(b"HTTP/") {
            return Err(Failure::lost("a web server answers; give the port of the calls, such as 16000 or 16020"));
        }
        match next_frame(buffer, &connection.limits)? {
            Next::Frame(frame) => complete(connection, &frame)?,
            Next::Ping => {}
            Next::Need(bytes) => return Ok(bytes),
            Next::TooBig(bytes) => {
                let most = connection.limits.frame_bytes_max;
                return Err(Failure::lost(format!("the server announces an answer of {bytes} bytes, and {most} are allowed (frame_bytes_max)")));
            }
        }
    }
}

fn complete(connection: &Connection, frame: &Bytes) -> Result<(), Failure> {
    let response = decode_response(frame)?;
    if response.call_id == CONNECTION_CALL_ID {
        return Err(match response.answer {
            Ok(_) => Failure::lost("the server answered a question about itself that nobody asked"),
            Err(exception) => of_connection(&exception),
        });
    }
    let answer = match response.answer {
        Err(exception) if exception.kind() == Some(ExceptionKind::FatalConnection) => return Err(of_connection(&exception)),
        answer => answer.map_err(Failure::from),
    };
    let (is_waited_for, waker) = connection.lock().calls.complete(response.call_id, answer);
    if is_waited_for {
        connection.room.add_permits(1);
    }
    if let Some(waker) = waker {
        waker.wake();
    }
    Ok(())
}

/// What an exception about the connection itself means for the calls on it.
fn of_connection(exception: &Exception) -> Failure {
    let is = |kinds: &[ExceptionKind]| exception.kind().is_some_and(|kind| kinds.contains(&kind));
    if is(&[ExceptionKind::AccessDenied, ExceptionKind::BadAuth]) {
        return not_supported_yet(format!("the cluster wants clients to prove who they are, with Kerberos or a token: {exception}")).into();
    }
    if is(&[
        ExceptionKind::WrongVersion,
        ExceptionKind::UnsupportedCellCodec,
        ExceptionKind::UnsupportedCompressionCodec,
        ExceptionKind::UnsupportedCrypto,
    ]) {
        return Cause::Final(Error::from(exception)).into();
    }
    Failure::lost(format!("the server ended the connection: {exception}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_of_a_large_answer_is_not_kept_and_that_of_the_usual_is() {
        for (large, kept) in [(1 << 20, 512 << 10..8 << 20), (64 << 20, READ_BYTES..1 << 20)] {
            let mut buffer = BytesMut::zeroed(large);
            buffer.extend_from_slice(b"next");
            drop(buffer.split_to(large).freeze());
            make_room(&mut buffer, READ_BYTES);
            assert_eq!(&buffer[..], b"next");
            assert!(kept.contains(&buffer.capacity()), "{} after {large}", buffer.capacity());
        }
    }
}
