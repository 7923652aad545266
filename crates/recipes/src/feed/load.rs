//! Operations of a measurement: most of them read pages, as users do.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use feed::Post;

use super::application::FeedApplication;
use super::generator::Item;
use crate::bench::{Measured, Part};
use crate::random::Random;
use crate::recipe::{Application as _, Outcome, T0};

/// Posts of a page.
pub(super) const PAGE_POSTS: usize = 20;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(
    application: &FeedApplication,
    number: u64,
    part: Part,
    outcome: &mut Outcome,
) -> Result<()> {
    let FeedApplication { design, generator, next_item } = application;
    let mut random = Random::new(generator.load.seed, OPERATIONS, number);
    match part.draw(&mut random, 100, 30..100) {
        0..30 => {
            let number = next_item.fetch_add(1, Ordering::Relaxed);
            if let Item::Publish(post) = generator.item(number) {
                outcome.begin(1);
                outcome.returned = design.publish(&post)?;
            } else {
                outcome.begin(0);
                application.write(number..number + 1)?;
                outcome.returned = 1;
            }
        }
        30..90 => {
            outcome.begin(2);
            let page = design.page(random.below(generator.users()), PAGE_POSTS, None)?;
            outcome.returned = page.posts.len() as u64;
        }
        _ => {
            outcome.begin(3);
            design.likes(random.below(generator.load.items))?;
            outcome.returned = 1;
        }
    }
    Ok(())
}

/// Reads pages for a time at a rate, each when it is due; `user` returns whose it is.
pub(super) fn read_pages(
    application: &FeedApplication,
    duration: Duration,
    per_second: u32,
    mut user: impl FnMut() -> Result<u64>,
    measured: &mut Measured,
) -> Result<()> {
    let start = Instant::now();
    for number in 0.. {
        let due = Duration::from_secs(1) * number / per_second;
        if due >= duration {
            break;
        }
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        application.design.page(user()?, PAGE_POSTS, None)?;
        measured.record_latency(start.elapsed().saturating_sub(due));
    }
    std::thread::sleep(duration.saturating_sub(start.elapsed()));
    Ok(())
}

/// Returns a post that is none of the items, after all others.
pub(super) fn later_post(application: &FeedApplication, author: u64, number: u64) -> Post {
    let id = application.next_item.load(Ordering::Relaxed) + number;
    let at_ms = T0.saturating_add_unsigned(id.saturating_mul(1_000));
    Post { author, at_ms, id, text: format!("news {number}") }
}
