//! Rows of timelines that posts are pushed to, per second: authors with as many followers as are
//! pushed to publish at once.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::application::FeedApplication;
use super::design::MAX_PUSHED;
use super::load::{later_post, read_pages};
use crate::bench::Measured;
use crate::random::Random;

const AUTHORS: u64 = 16;
const WRITERS: u64 = 64;
const DURATION: Duration = Duration::from_secs(3);
const PAGES_PER_SECOND: u32 = 100;
/// Purpose of the random numbers.
const READERS: u64 = 12;

/// Publishes for some seconds, while pages of other users are read, and prints the rows per second.
/// The authors have no posts and no followers afterwards.
pub(super) fn write(application: &FeedApplication, out: &mut dyn Write) -> Result<()> {
    let FeedApplication { design, generator, .. } = application;
    let users = generator.users();
    let followers = MAX_PUSHED as u64;
    // Behind all users, so that neither they nor their followers are any of them: the timelines of
    // the load stay as they are.
    let authors = users..users + AUTHORS;
    let pairs = || {
        let of_author = |author| {
            let first = authors.end + (author - users) * followers;
            (first..first + followers).map(move |follower| (follower, author))
        };
        authors.clone().flat_map(of_author)
    };
    pairs().try_for_each(|(follower, author)| design.follow(follower, author))?;
    let (posted, rows) = (AtomicU64::new(0), AtomicU64::new(0));
    let post = |number| later_post(application, authors.start + number % AUTHORS, number);
    let start = Instant::now();
    let publish = || -> Result<()> {
        while start.elapsed() < DURATION {
            let number = posted.fetch_add(1, Ordering::Relaxed);
            rows.fetch_add(design.publish(&post(number))?, Ordering::Relaxed);
        }
        Ok(())
    };
    let mut pages = Measured::new()?;
    let mut random = Random::new(generator.load.seed, READERS, 0);
    let reader = || Ok(random.below(users));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(publish)).collect();
        let read = read_pages(application, DURATION, PAGES_PER_SECOND, reader, &mut pages);
        writers.into_iter().try_for_each(|writer| {
            writer.join().unwrap_or_else(|_| anyhow::bail!("a writer panicked"))
        })?;
        read
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let posted = posted.into_inner();
    (0..posted).try_for_each(|number| design.delete(&post(number)))?;
    pairs().try_for_each(|(follower, author)| design.unfollow(follower, author))?;
    #[expect(clippy::cast_precision_loss, reason = "a rate has a few digits")]
    let per_second = |count: u64| count as f64 / seconds;
    writeln!(
        out,
        "\n{:.0} rows of timelines per second, of {:.0} posts with {followers} followers; pages \
         meanwhile: p50 {:.2} ms, p99 {:.2} ms",
        per_second(rows.into_inner()),
        per_second(posted),
        pages.milliseconds(0.5),
        pages.milliseconds(0.99),
    )?;
    Ok(())
}
