//! How long a throttled client has to wait, in the words that Java's `RpcThrottlingException` reads.

const WAIT: &str = " - wait ";
const UNITS_MS: [(&str, u64); 4] = [("hrs", 3_600_000), ("mins", 60_000), ("sec", 1_000), ("ms", 1)];

/// A message with the wait at its end: `number of requests exceeded - wait 1sec, 234ms`.
pub(super) fn with_wait(message: &str, wait_ms: u64) -> String {
    let mut rest = wait_ms;
    let mut parts = Vec::new();
    for (unit, size) in UNITS_MS {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            parts.push(format!("{count}{unit}"));
        }
    }
    if parts.is_empty() {
        parts.push("0ms".to_string());
    }
    format!("{message}{WAIT}{}", parts.join(", "))
}

/// The wait at the end of a message in milliseconds; `None` if there is none.
pub(super) fn wait_ms(message: &str) -> Option<u64> {
    let (_, wait) = message.rsplit_once(WAIT)?;
    wait.trim().split(", ").try_fold(0u64, |sum, part| sum.checked_add(part_ms(part)?))
}

fn part_ms(part: &str) -> Option<u64> {
    let digits = part.find(|letter: char| !letter.is_ascii_digit())?;
    let (count, unit) = part.split_at_checked(digits)?;
    let (_, size) = UNITS_MS.into_iter().find(|(name, _)| *name == unit)?;
    count.parse::<u64>().ok()?.checked_mul(size)
}
