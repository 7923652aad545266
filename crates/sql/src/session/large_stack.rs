//! Threads with a large stack: plans are walked, cloned and dropped by recursion.

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use crate::error::{Result, SqlError, SqlState};

/// Bytes of the stack on which statements are planned, and of those of a runtime that executes any
/// statement. The system gives those that are used.
pub const STACK_BYTES: usize = 64 << 20;
/// Statements that are planned at once. One that is cancelled counts until its thread ends.
const MAX_THREADS: usize = 32;

static THREADS: Semaphore = Semaphore::const_new(MAX_THREADS);

/// Runs work on a thread with a large stack, once there are less than 32 of them. Waiting for it
/// may end at any time, the work continues.
///
/// # Errors
/// `Internal` if there is no thread, or the work panicked.
pub(crate) async fn on_large_stack<T: Send + 'static>(
    work: impl FnOnce(Handle) -> T + Send + 'static,
) -> Result<T> {
    on_thread_of(&THREADS, work).await
}

async fn on_thread_of<T: Send + 'static>(
    threads: &'static Semaphore,
    work: impl FnOnce(Handle) -> T + Send + 'static,
) -> Result<T> {
    let internal = |text: &str| SqlError::new(SqlState::Internal, text);
    let handle = Handle::try_current()
        .map_err(|_| internal("statements are planned within a tokio runtime; enter one first"))?;
    let permit = threads.acquire().await;
    let permit = permit.map_err(|_| internal("statements are no longer planned"))?;
    let (sender, result) = oneshot::channel();
    std::thread::Builder::new()
        .name("halite-sql-plan".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // The reader may have gone.
            let _ = sender.send(work(handle));
            drop(permit);
        })
        .map_err(|error| internal(&format!("no thread to plan the statement: {error}")))?;
    result.await.map_err(|_| internal("planning the statement failed; please report it"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::FutureExt as _;

    use super::*;

    static TWO: Semaphore = Semaphore::const_new(2);

    #[test]
    fn threads_count_until_their_work_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut ends = Vec::new();
            for _ in 0..2 {
                let (end, ended) = mpsc::channel::<()>();
                let planned = on_thread_of(&TWO, move |_| ended.recv());
                // It begins, and its reader leaves.
                assert!(planned.now_or_never().is_none());
                ends.push(end);
            }
            assert_eq!(TWO.available_permits(), 0);
            let mut third = Box::pin(on_thread_of(&TWO, |_| 3));
            assert!((&mut third).now_or_never().is_none());
            drop(ends);
            assert_eq!(third.await.expect("planned"), 3);
        });
    }
}
