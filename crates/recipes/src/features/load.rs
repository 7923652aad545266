//! Operations of a measurement: half of them rank, as a recommender does for each page.

use std::sync::atomic::Ordering;

use anyhow::Result;
use features::Entity;

use super::application::{FeaturesApplication, RECENT};
use super::generator::Item;
use crate::bench::Part;
use crate::random::Random;
use crate::recipe::Outcome;

/// Items of a ranking.
pub(super) const RANKED_ITEMS: u64 = 500;
/// Vectors of a write.
const BATCH_VECTORS: u64 = 100;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(
    application: &FeaturesApplication,
    number: u64,
    part: Part,
    outcome: &mut Outcome,
) -> Result<()> {
    let FeaturesApplication { design, generator, next_item } = application;
    let mut random = Random::new(generator.load.seed, OPERATIONS, number);
    let (users, products) = (generator.users(), generator.products());
    match part.draw(&mut random, 100, 30..99) {
        0..30 => {
            outcome.begin(0);
            let item = next_item.fetch_add(1, Ordering::Relaxed);
            if let Item::Behavior(behavior) = generator.item(item) {
                design.record(&[behavior])?;
            }
            outcome.returned = 1;
        }
        30..80 => {
            outcome.begin(1);
            // Any items: a recommender chooses them by other means.
            let first = random.below(products);
            let ranked = RANKED_ITEMS.min(products);
            let step = products / ranked;
            let items: Vec<u64> = (0..ranked).map(|n| (first + n * step) % products).collect();
            let ranking = design.ranking(random.zipf(users), &items)?;
            outcome.returned = ranking.items.len() as u64 + 1;
        }
        80..99 => {
            outcome.begin(2);
            outcome.returned = design.recent(random.zipf(users), RECENT)?.items.len() as u64;
        }
        _ => {
            outcome.begin(3);
            // Vectors of the next version, which no reader uses yet.
            let version = design.version()? + 1;
            let first = random.below(products);
            let entity = |n| Entity::Item((first + n) % products);
            let vectors: Vec<_> =
                (0..BATCH_VECTORS).map(|n| generator.vector(entity(n), version)).collect();
            design.write_vectors(version, &vectors)?;
            outcome.returned = BATCH_VECTORS;
        }
    }
    Ok(())
}
