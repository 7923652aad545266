//! Figures over HTTP: `/metrics` for Prometheus, `/jmx` as HBase's dashboards read it.

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::context::Context;
use crate::shutdown::Shutdown;

/// Serves clients until everything is to end.
pub(crate) async fn serve(listener: TcpListener, _: Arc<Context>, mut shutdown: Shutdown) {
    shutdown.requested().await;
    drop(listener);
}
