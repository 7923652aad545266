//! The wish that everything ends, heard by every task.

use tokio::sync::watch;

/// Makes the wish.
pub(crate) struct ShutdownSender(watch::Sender<bool>);

/// Hears the wish. Cheap to clone; each task has its own.
#[derive(Clone)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

pub(crate) fn channel() -> (ShutdownSender, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (ShutdownSender(sender), Shutdown(receiver))
}

impl ShutdownSender {
    pub(crate) fn request(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Returns when everything is to end.
    pub(crate) async fn requested(&mut self) {
        // An error means that the sender has gone, which ends everything just as well.
        let _ = self.0.wait_for(|requested| *requested).await;
    }
}
