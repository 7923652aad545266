//! Users with hashed keys: all alike, or one of them a celebrity.

use halite::Bytes;

use super::operation::{NewRow, Operation};
use super::pattern::{KeyWriter, Pattern, PatternConfig};
use crate::bench::SeededRng;

/// Share of the celebrity in reads and counters, in percent.
const CELEBRITY_PERCENT: u64 = 30;
/// Rows of one short scan.
const SCANNED_ROWS: usize = 10;

/// Reads and writes of users.
pub(super) struct Users {
    keys: KeyWriter,
    chance: SeededRng,
    rows: u64,
    celebrity: Option<u64>,
}

impl Users {
    /// Gets, puts and short scans of all users alike.
    pub(super) fn even(keys: KeyWriter, config: &PatternConfig) -> Self {
        Self { keys, chance: SeededRng::new(config.seed), rows: config.rows, celebrity: None }
    }

    /// Gets and counted visits, of which one user has 30 %, and puts of the others.
    pub(super) fn with_celebrity(keys: KeyWriter, config: &PatternConfig) -> Self {
        let mut chance = SeededRng::new(config.seed);
        let celebrity = Some(chance.below(config.rows));
        Self { keys, chance, rows: config.rows, celebrity }
    }

    fn key(&self, user: u64) -> Bytes {
        self.keys.key(&[user_id(user).as_str().into()])
    }

    /// Returns a user other than the celebrity.
    fn anyone(&mut self) -> u64 {
        match self.celebrity {
            None => self.chance.below(self.rows),
            Some(celebrity) => {
                let user = self.chance.below(self.rows - 1);
                user + u64::from(user >= celebrity)
            }
        }
    }

    fn wanted(&mut self) -> Bytes {
        let user = match self.celebrity {
            Some(celebrity) if self.chance.below(100) < CELEBRITY_PERCENT => celebrity,
            _ => self.anyone(),
        };
        self.key(user)
    }
}

impl Pattern for Users {
    fn row(&self, user: u64) -> NewRow {
        const CITIES: [&str; 6] = ["Berlin", "Lagos", "Lima", "Osaka", "Perth", "Quito"];
        let city = usize::try_from(user % 6).unwrap_or(0);
        NewRow::new(self.key(user)).with("name", format!("User {user}")).with("city", CITIES[city])
    }

    fn next(&mut self) -> Operation {
        let draw = self.chance.below(100);
        if self.celebrity.is_some() {
            match draw {
                0..65 => Operation::Get(self.wanted()),
                65..90 => Operation::Increment(self.wanted(), "visits"),
                _ => {
                    let user = self.anyone();
                    Operation::Put(self.row(user))
                }
            }
        } else {
            let user = self.anyone();
            match draw {
                0..60 => Operation::Get(self.key(user)),
                60..95 => Operation::Put(self.row(user)),
                _ => Operation::Scan { start: self.key(user), rows: SCANNED_ROWS },
            }
        }
    }

    fn splits(&self, _: u64) -> Option<Vec<Bytes>> {
        None
    }
}

/// Returns the name of a user.
pub(super) fn user_id(user: u64) -> String {
    format!("user_{user}")
}
