//! Tests of the master's handlers, called as by a client but without sockets.

mod cluster;
mod families;
mod namespaces;
mod peers;
mod quotas;
mod regions;
mod repairs;
mod snapshots;
mod tables;
