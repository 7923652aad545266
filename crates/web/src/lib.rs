//! Web page and its HTTP API, over any [`Cluster`](halite_types::Cluster).
//!
//! [`router`] answers the page's files and everything under `/api`. It owns no socket: the server
//! of HBase clients, and `halite ui`, pass it the requests of their own listeners. What a cluster
//! cannot tell through its traits comes from an [`Extension`], whose methods answer "not known"
//! unless a program implements them.
//!
//! ```text
//! guard.rs    hosts, sizes, origins, headers    assets.rs     the files of the page
//! call.rs     one request, its answer           gate.rs       limits, threads that may block
//! status.rs   statistics, named by their time   samples.rs    rates and series of regions
//! api/        one file per group of paths       problem.rs    errors as problem documents
//! worker_threads.rs  threads that leave the processor to those of the store
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod api;
mod assets;
mod call;
mod config;
mod deadline_table;
mod extension;
mod gate;
mod guard;
mod key_view;
mod params;
mod problem;
mod region_load;
mod samples;
mod site;
mod statistics;
mod status;
mod table_load;
mod tasks;
#[cfg(test)]
mod tests;
mod text_page;
mod worker_threads;

use std::sync::Arc;

/// Router of the page, to pass the requests of a listener to.
pub use axum::Router;

pub use config::{InvalidToken, Token, WebConfig};
pub use extension::{
    About, Event, EventQuery, Extension, Mode, NoExtension, Page, RunningTask, SlowCall,
    SlowCallQuery, StoreFile, WebSources,
};

/// Returns the router of the page and its API.
///
/// Inside a runtime of tokio it starts a task that takes a sample of all regions every ten seconds,
/// until the router is dropped. Requests need such a runtime.
pub fn router(sources: WebSources, config: WebConfig) -> Router {
    let site = Arc::new(site::Site::new(sources, config));
    site.start_sampling();
    let pages = api::routes()
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    let pages = pages.route("/status.txt", axum::routing::get(text_page::status));
    let pages = assets::add_routes(pages).fallback(guard::unknown_path);
    guard::protect(pages, &site).with_state(site)
}
