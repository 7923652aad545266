//! One row as its callers understand it: what it holds, what operations do to it, and what they may be answered.
//!
//! ```text
//! f:r and g:r   a register; both always have the same value     f:t   a register of which the newest timestamp counts
//! f:c           a counter                                       f:l   a list that is appended to
//! g:k           a mark that is only set where another stood before
//! ```

use halite_types::Row;

/// The two families; what is put to the register goes to both.
pub const FAMILIES: [&str; 2] = ["f", "g"];

/// What a row holds. Nothing of everything is a row that is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The register.
    pub register: Option<u32>,
    /// The register with timestamps of its callers: the newest.
    pub stamped: Option<u32>,
    /// The counter.
    pub counter: Option<i64>,
    /// The list.
    pub list: Vec<u32>,
    /// The mark.
    pub mark: Option<u32>,
}

/// One change of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Puts a value that nobody else puts.
    Put(u32),
    /// Puts a value under a timestamp of the same number.
    PutAt(u32),
    /// Empties the register.
    Delete,
    /// Adds to the counter.
    Add(i64),
    /// Appends to the list what nobody else appends.
    Append(u32),
    /// Sets the mark.
    Mark(u32),
}

/// What an operation was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: it may have happened, may happen yet or never.
    None,
    /// That it is done.
    Done,
    /// Whether its condition held.
    Held(bool),
    /// The new values of what it added and appended to.
    Values(Option<i64>, Option<Vec<u32>>),
    /// What the row holds.
    Row(State),
}

/// What somebody asked of a row. Of one without changes the answer alone counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// All or none of them.
    pub changes: Vec<Change>,
    /// The mark that must stand there, if there is a condition.
    pub condition: Option<Option<u32>>,
    /// What came of it.
    pub answer: Answer,
}

impl State {
    /// What a row that was read holds.
    ///
    /// # Errors
    /// If nobody ever put such a row there.
    pub fn of(row: &Row) -> Result<Self, String> {
        let number = |family: &str, column: &str| {
            let value = row.value(family, column);
            value.map(|value| parse(value).ok_or_else(|| format!("{family}:{column} is {:?}", value.escape_ascii().to_string()))).transpose()
        };
        let [register, twin] = [number("f", "r")?, number("g", "r")?];
        if register != twin {
            return Err(format!("it is torn: f:r is {register:?} and g:r is {twin:?}"));
        }
        let counter = row.value("f", "c").map(|value| counter_of(value).ok_or_else(|| format!("f:c has {} bytes", value.len()))).transpose()?;
        let list = row.value("f", "l").map(list_of).transpose()?.unwrap_or_default();
        Ok(Self { register, stamped: number("f", "t")?, counter, list, mark: number("g", "k")? })
    }

    /// What the row holds after an operation; `None` if that could not have been answered as it was.
    pub fn after(&self, asked: &Asked) -> Option<Self> {
        if let Answer::Row(row) = &asked.answer {
            return (row == self).then(|| self.clone());
        }
        if asked.changes.is_empty() {
            return match &asked.answer {
                Answer::Values(counter, list) => self.has(counter.as_ref(), list.as_deref()).then(|| self.clone()),
                Answer::Held(held) => (asked.condition.is_none_or(|mark| mark == self.mark) == *held).then(|| self.clone()),
                Answer::None | Answer::Done | Answer::Row(_) => Some(self.clone()),
            };
        }
        let holds = asked.condition.is_none_or(|mark| mark == self.mark);
        if matches!(asked.answer, Answer::Held(held) if held != holds) {
            return None;
        }
        let mut next = self.clone();
        if holds {
            asked.changes.iter().for_each(|change| next.change(change));
        }
        match &asked.answer {
            Answer::Values(counter, list) if !next.has(counter.as_ref(), list.as_deref()) => None,
            _ => Some(next),
        }
    }

    fn has(&self, counter: Option<&i64>, list: Option<&[u32]>) -> bool {
        counter.is_none_or(|counter| self.counter == Some(*counter)) && list.is_none_or(|list| self.list == list)
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

impl Asked {
    /// A read of the whole row.
    pub fn row(state: State) -> Self {
        Self { changes: Vec::new(), condition: None, answer: Answer::Row(state) }
    }
}

/// A counter's bytes.
pub fn counter_of(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_be_bytes)
}

/// A list's bytes: numbers with a semicolon behind each.
///
/// # Errors
/// If they are nothing that was appended.
pub fn list_of(value: &[u8]) -> Result<Vec<u32>, String> {
    let wrong = || format!("f:l is {:?}", value.escape_ascii().to_string());
    let rest = value.strip_suffix(b";").ok_or_else(wrong)?;
    rest.split(|byte| *byte == b';').map(|number| parse(number).ok_or_else(wrong)).collect()
}

fn parse(value: &[u8]) -> Option<u32> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
