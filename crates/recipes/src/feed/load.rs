//! Operations of a measurement: most of them read pages, as users do.

use std::sync::atomic::Ordering;

use anyhow::Result;

use super::application::FeedApplication;
use super::generator::Item;
use crate::random::Random;
use crate::recipe::{Application as _, Outcome};

/// Posts of a page.
pub(super) const PAGE_POSTS: usize = 20;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(application: &FeedApplication, number: u64) -> Result<Outcome> {
    let FeedApplication { design, generator, next_item } = application;
    let mut random = Random::new(generator.load.seed, OPERATIONS, number);
    let outcome = |operation, returned, examined| Outcome { operation, returned, examined };
    match random.below(100) {
        0..30 => {
            let number = next_item.fetch_add(1, Ordering::Relaxed);
            application.write(number..number + 1)?;
            let is_post = matches!(generator.item(number), Item::Publish(_));
            Ok(outcome(is_post.into(), 1, 0))
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
