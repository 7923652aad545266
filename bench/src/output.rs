//! Lines that a child prints for its parent.

/// Prints a measurement.
pub(crate) fn figure(name: &str, unit: &str, value: f64) {
    println!("{name}|{unit}|{value}");
}

/// Prints a remark on how something was measured. The parent prints each remark once.
pub(crate) fn note(text: &str) {
    println!("{}{}", super::report::NOTE, one_line(text));
}

/// Prints the reason why this engine cannot run this workload. The parent skips the other parts.
pub(crate) fn skip(reason: &str) {
    println!("{}{}", super::report::SKIP, one_line(reason));
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
