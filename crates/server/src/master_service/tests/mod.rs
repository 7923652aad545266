//! The master asked as a client asks it, without sockets.

mod cluster;
mod families;
mod namespaces;
mod peers;
mod quotas;
mod regions;
mod repairs;
pub(crate) mod rig;
mod snapshots;
mod tables;
