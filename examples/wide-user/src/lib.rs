//! Users with their last ten orders in one row: a page of a user is one get.
//!
//! The orders are a ring of ten columns: an order replaces the one ten orders before. `ring.rs`
//! contains the columns and their bytes, [`Users`] writes and reads rows. The code uses the public
//! API only.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ring;
mod users;

pub use ring::{Order, RING_ORDERS};
pub use users::{TABLES, User, UserKey, Users};
