//! Which files, and which part of them, are code that people write for the product and its tools.

/// Returns `true` for files of tests and for generated code.
pub(super) fn is_test_or_generated(path: &str) -> bool {
    let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
    is_test || path.ends_with("/generated.rs")
}

/// Returns a source without the unit tests at its end.
pub(super) fn without_unit_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}
