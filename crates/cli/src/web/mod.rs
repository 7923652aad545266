//! The web page: its router over the store of a server, or over a cluster elsewhere.
//!
//! ```text
//! store.rs     facts of a store in this process      token.rs  secret of those who may change
//! attached.rs  facts of a cluster elsewhere          ui.rs     the page without a server
//! ```

mod attached;
mod store;
mod token;
mod ui;

pub(crate) use store::StoreExtension;
pub(crate) use token::{WebToken, choose_token};
pub(crate) use ui::{UiOptions, run_ui};
