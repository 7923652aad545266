//! Repair: what a stopped writer left between its writes.

use std::collections::BTreeMap;

use halite::{Delete, Get, Result, Scan, block_on};

use crate::Post;
use crate::feed::Feed;
use crate::key::{CelebrityKey, FollowKey, FollowerKey, LikeKey, OutboxKey};

/// Posts that are read at once.
const JOBS: usize = 100;

impl Feed {
    /// Completes posts that have not reached all timelines, removes followers who do not follow,
    /// completes celebrities whose followers do not pull yet, and counts likes. Returns the number
    /// of rows that were not right. The scans read the tables of followers and likes; others must
    /// not like or follow meanwhile: a like that is not counted yet would be counted twice.
    pub fn repair(&self) -> Result<u64> {
        Ok(self.repair_outbox()?
            + self.repair_follows()?
            + self.repair_celebrities()?
            + self.repair_likes()?)
    }

    fn repair_outbox(&self) -> Result<u64> {
        let mut repaired = 0;
        loop {
            // Those that are delivered leave the outbox.
            let jobs = block_on(self.outbox.unfinished(None, JOBS))?;
            for job in &jobs {
                let OutboxKey { author, ts, id } = OutboxKey::decode(&job.row)?;
                let text = String::from_utf8_lossy(&job.payload).into_owned();
                self.deliver(&Post { author, at_ms: ts.0, id, text }, job)?;
            }
            if jobs.is_empty() {
                return Ok(repaired);
            }
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

    fn repair_likes(&self) -> Result<u64> {
        let mut likes: BTreeMap<u64, i64> = BTreeMap::new();
        for row in self.likes.scan(Scan::all()) {
            *likes.entry(LikeKey::decode(row?.key())?.post).or_default() += 1;
        }
        let mut repaired = 0;
        for (post, expected) in likes {
            let counted = self.likes(post)?;
            if counted != expected {
                self.count_likes(post, expected - counted)?;
                repaired += 1;
            }
        }
        Ok(repaired)
    }
}
