//! Listener with the limits of the HTTP endpoint for a router without a server.

use std::future::Future;
use std::net::SocketAddr;

use axum::Router;
use halite_types::{Error, Result};

use super::connections;
use crate::base::shutdown;
use crate::outside::{Listener, Machine};

/// Listening socket for a router: at most 64 connections, half of them of one address, each for at
/// most ten minutes, 30 seconds for the head of a request, and 30 seconds without reading.
pub struct WebListener {
    listener: Listener,
    address: SocketAddr,
}

impl WebListener {
    /// Listens on an address; port 0 is any free port.
    ///
    /// # Errors
    /// `Io` if the operating system refuses.
    pub async fn bind(address: SocketAddr) -> Result<Self> {
        let failed = |error| Error::io(format!("listening on {address} for the web page"), error);
        let listener = Machine::Os.listen(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Returns the local address, with the bound port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the router until `stop` completes.
    pub async fn serve(self, router: Router, stop: impl Future<Output = ()>) {
        let (sender, shutdown) = shutdown::channel();
        let served = connections::serve(self.listener, move |_| router.clone(), shutdown);
        tokio::pin!(served);
        tokio::select! {
            () = &mut served => {}
            () = stop => {
                sender.request();
                served.await;
            }
        }
    }
}
