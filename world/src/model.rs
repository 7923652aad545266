//! Model of one row: its contents, the effects of operations on it, and their possible results.
//!
//! ```text
//! f:r and g:r   a register; both always have the same value     f:t   a register in which the newest timestamp counts
//! f:c           a counter                                       f:l   a list that is appended to
//! g:k           a mark that is only set if another one is present
//! ```

use halite_types::Row;

/// The two families; a put to the register writes both.
pub const FAMILIES: [&str; 2] = ["f", "g"];

/// Contents of a row. A row with no contents does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RowState {
    /// The register.
    pub register: Option<u32>,
    /// Newest value of the register with timestamps assigned by callers.
    pub stamped: Option<u32>,
    /// The counter.
    pub counter: Option<i64>,
    /// The list.
    pub list: Vec<u32>,
    /// The mark.
    pub mark: Option<u32>,
}

/// Change of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Puts a unique value.
    Put(u32),
    /// Puts a value with a timestamp of the same number.
    PutAt(u32),
    /// Clears the register.
    Delete,
    /// Adds to the counter.
    Add(i64),
    /// Appends a unique value to the list.
    Append(u32),
    /// Sets the mark.
    Mark(u32),
}

/// Result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// No reply: it may have been applied, may be applied later, or never.
    None,
    /// Applied.
    Done,
    /// Outcome of its condition.
    Held(bool),
    /// New values of the counter and the list.
    Values(Option<i64>, Option<Vec<u32>>),
    /// Contents of the row.
    Row(RowState),
}

/// Request on a row. For one without changes only the result counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRequest {
    /// Changes, applied atomically.
    pub changes: Vec<Change>,
    /// Mark that must be present, if there is a condition.
    pub condition: Option<Option<u32>>,
    /// Result of the request.
    pub observation: Observation,
}

impl RowState {
    /// Returns the contents of a row that was read.
    ///
    /// # Errors
    /// Returns an error if no caller ever wrote such a row.
    pub fn from_row(row: &Row) -> Result<Self, String> {
        let number = |family: &str, column: &str| {
            let value = row.value(family, column);
            value
                .map(|value| {
                    parse(value).ok_or_else(|| {
                        format!("{family}:{column} is {:?}", value.escape_ascii().to_string())
                    })
                })
                .transpose()
        };
        let [register, twin] = [number("f", "r")?, number("g", "r")?];
        if register != twin {
            return Err(format!("torn row: f:r is {register:?} and g:r is {twin:?}"));
        }
        let counter = row
            .value("f", "c")
            .map(|value| {
                parse_counter(value).ok_or_else(|| format!("f:c has {} bytes", value.len()))
            })
            .transpose()?;
        let list = row.value("f", "l").map(parse_list).transpose()?.unwrap_or_default();
        Ok(Self { register, stamped: number("f", "t")?, counter, list, mark: number("g", "k")? })
    }

    /// Returns the contents of the row after an operation, or `None` if its result is impossible.
    pub fn after(&self, request: &RowRequest) -> Option<Self> {
        if let Observation::Row(row) = &request.observation {
            return (row == self).then(|| self.clone());
        }
        if request.changes.is_empty() {
            return match &request.observation {
                Observation::Values(counter, list) => {
                    self.has(counter.as_ref(), list.as_deref()).then(|| self.clone())
                }
                Observation::Held(held) => (request.condition.is_none_or(|mark| mark == self.mark)
                    == *held)
                    .then(|| self.clone()),
                Observation::None | Observation::Done | Observation::Row(_) => Some(self.clone()),
            };
        }
        let holds = request.condition.is_none_or(|mark| mark == self.mark);
        if matches!(request.observation, Observation::Held(held) if held != holds) {
            return None;
        }
        let mut next = self.clone();
        if holds {
            request.changes.iter().for_each(|change| next.change(change));
        }
        match &request.observation {
            Observation::Values(counter, list) if !next.has(counter.as_ref(), list.as_deref()) => {
                None
            }
            _ => Some(next),
        }
    }

    fn has(&self, counter: Option<&i64>, list: Option<&[u32]>) -> bool {
        counter.is_none_or(|counter| self.counter == Some(*counter))
            && list.is_none_or(|list| self.list == list)
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Put(value) => self.register = Some(*value),
            Change::PutAt(value) => self.stamped = self.stamped.max(Some(*value)),
            Change::Delete => self.register = None,
            Change::Add(delta) => self.counter = Some(self.counter.unwrap_or(0) + delta),
            Change::Append(value) => self.list.push(*value),
            Change::Mark(value) => self.mark = Some(*value),
        }
    }
}

impl RowRequest {
    /// Returns a read of the whole row.
    pub fn row(state: RowState) -> Self {
        Self { changes: Vec::new(), condition: None, observation: Observation::Row(state) }
    }
}

/// Parses a counter.
pub fn parse_counter(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_be_bytes)
}

/// Parses a list: numbers, each followed by a semicolon.
///
/// # Errors
/// Returns an error if the bytes were never appended.
pub fn parse_list(value: &[u8]) -> Result<Vec<u32>, String> {
    let wrong = || format!("f:l is {:?}", value.escape_ascii().to_string());
    let rest = value.strip_suffix(b";").ok_or_else(wrong)?;
    rest.split(|byte| *byte == b';').map(|number| parse(number).ok_or_else(wrong)).collect()
}

fn parse(value: &[u8]) -> Option<u32> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
