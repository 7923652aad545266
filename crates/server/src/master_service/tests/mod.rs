//! The master asked as a client asks it, without sockets.

mod families;
mod namespaces;
pub(crate) mod rig;
mod tables;
