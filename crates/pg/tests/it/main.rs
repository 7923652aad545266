//! Tests of the port with a client of PostgreSQL, and with bytes that no client sends.

mod bad_input;
mod clients;
mod copy;
mod dbeaver;
mod door;
mod drivers;
mod hostile;
mod login;
mod queries;
mod raw;
mod series;
mod session_tables;
mod statements;
mod transactions;
mod writes;
