//! Likes and comments: a row for each, and sharded counters of those of a post.

use halite::rowkey::typed::TsMillis;
use halite::rowkey::{Page, PageToken};
use halite::{Get, Put, Result, block_on};

use crate::feed::Feed;
use crate::key::{CommentKey, CountKey, LikeKey};

/// Families of likes and of comments, which are also the columns of their counters, and the columns
/// that each row has.
pub(crate) const LIKES: &str = "l";
pub(crate) const LIKED_AT: &str = "a";
pub(crate) const COMMENTS: &str = "c";
pub(crate) const COMMENT_TEXT: &str = "t";
/// Family of the counters.
pub(crate) const COUNTS: &str = "n";

/// Comment on a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub post: u64,
    /// Time in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    pub id: u64,
    pub user: u64,
    pub text: String,
}

impl Feed {
    /// Likes a post. Returns `false` if the user liked it before.
    pub fn like(&self, user: u64, post: u64, at_ms: i64) -> Result<bool> {
        let row = LikeKey { post, user }.encode()?;
        let put = Put::new(row).add(LIKES, LIKED_AT, at_ms.to_be_bytes());
        block_on(self.likes.add(&counter_name(post)?, put))
    }

    /// Returns `true` if a user likes a post.
    pub fn has_liked(&self, user: u64, post: u64) -> Result<bool> {
        self.like_rows.exists(Get::new(LikeKey { post, user }.encode()?))
    }

    /// Returns the number of likes of a post.
    pub fn likes(&self, post: u64) -> Result<i64> {
        block_on(self.likes.count(&counter_name(post)?))
    }

    /// Comments on a post. Returns `false` if the comment was sent before.
    pub fn comment(&self, comment: &Comment) -> Result<bool> {
        let put = Put::new(comment.key().encode()?).add(COMMENTS, COMMENT_TEXT, &comment.text).add(
            COMMENTS,
            "u",
            comment.user.to_be_bytes(),
        );
        block_on(self.comments.add(&counter_name(comment.post)?, put))
    }

    /// Returns `true` if a comment was sent.
    pub fn has_commented(&self, comment: &Comment) -> Result<bool> {
        self.comment_rows.exists(Get::new(comment.key().encode()?))
    }

    /// Returns the number of comments on a post.
    pub fn comment_count(&self, post: u64) -> Result<i64> {
        block_on(self.comments.count(&counter_name(post)?))
    }

    /// Returns comments on a post, oldest first.
    pub fn comments(
        &self,
        post: u64,
        limit: usize,
        after: Option<&PageToken>,
    ) -> Result<Page<Comment>> {
        let plan = CommentKey::scan().post(post).limit(limit).plan()?;
        self.comment_rows.page(plan, after)?.try_map(|row| {
            let CommentKey { post, ts, id } = CommentKey::decode(row.key())?;
            let user = row.array(COMMENTS, "u")?.map(u64::from_be_bytes).unwrap_or_default();
            let text = row.text(COMMENTS, COMMENT_TEXT).unwrap_or_default();
            Ok(Comment { post, at_ms: ts.0, id, user, text })
        })
    }
}

impl Comment {
    fn key(&self) -> CommentKey {
        CommentKey { post: self.post, ts: TsMillis(self.at_ms), id: self.id }
    }
}

/// Returns the name of the counters of a post: the key of their rows without the shard.
pub(crate) fn counter_name(post: u64) -> Result<Vec<u8>> {
    let key = CountKey { shard: 0, post }.encode()?;
    Ok(key.iter().skip(1).copied().collect())
}
