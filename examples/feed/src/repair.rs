//! Repair: what a stopped writer left between its writes.

use std::collections::BTreeSet;

use halite::{Delete, Get, Put, Result, Scan, block_on};

use crate::Post;
use crate::feed::{FOLLOWS, Feed, PULLED, flag};
use crate::key::{CelebrityKey, CommentKey, FollowKey, FollowerKey, LikeKey, OutboxKey};
use crate::reactions::counter_name;

/// Posts that are read at once.
const JOBS: usize = 100;

impl Feed {
    /// Completes posts that have not reached all timelines, removes followers who do not
    /// follow, completes celebrities whose followers do not pull yet, adds what a follow lacks,
    /// and counts likes and comments. Returns the number of rows that were not right. The scans
    /// read the tables of followers, likes and comments; others must not follow, like or
    /// comment meanwhile: what is not counted yet would be counted twice.
    pub fn repair(&self) -> Result<u64> {
        Ok(self.repair_outbox()?
            + self.repair_follows()?
            + self.repair_celebrities()?
            + self.repair_followed()?
            + block_on(self.likes.repair(|row| counter_name(LikeKey::decode(row.key())?.post)))?
            + block_on(
                self.comments.repair(|row| counter_name(CommentKey::decode(row.key())?.post)),
            )?)
    }

    fn repair_outbox(&self) -> Result<u64> {
        let (mut repaired, mut after) = (0, None);
        loop {
            // Once through: others may publish meanwhile, without an end.
            let jobs = block_on(self.outbox.unfinished(after.as_deref(), JOBS))?;
            for job in &jobs {
                let OutboxKey { author, ts, id } = OutboxKey::decode(&job.row)?;
                let text = String::from_utf8_lossy(&job.payload).into_owned();
                self.deliver(&Post { author, at_ms: ts.0, id, text }, job)?;
            }
            let Some(last) = jobs.last() else { return Ok(repaired) };
            after = Some(last.row.clone());
            repaired += jobs.len() as u64;
        }
    }

    /// Removes followers who do not follow: `follows` is written last and deleted first.
    fn repair_follows(&self) -> Result<u64> {
        let mut repaired = 0;
        for row in self.followers.scan(Scan::all()) {
            let row = row?;
            let FollowerKey { author, follower } = FollowerKey::decode(row.key())?;
            if !self.follows.exists(Get::new(FollowKey { follower, author }.encode()?))? {
                self.followers.delete(Delete::new(row.key().to_vec()))?;
                repaired += 1;
            }
        }
        Ok(repaired)
    }

    /// Lets posts come to all who follow: adds missing followers, and lets those pull whose author
    /// became a celebrity while they began to follow.
    fn repair_followed(&self) -> Result<u64> {
        let mut celebrities = BTreeSet::new();
        for row in self.celebrities.scan(Scan::all()) {
            celebrities.insert(CelebrityKey::decode(row?.key())?.author);
        }
        let mut repaired = 0;
        for row in self.follows.scan(Scan::all()) {
            let row = row?;
            let FollowKey { follower, author } = FollowKey::decode(row.key())?;
            let followed = FollowerKey { author, follower }.encode()?;
            if !self.followers.exists(Get::new(followed.clone()))? {
                self.followers.put(Put::new(followed).add(FOLLOWS, PULLED, flag(false)))?;
                repaired += 1;
            }
            if celebrities.contains(&author) && row.value(FOLLOWS, PULLED) != Some(&flag(true)) {
                let put = Put::new(row.key().to_vec()).add(FOLLOWS, PULLED, flag(true));
                self.follows.put(put)?;
                repaired += 1;
            }
        }
        Ok(repaired)
    }

    fn repair_celebrities(&self) -> Result<u64> {
        let mut repaired = 0;
        for row in self.celebrities.scan(Scan::all()) {
            let CelebrityKey { author } = CelebrityKey::decode(row?.key())?;
            if self.celebrity(author)? == Some(false) {
                self.promote(author)?;
                repaired += 1;
            }
        }
        Ok(repaired)
    }
}
