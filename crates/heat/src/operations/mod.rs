//! Log of sampled operations: what was called, by whom, on which rows.
//!
//! ```text
//! record.rs    one operation                 codec.rs    many as bytes
//! causes.rs    clients and statements by their shares
//! ```

mod causes;
mod codec;
mod record;

pub use causes::{Cause, Causes};
pub use codec::{MAX_BATCH_BYTES, NotABatch, OperationBatch};
pub use record::{Call, CallKind, Client, LoggedCalls, fingerprint};
