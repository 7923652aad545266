//! RPC connections: sockets, frames and handshakes.
//!
//! | file | purpose |
//! |---|---|
//! | `listener.rs`, `port.rs` | accepted connections, services of the two ports |
//! | `handshake.rs` | preamble, connection header |
//! | `connection.rs` | the task of a connection: reads frames, sends responses |
//! | `read_buffer.rs`, `send_queue.rs` | partially received frames, unsent responses |
//! | `stall_detector.rs` | slow clients |

mod connection;
mod handshake;
pub(crate) mod listener;
pub(crate) mod port;
mod read_buffer;
mod send_queue;
mod stall_detector;
