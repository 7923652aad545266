//! What reads bytes of strangers before anyone has logged in, for the fuzzer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::wire::Message;
use crate::wire::frames::{self, FrameLimits, Received};
use crate::wire::frontend::Startup;

/// Bytes of a message, few enough that the fuzzer comes beyond them.
const MAX_MESSAGE_BYTES: usize = 4096;
/// Time that nothing takes, since all bytes are there.
const SOON: Duration = Duration::from_secs(1);

/// Reads bytes as the first message of a connection.
pub fn read_startup(mut bytes: &[u8]) {
    run(async {
        while let Ok(Some(body)) = frames::read_startup(&mut bytes).await {
            // An error is an answer as well; only a panic is none.
            let _ = Startup::read(body);
        }
    });
}

/// Reads bytes as the messages of a session, up to the first that is none.
pub fn read_messages(mut bytes: &[u8]) {
    let limits = FrameLimits {
        max_bytes: MAX_MESSAGE_BYTES,
        stall: SOON,
        memory_wait: SOON,
        budget: Arc::new(Semaphore::new(MAX_MESSAGE_BYTES)),
    };
    run(async {
        loop {
            match frames::read(&mut bytes, &limits).await {
                Ok(Received::Frame(frame)) => {
                    if Message::read(frame.kind, frame.body).is_err() {
                        return;
                    }
                }
                Ok(Received::TooLarge(_, length)) => assert!(length > MAX_MESSAGE_BYTES),
                Ok(Received::NoMemory(kind)) => unreachable!("message {kind} has memory"),
                Ok(Received::End) | Err(_) => return,
            }
        }
    });
}

fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime without threads").block_on(work);
}
