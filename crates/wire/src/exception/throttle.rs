//! Wait of a throttled client, in the message format that Java's `RpcThrottlingException` parses.

use std::fmt::Write as _;

const WAIT: &str = " - wait ";
/// Singular, plural, and milliseconds of each unit.
const UNITS_MS: [(&str, &str, u64); 4] =
    [("hr", "hrs", 3_600_000), ("min", "mins", 60_000), ("sec", "sec", 1_000), ("ms", "ms", 1)];

/// Exceeded quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the text of its kind")]
pub enum ThrottleType {
    NumberOfRequests,
    RequestSize,
    NumberOfReads,
    NumberOfWrites,
    WriteSize,
    ReadSize,
    RequestCapacityUnits,
    ReadCapacityUnits,
    WriteCapacityUnits,
    NumberOfAtomicRequests,
    AtomicReadSize,
    AtomicWriteSize,
    RequestHandlerUsage,
}

impl ThrottleType {
    /// All types.
    pub const ALL: [Self; 13] = [
        Self::NumberOfRequests,
        Self::RequestSize,
        Self::NumberOfReads,
        Self::NumberOfWrites,
        Self::WriteSize,
        Self::ReadSize,
        Self::RequestCapacityUnits,
        Self::ReadCapacityUnits,
        Self::WriteCapacityUnits,
        Self::NumberOfAtomicRequests,
        Self::AtomicReadSize,
        Self::AtomicWriteSize,
        Self::RequestHandlerUsage,
    ];

    /// Returns the sentence. Java's class searches for one of these before the wait.
    fn text(self) -> &'static str {
        match self {
            Self::NumberOfRequests => "number of requests exceeded",
            Self::RequestSize => "request size limit exceeded",
            Self::NumberOfReads => "number of read requests exceeded",
            Self::NumberOfWrites => "number of write requests exceeded",
            Self::WriteSize => "write size limit exceeded",
            Self::ReadSize => "read size limit exceeded",
            Self::RequestCapacityUnits => "request capacity unit exceeded",
            Self::ReadCapacityUnits => "read capacity unit exceeded",
            Self::WriteCapacityUnits => "write capacity unit exceeded",
            Self::NumberOfAtomicRequests => "atomic request number exceeded",
            Self::AtomicReadSize => "atomic read size exceeded",
            Self::AtomicWriteSize => "atomic write size exceeded",
            Self::RequestHandlerUsage => "request handler usage time exceeded",
        }
    }
}

/// Returns a message with the wait at its end: `number of requests exceeded - wait 1sec, 234ms`.
pub(super) fn with_wait(what: ThrottleType, wait_ms: u64) -> String {
    let mut text = format!("{}{WAIT}", what.text());
    let mut rest = wait_ms;
    for (one, more, size) in UNITS_MS {
        let count = rest / size;
        rest %= size;
        // Java always writes the milliseconds, and requires a part after the comma.
        if size == 1 {
            let _ = write!(text, "{count}{one}");
        } else if count > 0 {
            let _ = write!(text, "{count}{}, ", if count == 1 { one } else { more });
        }
    }
    text
}

/// Returns the wait at the end of a message in milliseconds; `None` if there is none.
pub(super) fn wait_ms(message: &str) -> Option<u64> {
    let (_, wait) = message.rsplit_once(WAIT)?;
    wait.trim().split(", ").try_fold(0u64, |sum, part| sum.checked_add(part_ms(part)?))
}

fn part_ms(part: &str) -> Option<u64> {
    let digits = part.find(|letter: char| !letter.is_ascii_digit())?;
    let (count, unit) = part.split_at_checked(digits)?;
    let (_, _, size) = UNITS_MS.into_iter().find(|(one, more, _)| *one == unit || *more == unit)?;
    count.parse::<u64>().ok()?.checked_mul(size)
}
