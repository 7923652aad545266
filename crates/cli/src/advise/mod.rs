//! `halite advise capacity`: of declared tables, and of cells of some length.

mod capacity;
mod schema;

pub(crate) use capacity::CapacityArgs;
