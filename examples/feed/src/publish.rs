//! Posts: written once, and pushed to the timelines of all followers in parts.
//!
//! A post is in the outbox until it has reached the last timeline, with the follower that it
//! reached last. A repair continues from that one ([`Feed::repair`]).

use halite::rowkey::typed::TsMillis;
use halite::{Delete, Get, Put, Result, RowOp};

use crate::Post;
use crate::feed::{CELEBRITIES, FOLLOWS, Feed, PULLED, flag, pushed, read, write};
use crate::key::{CelebrityKey, FollowKey, FollowerKey, OutboxKey, PostKey};

/// Family and columns of posts.
pub(crate) const POSTS: &str = "p";
pub(crate) const TEXT: &str = "t";
pub(crate) const REACHED: &str = "r";
/// Timelines written at once.
const PUSHED_ROWS: usize = 500;

impl Post {
    pub(crate) fn key(&self) -> PostKey {
        PostKey { author: self.author, ts: TsMillis(self.at_ms), id: self.id }
    }

    pub(crate) fn outbox_key(&self) -> OutboxKey {
        OutboxKey { author: self.author, ts: TsMillis(self.at_ms), id: self.id }
    }
}

impl Feed {
    /// Publishes a post, and pushes it to the timelines of the author's followers unless they pull.
    /// Publishing it again has no effect.
    ///
    /// # Errors
    /// As [`halite::BlockingTable::batch`].
    pub fn publish(&self, post: &Post) -> Result<()> {
        let row = post.outbox_key().encode()?;
        self.outbox.put(Put::new(row).add(POSTS, TEXT, &post.text))?;
        self.deliver(post, None)
    }

    /// Writes a post that is in the outbox, and pushes it to the followers after `reached`.
    pub(crate) fn deliver(&self, post: &Post, mut reached: Option<u64>) -> Result<()> {
        self.posts.put(Put::new(post.key().encode()?).add(POSTS, TEXT, &post.text))?;
        let outbox_row = post.outbox_key().encode()?.to_vec();
        let mut count = 0;
        while self.celebrity(post.author)? != Some(true) {
            let followers = self.followers_after(post.author, reached)?;
            count += followers.len();
            let push = |owner: &u64| pushed(*owner, &post.key());
            write(&self.timeline, followers.iter().map(push).collect::<Result<_>>()?)?;
            reached = followers.last().copied();
            let Some(last) = reached.filter(|_| followers.len() == PUSHED_ROWS) else { break };
            let put = Put::new(outbox_row.clone()).add(POSTS, REACHED, last.to_be_bytes());
            self.outbox.put(put)?;
        }
        if count > self.options.max_pushed {
            self.promote(post.author)?;
        }
        self.outbox.delete(Delete::new(outbox_row))
    }

    /// Returns some followers of an author, after one of them.
    fn followers_after(&self, author: u64, after: Option<u64>) -> Result<Vec<u64>> {
        let first = after.map_or(0, |after| after.saturating_add(1));
        let plan =
            FollowerKey::scan().author(author).follower(first..).limit(PUSHED_ROWS).plan()?;
        let mut followers = Vec::new();
        read(&self.followers, plan, |row| {
            followers.push(FollowerKey::decode(row.key())?.follower);
            Ok(())
        })?;
        Ok(followers)
    }

    /// Makes all followers of an author pull. Posts are pushed until the last of them does, so that
    /// no follower misses one; a page with a post that was pushed and is pulled has it once.
    pub(crate) fn promote(&self, author: u64) -> Result<()> {
        let row = CelebrityKey { author }.encode()?.to_vec();
        let put = |all: bool| Put::new(row.clone()).add(CELEBRITIES, PULLED, flag(all));
        self.celebrities.put(put(false))?;
        let mut after = None;
        loop {
            let followers = self.followers_after(author, after)?;
            let pull = |follower: &u64| -> Result<RowOp> {
                let row = FollowKey { follower: *follower, author }.encode()?.to_vec();
                // A user who does not follow any more must not begin again.
                let put = Put::new(row.clone()).add(FOLLOWS, PULLED, flag(true));
                let old = flag(false).to_vec();
                let check = halite::CheckAndMutate::if_equals(row, FOLLOWS, PULLED, old, put);
                Ok(check.into())
            };
            write(&self.follows, followers.iter().map(pull).collect::<Result<_>>()?)?;
            after = followers.last().copied();
            if followers.len() < PUSHED_ROWS {
                break;
            }
        }
        self.celebrities.put(put(true))
    }

    /// Deletes a post. Timelines that contain it remain; readers do not find its text.
    ///
    /// # Errors
    /// As [`halite::BlockingTable::delete`].
    pub fn delete(&self, post: &Post) -> Result<()> {
        self.outbox.delete(Delete::new(post.outbox_key().encode()?))?;
        self.posts.delete(Delete::new(post.key().encode()?))
    }

    /// Returns `true` if a post exists.
    ///
    /// # Errors
    /// As [`halite::BlockingTable::get`].
    pub fn exists(&self, post: &Post) -> Result<bool> {
        self.posts.exists(Get::new(post.key().encode()?))
    }
}
