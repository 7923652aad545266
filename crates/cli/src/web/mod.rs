//! The web page: its router over the store of a server, or over a cluster elsewhere.
//!
//! ```text
//! events.rs    events of a store                    slow_calls.rs  slow calls of a server
//! store.rs     facts of a store in this process      token.rs  secret of those who may change
//! attached.rs  facts of a cluster elsewhere          ui.rs     the page without a server
//! region_heat.rs  requests of its regions over time  region_events.rs  changes of its regions
//! numbered.rs  lists that continue after a number
//! ```

mod attached;
mod events;
mod numbered;
mod region_events;
mod region_heat;
mod slow_calls;
mod store;
mod token;
mod ui;

pub(crate) use store::StoreExtension;
pub(crate) use token::{WebToken, choose_token};
pub(crate) use ui::{UiOptions, run_ui};
