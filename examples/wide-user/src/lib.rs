//! Users with their last ten orders in one row: a page of a user is one get.
//!
//! The orders are a [ring](halite::Ring) of ten columns: an order replaces the one ten orders
//! before. [`Users`] writes and reads rows. The code uses the public API only.
#![forbid(unsafe_code)]

mod users;

pub use users::{Order, RING_ORDERS, TABLES, User, UserKey, Users};
