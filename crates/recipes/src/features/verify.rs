//! Model of the features in memory, and the comparison of a design with it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use features::{Behavior, Entity, Ranking};

use super::application::RECENT;
use super::design::Design;
use super::generator::{Generator, Item};
use crate::recipe::Verified;

/// Events by user, newest first; clicks by item and day; and the version of the vectors.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    events: BTreeMap<u64, BTreeMap<(Reverse<i64>, u64), Behavior>>,
    clicks: BTreeMap<u64, BTreeMap<i32, i64>>,
    pub(super) version: u32,
}

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn oracle(design: &dyn Design, generator: &Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    (0..written).for_each(|number| oracle.apply(generator.item(number)));
    let next = generator.item(written);
    let is_written = match &next {
        Item::Behavior(behavior) => design.is_recorded(behavior)?,
        Item::Vectors(version) => design.version()? >= *version,
    };
    if is_written {
        oracle.apply(next);
    }
    Ok(oracle)
}

impl Oracle {
    /// Adds an item; an event that is there changes nothing.
    pub(super) fn apply(&mut self, item: Item) {
        let behavior = match item {
            Item::Behavior(behavior) => behavior,
            Item::Vectors(version) => {
                self.version = version;
                return;
            }
        };
        let (user, item, kind) = (behavior.user, behavior.item, behavior.kind.clone());
        let key = (Reverse(behavior.at_ms), behavior.id);
        let day = i32::try_from(behavior.at_ms / 86_400_000).unwrap_or(0);
        let is_new = self.events.entry(user).or_default().insert(key, behavior).is_none();
        if is_new && kind == "click" {
            *self.clicks.entry(item).or_default().entry(day).or_default() += 1;
        }
    }

    /// Compares all users and items.
    pub(super) fn verify(&self, design: &dyn Design, generator: &Generator) -> Result<Verified> {
        let mut verified = Verified::default();
        for user in 0..generator.users() {
            let of_user = self.events.get(&user).into_iter().flatten();
            let expected: Vec<&Behavior> = of_user.map(|(_, event)| event).take(RECENT).collect();
            let found = design.recent(user, RECENT)?;
            ensure!(
                found.items.iter().eq(expected.iter().copied()),
                "user {user}: the last events are {:?}, expected {expected:?}",
                found.items
            );
            ensure!(
                found.examined <= expected.len() as u64,
                "user {user}: {} rows were examined for {} events",
                found.examined,
                expected.len()
            );
            verified.add(found.examined, found.examined);
        }
        let products: Vec<u64> = (0..generator.products()).collect();
        for (user, items) in (0..generator.users()).zip(products.chunks(100).cycle()) {
            let ranking = design.ranking(user, items)?;
            ensure!(
                ranking.version == self.version,
                "version {} is in use, expected {}",
                ranking.version,
                self.version
            );
            verify_vectors(generator, user, items, &ranking)?;
            for item in &ranking.items {
                let expected = self.clicks.get(&item.item).into_iter().flatten();
                let expected: Vec<(i32, i64)> = expected.map(|(day, n)| (*day, *n)).collect();
                ensure!(
                    item.clicks == expected,
                    "item {}: clicks by day are {:?}, expected {expected:?}",
                    item.item,
                    item.clicks
                );
            }
            verified.add(items.len() as u64 + 1, items.len() as u64 + 1);
        }
        Ok(verified)
    }
}

/// Checks that all vectors of a ranking are there, whole, and of its version.
pub(super) fn verify_vectors(
    generator: &Generator,
    user: u64,
    items: &[u64],
    ranking: &Ranking,
) -> Result<()> {
    ensure!(
        ranking.items.iter().map(|item| &item.item).eq(items),
        "user {user}: other items are ranked than the requested ones"
    );
    let version = ranking.version;
    let of_items = ranking.items.iter().map(|item| (Entity::Item(item.item), &item.vector));
    for (of, found) in std::iter::once((Entity::User(user), &ranking.user)).chain(of_items) {
        // Before the first version there are none.
        let expected = (version > 0).then(|| generator.vector(of, version).values);
        ensure!(
            *found == expected,
            "{of:?}: its vector is {}, and not that of version {version}",
            found.as_ref().map_or("missing", |_| "another one")
        );
    }
    Ok(())
}
