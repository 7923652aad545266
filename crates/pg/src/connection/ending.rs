//! End of a connection, as the system tells it while messages in front of it wait to be read.

use std::future::pending;
use std::os::fd::AsFd as _;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// The socket of a connection once more, of which nothing is read. `None` if the system has no more
/// files; the end is then seen when all has been read.
pub(super) struct Ending(Option<std::net::TcpStream>);

impl Ending {
    pub(super) fn of(socket: &TcpStream) -> Self {
        Self(socket.as_fd().try_clone_to_owned().ok().map(Into::into))
    }

    /// Waits until the client has left. What it has sent before may be more than the system takes
    /// without a reader; then this is not known.
    pub(super) async fn has_come(&self) {
        // Most connections never wait for it, so that it is registered only then.
        let socket = self.0.as_ref().and_then(|socket| socket.try_clone().ok());
        let Some(Ok(socket)) = socket.map(TcpStream::from_std) else { return pending().await };
        // As long as messages wait, it is ready all the time.
        while let Ok(ready) = socket.ready(Interest::READABLE).await
            && !ready.is_read_closed()
        {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn end_is_seen_after_bytes_that_wait() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (client, server) = tokio::join!(TcpStream::connect(address), listener.accept());
            let (mut client, (server, _)) = (client.unwrap(), server.unwrap());
            let ending = Ending::of(&server);
            client.write_all(b"waits").await.unwrap();
            server.readable().await.unwrap();
            let soon = Duration::from_millis(200);
            assert!(tokio::time::timeout(soon, ending.has_come()).await.is_err());
            drop(client);
            let wait = Duration::from_secs(10);
            assert!(tokio::time::timeout(wait, ending.has_come()).await.is_ok());
            // What was sent is still there.
            let mut bytes = [0; 8];
            assert_eq!(server.try_read(&mut bytes).unwrap(), 5);
        });
    }
}
