//! Numbers on the command lines of the simulators and the torture program.

/// Parses the decimal or hexadecimal (`0x2a`) value of the argument `name`.
///
/// # Errors
/// Returns a message with the name, the value and the expected form.
pub fn parse_number(name: &str, text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| {
        format!("invalid value {text:?} for {name}: {error}; expected a number such as 42 or 0x2a")
    })
}
