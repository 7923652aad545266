//! Byte formats of HBase's network protocols, for clients and servers.
//!
//! The crate contains frames ([`rpc`]), messages ([`proto`]), their services and methods
//! ([`service`]), the cells after them ([`cellblock`]), and failures ([`exception`]). Clients query
//! ZooKeeper for the location of the cluster in its own protocol ([`zk`]). This crate performs no
//! input or output: it encodes and decodes messages.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cellblock;
pub mod convert;
pub mod exception;
pub mod proto;
pub mod rpc;
pub mod service;
pub mod zk;
