//! Threads with a large stack: plans are walked, cloned and dropped by recursion.

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::{Result, SqlError, SqlState};

/// Bytes of the stack on which statements are planned.
const STACK_BYTES: usize = 64 << 20;

/// Runs work on a thread with a large stack.
///
/// # Errors
/// `Internal` if there is no thread, or the work panicked.
pub(crate) async fn on_large_stack<T: Send + 'static>(
    work: impl FnOnce(Handle) -> T + Send + 'static,
) -> Result<T> {
    let internal = |text: &str| SqlError::new(SqlState::Internal, text);
    let handle = Handle::try_current()
        .map_err(|_| internal("statements are planned within a tokio runtime; enter one first"))?;
    let (sender, result) = oneshot::channel();
    std::thread::Builder::new()
        .name("halite-sql-plan".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // The reader may have gone.
            let _ = sender.send(work(handle));
        })
        .map_err(|error| internal(&format!("no thread to plan the statement: {error}")))?;
    result.await.map_err(|_| internal("planning the statement failed; please report it"))
}
