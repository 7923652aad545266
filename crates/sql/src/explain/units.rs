//! Numbers of EXPLAIN with their units.

/// Returns a time as text.
pub(crate) fn milliseconds(ms: f64) -> String {
    format!("{ms:.1} ms")
}

/// Returns a number of bytes as text.
#[expect(clippy::cast_precision_loss, reason = "it is rounded to a tenth of the unit")]
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut number = bytes as f64 / 1024.0;
    let mut unit = 0;
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    format!("{number:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_that_fits() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (640 << 20, "640.0 MiB"),
            (5 << 40, "5.0 TiB"),
            (9000 << 40, "9000.0 TiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }
}
