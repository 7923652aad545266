//! Designs of the tutorials under load, and invalid traffic.

mod bad;
mod designs;
mod unique;
mod weights;
