//! Effect of a celebrity's posts on the feeds of users who do not follow the celebrity.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::application::FeedApplication;
use super::load::{later_post, read_pages};
use crate::bench::Measured;
use crate::random::Random;

/// Author with the most followers.
const CELEBRITY: u64 = 0;
/// Pairs of a period without posts of the celebrity and one with them.
const ROUNDS: u64 = 10;
const PERIOD: Duration = Duration::from_secs(1);
const PAGES_PER_PERIOD: u32 = 200;
const POSTS_PER_PERIOD: u32 = 50;
/// Purpose of the random numbers.
const READERS: u64 = 11;

/// Reads pages at a fixed rate in turns without and with posts of the celebrity, and prints the
/// latencies. The posts are deleted afterwards.
pub(super) fn write(application: &FeedApplication, out: &mut dyn Write) -> Result<()> {
    let readers = readers(application)?;
    if readers.is_empty() {
        return Ok(writeln!(out, "every user follows user {CELEBRITY}: no others to compare")?);
    }
    let posted = AtomicU64::new(0);
    let (mut quiet, mut busy) = (Measured::new()?, Measured::new()?);
    for round in 0..ROUNDS {
        read(application, &readers, round, &mut quiet)?;
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let poster = scope.spawn(|| post_until(application, &posted, &is_done));
            let read = read(application, &readers, round, &mut busy);
            is_done.store(true, Ordering::Release);
            poster.join().unwrap_or_else(|_| anyhow::bail!("the poster panicked")).and(read)
        })?;
    }
    let posted = posted.into_inner();
    (0..posted).try_for_each(|number| {
        application.design.delete(&later_post(application, CELEBRITY, number))
    })?;
    let (before, after) = (quiet.milliseconds(0.99), busy.milliseconds(0.99));
    writeln!(
        out,
        "\npages of {} users who do not follow user {CELEBRITY}, {PAGES_PER_PERIOD} per second\n\
         without posts of user {CELEBRITY}: p50 {:.2} ms, p99 {before:.2} ms\n\
         with {} per second: p50 {:.2} ms, p99 {after:.2} ms, {:.2} times",
        readers.len(),
        quiet.milliseconds(0.5),
        posted / ROUNDS,
        busy.milliseconds(0.5),
        after / before.max(f64::MIN_POSITIVE),
    )?;
    Ok(())
}

/// Returns users who do not follow the celebrity.
fn readers(application: &FeedApplication) -> Result<Vec<u64>> {
    let users = application.generator.users();
    let mut random = Random::new(application.generator.load.seed, READERS, 0);
    let sample: BTreeSet<u64> = (0..PAGES_PER_PERIOD).map(|_| random.below(users)).collect();
    let mut readers = Vec::new();
    for user in sample {
        if user != CELEBRITY && !application.design.follows(user)?.contains(&CELEBRITY) {
            readers.push(user);
        }
    }
    Ok(readers)
}

/// Reads the pages of a period, each when it is due.
fn read(
    application: &FeedApplication,
    readers: &[u64],
    round: u64,
    measured: &mut Measured,
) -> Result<()> {
    // The same readers in both periods of a round.
    let mut random = Random::new(application.generator.load.seed, READERS, 1 + round);
    let reader = || Ok(readers[usize::try_from(random.below(readers.len() as u64))?]);
    read_pages(application, PERIOD, PAGES_PER_PERIOD, reader, measured)
}

/// Publishes posts of the celebrity until the period is over.
fn post_until(
    application: &FeedApplication,
    posted: &AtomicU64,
    is_done: &AtomicBool,
) -> Result<()> {
    while !is_done.load(Ordering::Acquire) {
        let began = Instant::now();
        let number = posted.fetch_add(1, Ordering::Relaxed);
        application.design.publish(&later_post(application, CELEBRITY, number))?;
        std::thread::sleep((PERIOD / POSTS_PER_PERIOD).saturating_sub(began.elapsed()));
    }
    Ok(())
}
