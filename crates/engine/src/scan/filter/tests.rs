//! Filters against the recorded answers of HBase's classes.
