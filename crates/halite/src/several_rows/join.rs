//! Futures that are awaited at once.

use std::task::Poll;

use halite_types::BoxFuture;

/// Returns the outputs of futures, in their order. All are polled while any of them waits.
pub(super) async fn join_all<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.into_iter().map(Some).collect();
    let mut outputs: Vec<Option<T>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, output) in pending.iter_mut().zip(&mut outputs) {
            let Some(running) = future else { continue };
            if let Poll::Ready(value) = running.as_mut().poll(context) {
                *output = Some(value);
                *future = None;
            }
        }
        if pending.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
