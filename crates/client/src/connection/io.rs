//! The two tasks of a connection: one writes the buffer that callers fill, one reads responses.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use halite_types::{Error, ErrorKind};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::rpc::{
    CONNECTION_CALL_ID, FrameStatus, ResponseBody, decode_response, next_frame, response_call_id,
};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::{Connection, TRUSTED_BYTES};
use crate::config::not_supported_yet;
use crate::error::{RpcError, RpcErrorKind};
use crate::net::Reader;

/// Buffers larger than this are not retained.
const MAX_RETAINED_BYTES: usize = 1 << 20;
/// Initial capacity of the read buffer.
const READ_BYTES: usize = 64 << 10;
/// Bytes of a frame after which the call that it answers is known.
const MAX_CALL_ID_BYTES: usize = 20;
/// First bytes of a TLS alert record, found instead of a length.
const TLS_ALERT: [u8; 2] = [0x15, 0x03];

/// Writes until the connection ends.
pub(super) async fn write(connection: Arc<Connection>) {
    let mut buffer = BytesMut::new();
    loop {
        connection.write.notified().await;
        // Callers that are ready to send can add their calls.
        tokio::task::yield_now().await;
        while take(&connection, &mut buffer) {
            if let Err(error) = write_all(&connection, &buffer).await {
                return connection.end(&RpcError::lost(format!("writing failed: {error}")));
            }
            buffer.clear();
            if buffer.capacity() > MAX_RETAINED_BYTES {
                buffer = BytesMut::new();
            }
        }
        if !connection.is_open() {
            return;
        }
    }
}

/// Swaps the empty buffer with that of the connection. Returns `false` if that one is empty or the
/// connection has ended.
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
                () = tokio::time::sleep(connection.send_timeout) => return Err(stalled(connection)),
                // While data is being written, only the end of the connection matters.
                () = connection.write.notified() => return Err(std::io::ErrorKind::BrokenPipe.into()),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn stalled(connection: &Connection) -> std::io::Error {
    let text = format!(
        "the server does not read what is sent to it, nothing for {} ms",
        connection.send_timeout.as_millis()
    );
    std::io::Error::new(std::io::ErrorKind::TimedOut, text)
}

/// Reads until the connection ends, and then fails all pending calls.
pub(super) async fn read(connection: Arc<Connection>, mut socket: Reader) {
    let mut buffer = BytesMut::with_capacity(READ_BYTES);
    let why = loop {
        match take_responses(&connection, &mut buffer) {
            Err(failure) => break failure,
            Ok(need) => make_room(&mut buffer, need),
        }
        let read = tokio::select! {
            biased;
            read = socket.read_buf(&mut buffer) => read,
            () = connection.closed.notified() => return,
        };
        match read {
            Ok(0) => break closed(&connection, &mut buffer),
            Err(error) => break RpcError::lost(format!("reading failed: {error}")),
            Ok(_) => connection.lock().last_received = Some(Instant::now()),
        }
    };
    connection.end(&why);
}

/// Reserves room for the next read. The buffer reuses the memory of dropped responses. A much
/// larger buffer than needed is replaced.
fn make_room(buffer: &mut BytesMut, need: usize) {
    buffer.reserve(need);
    let needed_bytes = buffer.len() + need;
    if buffer.capacity() > 2 * needed_bytes.max(TRUSTED_BYTES) {
        let mut fresh = BytesMut::with_capacity(needed_bytes);
        fresh.extend_from_slice(buffer);
        *buffer = fresh;
    }
}

/// Returns the error for a closed connection. HBase closes one silently if its start is invalid.
fn closed(connection: &Connection, buffer: &mut BytesMut) -> RpcError {
    // An answer that is too large, and ends before the call that it is for.
    if let Ok(FrameStatus::TooBig(bytes)) = next_frame(buffer, &connection.limits) {
        return RpcError::lost(too_large(connection, bytes));
    }
    RpcError::lost(match connection.lock().last_received {
        Some(_) => "the server closed the connection",
        None => {
            "the server closed the connection without a word; look whether it is a server of \
             HBase, of the kind that is called, and has the compressor of cell blocks"
        }
    })
}

/// Completes the calls of all whole frames. Returns the room that the next read needs.
fn take_responses(connection: &Connection, buffer: &mut BytesMut) -> Result<usize, RpcError> {
    loop {
        if buffer.starts_with(&TLS_ALERT) {
            return Err(not_supported_yet(
                "the server answers with TLS; reach the cluster without it",
            )
            .into());
        }
        if buffer.starts_with(b"HTTP/") {
            return Err(RpcError::lost(
                "a web server answers; give the port of the calls, such as 16000 or 16020",
            ));
        }
        match next_frame(buffer, &connection.limits)? {
            FrameStatus::Frame(frame) => complete(connection, &frame)?,
            FrameStatus::Ping => {}
            FrameStatus::Need(bytes) => return Ok(bytes),
            FrameStatus::TooBig(bytes) => {
                let call = response_call_id(buffer);
                if call.is_none() && buffer.len() < MAX_CALL_ID_BYTES {
                    return Ok(READ_BYTES);
                }
                return refuse_answer(connection, call, bytes);
            }
        }
    }
}

/// Ends a connection whose next answer is too large. The call of that answer would get it again, so
/// it fails for good; the other calls are repeated.
fn refuse_answer(
    connection: &Connection,
    call: Option<u32>,
    bytes: usize,
) -> Result<usize, RpcError> {
    let text = too_large(connection, bytes);
    if let Some(call) = call {
        let error = Error::new(ErrorKind::InvalidRequest, text.clone());
        hand_over(connection, call, Err(RpcErrorKind::Final(error).into()));
    }
    Err(RpcError::lost(text))
}

fn too_large(connection: &Connection, bytes: usize) -> String {
    let most = connection.limits.max_frame_bytes;
    format!(
        "the server announces an answer of {bytes} bytes, and {most} are allowed; ask for less in \
         one call, or raise max_frame_bytes"
    )
}

fn complete(connection: &Connection, frame: &Bytes) -> Result<(), RpcError> {
    let response = decode_response(frame)?;
    if response.call_id == CONNECTION_CALL_ID {
        return Err(match response.result {
            Ok(_) => RpcError::lost("the server answered a call that was never made"),
            Err(exception) => connection_error(&exception),
        });
    }
    let answer = match response.result {
        Err(exception) if exception.kind() == Some(ExceptionKind::FatalConnection) => {
            return Err(connection_error(&exception));
        }
        answer => answer.map_err(RpcError::from),
    };
    hand_over(connection, response.call_id, answer);
    Ok(())
}

/// Gives an answer to the call that waits for it.
fn hand_over(connection: &Connection, call: u32, answer: Result<ResponseBody, RpcError>) {
    let (is_waited_for, waker) = connection.lock().calls.complete(call, answer);
    if is_waited_for {
        connection.call_permits.add_permits(1);
    }
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Returns the error that an exception about the connection itself causes for its calls.
fn connection_error(exception: &Exception) -> RpcError {
    let is = |kinds: &[ExceptionKind]| exception.kind().is_some_and(|kind| kinds.contains(&kind));
    if is(&[ExceptionKind::AccessDenied, ExceptionKind::BadAuth]) {
        return not_supported_yet(format!(
            "the cluster wants clients to prove who they are, with Kerberos or a token: {exception}"
        ))
        .into();
    }
    if is(&[
        ExceptionKind::WrongVersion,
        ExceptionKind::UnsupportedCellCodec,
        ExceptionKind::UnsupportedCompressionCodec,
        ExceptionKind::UnsupportedCrypto,
    ]) {
        return RpcErrorKind::Final(Error::from(exception)).into();
    }
    RpcError::lost(format!("the server ended the connection: {exception}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_buffer_is_retained_unless_oversized() {
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
