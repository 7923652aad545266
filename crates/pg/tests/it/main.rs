//! Tests of the port with a client of PostgreSQL, and with bytes that no client sends.

mod door;
mod hostile;
mod login;
mod raw;
mod statements;
mod transactions;
mod writes;
