//! Operations of a measurement: most of them read pages, as users do.

use std::sync::atomic::Ordering;

use anyhow::Result;

use super::application::FeedApplication;
use super::generator::Item;
use crate::bench::Part;
use crate::random::Random;
use crate::recipe::{Application as _, Outcome};

/// Posts of a page.
pub(super) const PAGE_POSTS: usize = 20;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(application: &FeedApplication, number: u64, part: Part) -> Result<Outcome> {
    let FeedApplication { design, generator, next_item } = application;
    let mut random = Random::new(generator.load.seed, OPERATIONS, number);
    let outcome = |operation, returned, examined| Outcome { operation, returned, examined };
    match part.draw(&mut random, 100, 30..100) {
        0..30 => {
            let number = next_item.fetch_add(1, Ordering::Relaxed);
            if let Item::Publish(post) = generator.item(number) {
                return Ok(outcome(1, design.publish(&post)?, 0));
            }
            application.write(number..number + 1)?;
            Ok(outcome(0, 1, 0))
        }
        30..90 => {
            let page = design.page(random.below(generator.users()), PAGE_POSTS, None)?;
            Ok(outcome(2, page.posts.len() as u64, page.examined))
        }
        _ => {
            design.likes(random.below(generator.load.items))?;
            Ok(outcome(3, 1, 0))
        }
    }
}
