//! Writes: vectors in batches, behavior while it happens.

use std::collections::BTreeMap;

use halite::rowkey::KeyBuf;
use halite::rowkey::typed::TsMillis;
use halite::{
    BlockingCluster, BlockingTable, CheckAndMutate, Error, Get, MergeOperator, MergedColumn, Put,
    Result, RowOp, declare_tables,
};

use crate::key::{EventKey, ItemKey, ModelKey, TABLES, UserKey};
use crate::vector::{Entity, Vector};

/// Family of events, and the columns of their item and kind.
pub(crate) const EVENTS: &str = "e";
pub(crate) const ITEM: &str = "i";
pub(crate) const KIND: &str = "k";
/// Family of the clicks of an item.
pub(crate) const CLICKS: &str = "n";
/// Family and column of the version of a model, and the name of the only one.
const MODEL: &str = "m";
const VERSION: &str = "v";
const NAME: &str = "vectors";
/// Kind of the events that are counted for their item.
pub(crate) const CLICK: &str = "click";
const DAY_MS: i64 = 86_400_000;

/// Something that a user did with an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behavior {
    /// Number that no other event of the user in this millisecond has.
    pub id: u64,
    pub user: u64,
    pub item: u64,
    /// Time in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    /// Kind: `click`, which is counted for the item, or any other one.
    pub kind: String,
}

/// Features of all users and items, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Features {
    pub(crate) users: BlockingTable,
    pub(crate) items: BlockingTable,
    pub(crate) events: BlockingTable,
    models: BlockingTable,
}

impl Features {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let table = |name: &str| cluster.table(&format!("{namespace}:{name}"));
        Ok(Self {
            users: table(UserKey::TABLE)?,
            items: table(ItemKey::TABLE)?,
            events: table(EventKey::TABLE)?,
            models: table(ModelKey::TABLE)?,
        })
    }

    /// Writes vectors of a version, beside those that readers use. Versions count up by one from 1.
    /// Writing vectors again has no effect, nor does writing those of a version that is in use or
    /// was. One writer at a time writes a version.
    ///
    /// # Errors
    /// `InvalidRequest` for a version after the next one: writing it would remove the one in use.
    pub fn write_vectors(&self, version: u32, vectors: &[Vector]) -> Result<()> {
        let current = self.version()?;
        if version <= current {
            return Ok(());
        }
        if version > current + 1 {
            return Err(Error::invalid(format!(
                "vectors of version {version}, and version {current} is in use: write those of \
                 version {} first, and switch to it",
                current + 1
            )));
        }
        let is_user = |vector: &&Vector| matches!(vector.of, Entity::User(_));
        let write_all = |table: &BlockingTable, is_wanted: &dyn Fn(&&Vector) -> bool| {
            let wanted = vectors.iter().filter(|vector| is_wanted(vector));
            let ops = wanted.map(|vector| vector.write(version)).collect::<Result<_>>()?;
            table.apply_all(ops).map(drop)
        };
        write_all(&self.users, &|vector| is_user(vector))?;
        write_all(&self.items, &|vector| !is_user(vector))
    }

    /// Makes readers use a version, when all of its vectors have been written. From then on every
    /// reader finds these. A version that is not newer than the one in use has no effect.
    pub fn switch_to(&self, version: u32) -> Result<()> {
        let row = ModelKey { name: NAME }.encode()?.to_vec();
        let put = Put::new(row.clone()).add(MODEL, VERSION, version.to_be_bytes());
        loop {
            let current = self.version()?;
            if current >= version {
                return Ok(());
            }
            let check = if current == 0 {
                CheckAndMutate::if_not_exists(row.clone(), MODEL, VERSION, put.clone())
            } else {
                let current = current.to_be_bytes().to_vec();
                CheckAndMutate::if_equals(row.clone(), MODEL, VERSION, current, put.clone())
            };
            if self.models.check_and_mutate(check)? {
                return Ok(());
            }
        }
    }

    /// Returns the version that readers use; 0 before the first.
    pub fn version(&self) -> Result<u32> {
        let row = self.models.get(Get::new(ModelKey { name: NAME }.encode()?))?;
        Ok(row.array(MODEL, VERSION)?.map_or(0, u32::from_be_bytes))
    }

    /// Records behavior, and counts the clicks of items. One that was recorded before counts once.
    /// A writer that stops between the two leaves clicks that are not counted, which
    /// [`Self::repair`] completes.
    pub fn record(&self, behavior: &[Behavior]) -> Result<()> {
        let writes = behavior.iter().map(Behavior::once).collect::<Result<_>>()?;
        let mut clicks = BTreeMap::new();
        for (one, result) in behavior.iter().zip(self.events.apply_all(writes)?) {
            if result.processed && one.kind == CLICK {
                *clicks.entry((one.item, one.day())).or_default() += 1;
            }
        }
        self.count(&clicks)
    }

    /// Returns `true` if an event was recorded.
    pub fn is_recorded(&self, behavior: &Behavior) -> Result<bool> {
        self.events.exists(Get::new(behavior.key()?))
    }

    /// Adds to the clicks of items on days.
    pub(crate) fn count(&self, clicks: &BTreeMap<(u64, i32), i64>) -> Result<()> {
        let add = |((item, day), number): (&(u64, i32), &i64)| {
            let row = Entity::Item(*item).row()?;
            let column = MergedColumn::new(row, CLICKS, day.to_be_bytes().to_vec());
            column.contribution(MergeOperator::Sum, &number.to_be_bytes())
        };
        self.items.apply_all(clicks.iter().map(add).collect::<Result<_>>()?).map(drop)
    }
}

impl Behavior {
    pub(crate) fn day(&self) -> i32 {
        i32::try_from(self.at_ms.div_euclid(DAY_MS)).unwrap_or(i32::MAX)
    }

    fn key(&self) -> Result<KeyBuf> {
        Ok(EventKey { user: self.user, ts: TsMillis(self.at_ms), id: self.id }.encode()?)
    }

    /// Returns the write of an event that is not there yet.
    fn once(&self) -> Result<RowOp> {
        let row = self.key()?.to_vec();
        let put = Put::new(row.clone())
            .add(EVENTS, ITEM, self.item.to_be_bytes())
            .add(EVENTS, KIND, &self.kind);
        Ok(CheckAndMutate::if_not_exists(row, EVENTS, ITEM, put).into())
    }
}
