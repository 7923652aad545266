//! Some worlds, and worlds with a fault in them that must be found.
