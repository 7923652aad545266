//! Reads: everything that a ranking needs, and what a user did last.

use halite::rowkey::Page;
use halite::{Error, Get, Result, Row};

use crate::features::{Behavior, CLICKS, EVENTS, Features, ITEM, KIND};
use crate::key::EventKey;
use crate::vector::{Entity, VECTORS, column, vector};

/// Attempts of a ranking whose version is replaced twice meanwhile.
const MAX_ATTEMPTS: usize = 10;

/// Features of a user and of the items to rank for them, all of one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    pub version: u32,
    /// Vector of the user; `None` for one without, as a new one.
    pub user: Option<Vec<f32>>,
    /// Items, in the order in which they were requested.
    pub items: Vec<ItemFeatures>,
}

/// Features of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemFeatures {
    pub item: u64,
    /// Vector; `None` for an item without, as a new one.
    pub vector: Option<Vec<f32>>,
    /// Clicks by day since 1970, ascending.
    pub clicks: Vec<(i32, i64)>,
}

impl Features {
    /// Returns what is needed to rank items for a user: one row of the user and one of each item,
    /// in one request for each server.
    pub fn ranking(&self, user: u64, items: &[u64]) -> Result<Ranking> {
        let mut version = self.version()?;
        for _ in 0..MAX_ATTEMPTS {
            let ranking = self.ranking_of(version, user, items)?;
            let is_missing =
                ranking.user.is_none() || ranking.items.iter().any(|item| item.vector.is_none());
            let current = if is_missing { self.version()? } else { version };
            // The version that was read exists until the one after the next is written.
            if current == version {
                return Ok(ranking);
            }
            version = current;
        }
        Err(Error::new(
            halite::ErrorKind::Busy,
            format!("vectors were replaced during each of {MAX_ATTEMPTS} attempts; try again"),
        ))
    }

    fn ranking_of(&self, version: u32, user: u64, items: &[u64]) -> Result<Ranking> {
        let get = |entity: Entity| -> Result<Get> {
            Ok(Get::new(entity.row()?).column(VECTORS, column(version).to_vec()))
        };
        let of_items = items.iter().map(|item| Ok(get(Entity::Item(*item))?.family(CLICKS)));
        let rows = self.items.get_all(of_items.collect::<Result<_>>()?)?;
        let features = |(item, row): (&u64, &Row)| -> Result<ItemFeatures> {
            Ok(ItemFeatures { item: *item, vector: vector(row, version)?, clicks: clicks(row)? })
        };
        Ok(Ranking {
            version,
            user: vector(&self.users.get(get(Entity::User(user))?)?, version)?,
            items: items.iter().zip(&rows).map(features).collect::<Result<_>>()?,
        })
    }

    /// Returns what a user did last: one range, of as many rows as are returned.
    pub fn recent(&self, user: u64, limit: usize) -> Result<Page<Behavior>> {
        let newest = EventKey::scan().user(user).limit(limit);
        self.events.page(newest.plan()?, None)?.try_map(|row| behavior(&row))
    }
}

/// Returns the clicks in a row of `item_features`.
pub(crate) fn clicks(row: &Row) -> Result<Vec<(i32, i64)>> {
    let of_day = |cell: halite::CellRef<'_>| {
        let day = cell.qualifier().try_into().map(i32::from_be_bytes);
        let number = cell.value().try_into().map(i64::from_be_bytes);
        day.ok().zip(number.ok()).ok_or_else(|| {
            let [row, column] = [row.key(), cell.qualifier()].map(halite::to_string_binary);
            Error::corrupt(format!(
                "row {row}: {CLICKS}:{column} is not 8 bytes of a day; delete it and call repair"
            ))
        })
    };
    row.iter().filter(|cell| cell.family() == CLICKS.as_bytes()).map(of_day).collect()
}

/// Returns the event of a row.
pub(crate) fn behavior(row: &Row) -> Result<Behavior> {
    let EventKey { user, ts, id } = EventKey::decode(row.key())?;
    let item = row.array(EVENTS, ITEM)?.map(u64::from_be_bytes).unwrap_or_default();
    let kind = row.text(EVENTS, KIND).unwrap_or_default();
    Ok(Behavior { id, user, item, at_ms: ts.0, kind })
}
