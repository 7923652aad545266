//! The recipe on its tables: behavior and vectors written, items ranked.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use anyhow::{Result, ensure};
use features::{Behavior, Entity, Vector};

use super::design::Design;
use super::generator::{Generator, Item};
use super::load;
use super::verify::{oracle, verify_vectors};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::read_while::read_while;
use crate::recipe::{Application, Load, Outcome, T0, Verified};

/// Events of a user that a ranking uses.
pub(super) const RECENT: usize = 50;
const SHOWN: usize = 5;
/// Vectors of a write.
const BATCH_VECTORS: usize = 1_000;
/// Items of a ranking while others write.
const WATCHED_ITEMS: u64 = 60;

/// Features with the generator of behavior and vectors.
pub(super) struct FeaturesApplication {
    pub(super) design: Box<dyn Design>,
    pub(super) generator: Generator,
    /// Number of the next item that a measurement writes.
    pub(super) next_item: AtomicU64,
}

impl FeaturesApplication {
    pub(super) fn new(design: Box<dyn Design>, load: Load) -> Self {
        let next_item = AtomicU64::new(load.items);
        Self { design, generator: Generator::new(load), next_item }
    }

    /// Writes the vectors of a version, and makes readers use it.
    fn refresh(&self, version: u32) -> Result<()> {
        let entities: Vec<Entity> = self.generator.entities().collect();
        for part in entities.chunks(BATCH_VECTORS) {
            let vector = |of: &Entity| self.generator.vector(*of, version);
            let vectors: Vec<Vector> = part.iter().map(vector).collect();
            self.design.write_vectors(version, &vectors)?;
        }
        self.design.switch_to(version)
    }
}

impl Application for FeaturesApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let mut behavior = Vec::new();
        for number in items {
            match self.generator.item(number) {
                Item::Behavior(one) => behavior.push(one),
                Item::Vectors(version) => {
                    self.design.record(&std::mem::take(&mut behavior))?;
                    self.refresh(version)?;
                }
            }
        }
        self.design.record(&behavior)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let items: Vec<u64> = (0..load::RANKED_ITEMS.min(self.generator.products())).collect();
        let ranking = self.design.ranking(0, &items)?;
        writeln!(out, "{} items for user 0, vectors of version {}", items.len(), ranking.version)?;
        let user = ranking.user.unwrap_or_default();
        let score = |vector: &[f32]| -> f32 { user.iter().zip(vector).map(|(a, b)| a * b).sum() };
        let scored =
            ranking.items.iter().filter_map(|item| Some((score(item.vector.as_ref()?), item)));
        let mut scored: Vec<_> = scored.collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (score, item) in scored.iter().take(SHOWN) {
            let clicks: i64 = item.clicks.iter().map(|(_, number)| number).sum();
            writeln!(out, "  item {:>6}  score {score:>6.2}  {clicks:>5} clicks", item.item)?;
        }
        for user in 0..2 {
            let recent = self.design.recent(user, SHOWN)?;
            writeln!(out, "user {user}, last behavior: {} rows examined", recent.examined)?;
            for Behavior { item, at_ms, kind, .. } in recent.items {
                writeln!(out, "  minute {:>5}  {kind:<6} item {item}", (at_ms - T0) / 60_000)?;
            }
        }
        Ok(())
    }

    fn queries(&self) -> Vec<NamedQuery> {
        vec![
            NamedQuery::new("recent", "what user 0 did last", "events", ["user=0".to_owned()])
                .limit(RECENT),
            NamedQuery::new(
                "user",
                "the features of user 0",
                "user_features",
                ["user=0".to_owned()],
            ),
            NamedQuery::new(
                "ranking of 500",
                "the features of some items, each a row",
                "item_features",
                ["item=1,2,3,4,5".to_owned()],
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        load::operate(self, number, part, outcome)
    }

    fn repair(&self) -> Result<u64> {
        self.design.repair()
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        oracle(&*self.design, &self.generator, written)?.verify(&*self.design, &self.generator)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        // The same ones again and again.
        let ranked: Vec<u64> = (0..WATCHED_ITEMS.min(self.generator.products())).collect();
        let (mut verified, mut version) = (Verified::default(), 0);
        let rank = || {
            let ranking = self.design.ranking(0, &ranked)?;
            verify_vectors(&self.generator, 0, &ranked, &ranking)?;
            ensure!(
                ranking.version >= version,
                "version {} is in use after version {version}",
                ranking.version
            );
            version = ranking.version;
            verified.add(ranked.len() as u64 + 1, ranked.len() as u64 + 1);
            Ok(())
        };
        read_while(|| items.clone().try_for_each(|number| self.write(number..number + 1)), rank)?;
        Ok(verified)
    }
}
