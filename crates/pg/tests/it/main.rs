//! Tests of the port with a client of PostgreSQL, and with bytes that no client sends.

mod clients;
mod copy;
mod door;
mod hostile;
mod login;
mod queries;
mod raw;
mod statements;
mod transactions;
mod writes;
