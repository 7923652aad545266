//! Common parts of the services. This module depends on no service.
//!
//! | file | purpose |
//! |---|---|
//! | `context.rs` | state shared by all services |
//! | `call.rs`, `call_step.rs` | call, peer, reply, error; progress of a call and its thread |
//! | `inline.rs` | work that may be done on the connection's task |
//! | `request_context.rs`, `routes.rs` | arguments of a handler, tables of methods |
//! | `buffers.rs`, `handler_pool.rs` | network buffers, threads for calls that may block |
//! | `scanners.rs`, `nonces.rs` | open scanners and their leases, applied nonces |
//! | `names.rs`, `schema.rs`, `errors.rs` | names, descriptors and errors as clients receive them |
//! | `region_load.rs`, `space_usage.rs` | metrics of regions, disk usage against limits |
//! | `quota/`, `quota_table.rs` | quotas in force, and the table that stores them |
//! | `health.rs`, `metrics.rs`, `operations.rs` | health of the store, counters |
//! | `slow_calls.rs`, `call_description.rs` | newest slow calls, and what they asked |
//! | `identity.rs`, `shutdown.rs` | addresses as clients receive them, end of the process |

pub(crate) mod buffers;
pub(crate) mod call;
pub(crate) mod call_description;
pub(crate) mod call_step;
pub(crate) mod context;
pub(crate) mod errors;
pub(crate) mod handler_pool;
pub(crate) mod health;
pub(crate) mod identity;
pub(crate) mod inline;
pub(crate) mod metrics;
pub(crate) mod names;
pub(crate) mod nonces;
pub(crate) mod operations;
pub(crate) mod quota;
pub(crate) mod quota_table;
pub(crate) mod region_load;
pub(crate) mod request_context;
pub(crate) mod routes;
pub(crate) mod scanners;
pub(crate) mod schema;
pub(crate) mod shutdown;
pub(crate) mod slow_calls;
pub(crate) mod space_usage;
