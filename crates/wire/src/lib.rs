//! Every byte that crosses a socket in HBase's world, for both ends.
//!
//! Frames ([`rpc`]), messages ([`proto`]), the services and methods they belong to ([`service`]), the cells behind them
//! ([`cellblock`]), and failures ([`exception`]). Clients ask ZooKeeper where the cluster is, in its own protocol ([`zk`]).
//! This crate does no input or output: it turns bytes into messages and messages into bytes.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cellblock;
pub mod convert;
pub mod exception;
pub mod proto;
pub mod rpc;
pub mod service;
pub mod zk;
