//! Likes: a row for each, so that a user likes a post once, and a sharded counter.

use halite::{CheckAndMutate, Error, Get, Put, Result};

use crate::feed::Feed;
use crate::key::{LikeCountKey, LikeKey};

/// Family and column of a like.
const LIKES: &str = "l";
const AT: &str = "a";

impl Feed {
    /// Likes a post. Returns `false` if the user liked it before.
    pub fn like(&self, user: u64, post: u64, at_ms: i64) -> Result<bool> {
        let row = LikeKey { post, user }.encode()?.to_vec();
        let put = Put::new(row.clone()).add(LIKES, AT, at_ms.to_be_bytes());
        let is_new =
            self.likes.check_and_mutate(CheckAndMutate::if_not_exists(row, LIKES, AT, put))?;
        if is_new {
            self.count_likes(post, 1)?;
        }
        Ok(is_new)
    }

    /// Returns `true` if a user likes a post.
    pub fn has_liked(&self, user: u64, post: u64) -> Result<bool> {
        self.likes.exists(Get::new(LikeKey { post, user }.encode()?))
    }

    /// Returns the number of likes of a post.
    pub fn likes(&self, post: u64) -> Result<i64> {
        self.like_counts.counter(&self.counters, &counter_name(post)?)
    }

    pub(crate) fn count_likes(&self, post: u64, number: i64) -> Result<()> {
        let increment = self.counters.increment(&counter_name(post)?, number);
        self.like_counts.mutate(increment).map(drop)
    }
}

/// Returns the name of a counter: the key of its rows without the shard.
fn counter_name(post: u64) -> Result<Vec<u8>> {
    let key = LikeCountKey { shard: 0, post }.encode()?;
    let (_, name) = key.split_first().ok_or_else(|| Error::corrupt("the key of likes is empty"))?;
    Ok(name.to_vec())
}
