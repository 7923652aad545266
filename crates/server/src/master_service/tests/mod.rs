//! The master asked as a client asks it, without sockets.

mod cluster;
mod families;
mod namespaces;
mod regions;
pub(crate) mod rig;
mod snapshots;
mod tables;
