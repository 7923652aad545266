//! What users do.

use halite::rowkey::typed::Days;
use halite::{Error, Result};

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;
const ID_AT: usize = 4;

/// What a user did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number that no other event has. An event that is sent again has the same one.
    pub id: u64,
    /// User. Sets of users have a bit for each number.
    pub user: u32,
    /// Time in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    pub kind: Kind,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The user signed up; the day is that of their cohort.
    Join,
    Login,
    View,
    Cart,
    Pay,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Join, Self::Login, Self::View, Self::Cart, Self::Pay];

    /// Returns the name in keys and cells.
    pub fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Login => "login",
            Self::View => "view",
            Self::Cart => "cart",
            Self::Pay => "pay",
        }
    }

    /// Returns the kind of a name.
    pub(crate) fn from_name(name: &[u8]) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == name).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            let names = Self::ALL.map(Self::name).join(", ");
            Error::corrupt(format!("{name:?} is not one of {names}; delete the cell or row of it"))
        })
    }
}

impl Event {
    /// Returns its day.
    pub fn day(&self) -> Days {
        Days(i32::try_from(self.at_ms.div_euclid(DAY_MS)).unwrap_or(i32::MAX))
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.at_ms >= 0 && self.at_ms / DAY_MS < i64::from(i32::MAX) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "event {}: its time is {} ms; use milliseconds since 1970",
            self.id, self.at_ms
        )))
    }

    /// Returns its column in the row of the user and day: the millisecond of the day, and the id.
    pub(crate) fn column(&self) -> [u8; 12] {
        let offset = u32::try_from(self.at_ms.rem_euclid(DAY_MS)).unwrap_or(0);
        let mut column = [0; 12];
        column[..ID_AT].copy_from_slice(&offset.to_be_bytes());
        column[ID_AT..].copy_from_slice(&self.id.to_be_bytes());
        column
    }

    /// Returns the event of a cell.
    pub(crate) fn from_cell(user: u32, day: Days, column: &[u8], kind: &[u8]) -> Result<Self> {
        let parts = column.split_first_chunk::<ID_AT>();
        let Some((offset, id)) = parts.and_then(|(offset, id)| Some((offset, id.try_into().ok()?)))
        else {
            return Err(Error::corrupt(format!(
                "user {user}, day {}: the column {} of an event is not 12 bytes; delete it",
                day.0,
                halite::to_string_binary(column)
            )));
        };
        let at_ms = i64::from(day.0) * DAY_MS + i64::from(u32::from_be_bytes(*offset));
        Ok(Self { id: u64::from_be_bytes(id), user, at_ms, kind: Kind::from_name(kind)? })
    }
}
