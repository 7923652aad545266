//! Posts: written once, and pushed to the timelines of all followers in parts.
//!
//! A post is in the outbox until it has reached the last timeline, with the place where it is. A
//! repair continues there ([`Feed::repair`]).

use halite::rowkey::typed::TsMillis;
use halite::{CheckAndMutate, Delete, FanOutJob, Get, Put, Result, Row, RowOp, block_on};

use crate::Post;
use crate::feed::{CELEBRITIES, FOLLOWS, Feed, POSTS, PULLED, flag, pushed};
use crate::key::{CelebrityKey, FollowKey, FollowerKey, OutboxKey, PostKey};

/// Column of the text of a post.
pub(crate) const TEXT: &str = "t";
/// Rows of followers changed at once.
const CHANGED_ROWS: usize = 500;

impl Post {
    pub(crate) fn key(&self) -> PostKey {
        PostKey { author: self.author, ts: TsMillis(self.at_ms), id: self.id }
    }

    /// Returns the timestamp of the cell of the post.
    fn stamp(&self) -> i64 {
        self.at_ms.max(0)
    }

    pub(crate) fn outbox_key(&self) -> OutboxKey {
        OutboxKey { author: self.author, ts: TsMillis(self.at_ms), id: self.id }
    }
}

impl Feed {
    /// Publishes a post, and pushes it to the timelines of the author's followers unless they pull.
    /// Returns the number of timelines that it was pushed to. Publishing it again has no effect.
    pub fn publish(&self, post: &Post) -> Result<u64> {
        let row = post.outbox_key().encode()?;
        self.deliver(post, &block_on(self.outbox.begin(row, post.text.clone()))?)
    }

    /// Writes a post that is in the outbox, and pushes it to the followers who are left.
    /// Returns their number.
    pub(crate) fn deliver(&self, post: &Post, job: &FanOutJob) -> Result<u64> {
        // At the time of the post, so that it stays deleted when a repair or a late writer puts it
        // again.
        let put = Put::new(post.key().encode()?).add_at(POSTS, TEXT, post.stamp(), &post.text);
        self.posts.put(put)?;
        let followers = FollowerKey::scan().author(post.author).plan()?;
        let mut parts = self.outbox.parts(job, self.followers.inner().clone(), followers)?;
        let mut count = 0;
        loop {
            if self.celebrity(post.author)? == Some(true) {
                block_on(self.outbox.finish(job.row.clone()))?;
                break;
            }
            let Some(rows) = block_on(parts.next())? else { break };
            count += rows.len();
            let push = |row: &Row| pushed(FollowerKey::decode(row.key())?.follower, &post.key());
            self.timeline.apply_all(rows.iter().map(push).collect::<Result<_>>()?)?;
            // The others, who may be millions, pull.
            if count > self.options.max_pushed {
                self.promote(post.author)?;
            }
        }
        Ok(count as u64)
    }

    /// Makes all followers of an author pull. Posts are pushed until the last of them does, so that
    /// no follower misses one; a page with a post that was pushed and is pulled has it once.
    pub(crate) fn promote(&self, author: u64) -> Result<()> {
        let row = CelebrityKey { author }.encode()?.to_vec();
        let put = |all: bool| Put::new(row.clone()).add(CELEBRITIES, PULLED, flag(all));
        self.celebrities.put(put(false))?;
        let plan = FollowerKey::scan().author(author).limit(CHANGED_ROWS).plan()?;
        let mut pulls = self.followers.pages(plan, |row| {
            let FollowerKey { author, follower } = FollowerKey::decode(row.key())?;
            let row = FollowKey { follower, author }.encode()?.to_vec();
            // A user who does not follow any more must not begin again.
            let put = Put::new(row.clone()).add(FOLLOWS, PULLED, flag(true));
            let old = flag(false).to_vec();
            Ok(RowOp::from(CheckAndMutate::if_equals(row, FOLLOWS, PULLED, old, put)))
        });
        while pulls.peek()?.is_some() {
            let part = pulls.by_ref().take(CHANGED_ROWS).collect::<Result<_>>()?;
            self.follows.apply_all(part)?;
        }
        self.celebrities.put(put(true))
    }

    /// Deletes a post. Timelines that contain it remain; readers do not find its text.
    pub fn delete(&self, post: &Post) -> Result<()> {
        block_on(self.outbox.finish(post.outbox_key().encode()?))?;
        self.posts.delete(Delete::new(post.key().encode()?).up_to(post.stamp()))
    }

    /// Returns `true` if a post exists.
    pub fn exists(&self, post: &Post) -> Result<bool> {
        self.posts.exists(Get::new(post.key().encode()?))
    }
}
