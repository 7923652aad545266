//! The designs of the tutorials under load, and traffic that makes no sense.

mod bad;
mod designs;
mod unique;
