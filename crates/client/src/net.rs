//! The one door to the network: tokio's sockets, and in this crate's unit tests those of a simulated network.

#[cfg(not(test))]
pub(crate) use tokio::net::{
    TcpStream,
    tcp::{OwnedReadHalf, OwnedWriteHalf},
};

#[cfg(test)]
pub(crate) use crate::storm::net::{OwnedReadHalf, OwnedWriteHalf, TcpStream};
