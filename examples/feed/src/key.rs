//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::typed::TsMillis;

/// Shards of a counter.
pub(crate) const SHARDS: u8 = 8;

/// The tables. Who follows whom is stored in both directions: readers ask whom a user follows, and
/// writers by whom they are followed.
pub const TABLES: &[&str] = &[
    PostKey::CREATE_TABLE,
    OutboxKey::CREATE_TABLE,
    FollowKey::CREATE_TABLE,
    FollowerKey::CREATE_TABLE,
    TimelineKey::CREATE_TABLE,
    LikeKey::CREATE_TABLE,
    CommentKey::CREATE_TABLE,
    CountKey::CREATE_TABLE,
    CelebrityKey::CREATE_TABLE,
];

/// Key of `posts`: an author and their posts, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "posts",
    salt(16, by = "author"),
    columns = "text STRING FAMILY p QUALIFIER t NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (of_author: author = ? ORDER BY ts DESC LIMIT 20) SPLIT BY SALT"
)]
pub struct PostKey {
    pub author: u64,
    /// Time.
    #[key(desc)]
    pub ts: TsMillis,
    /// Two posts of one millisecond are two rows.
    pub id: u64,
}

/// Key of `outbox`: posts that have not reached all timelines yet, as the jobs of a
/// [`halite::FanOut`].
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "outbox",
    salt(16, by = "author"),
    columns = "text STRING FAMILY p QUALIFIER p NOT NULL, reached BYTES FAMILY p QUALIFIER c",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF') SPLIT BY SALT"
)]
pub struct OutboxKey {
    pub author: u64,
    /// Time.
    #[key(desc)]
    pub ts: TsMillis,
    pub id: u64,
}

/// Key of `follows`: a user and whom they follow.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "follows",
    salt(16, by = "follower"),
    columns = "pulled BOOL FAMILY f QUALIFIER p NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (of_user: follower = ?) SPLIT BY SALT"
)]
pub struct FollowKey {
    pub follower: u64,
    pub author: u64,
}

/// Key of `followers`: a user and who follows them.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "followers",
    salt(16, by = "author"),
    columns = "pulled BOOL FAMILY f QUALIFIER p NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (of_author: author = ?) SPLIT BY SALT"
)]
pub struct FollowerKey {
    pub author: u64,
    pub follower: u64,
}

/// Key of `timeline`: a user and the posts that were pushed to them, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "timeline",
    salt(16, by = "owner"),
    columns = "author U64 FAMILY t QUALIFIER a NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', TTL = 7776000)
      WITH QUERIES (page: owner = ? ORDER BY ts DESC LIMIT 20) SPLIT BY SALT"
)]
pub struct TimelineKey {
    pub owner: u64,
    /// Time of the post.
    #[key(desc)]
    pub ts: TsMillis,
    pub id: u64,
}

/// Key of `likes`: a post and who likes it.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "likes",
    salt(16, by = "post"),
    columns = "at TIMESTAMP FAMILY l QUALIFIER a NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (of_post: post = ?) SPLIT BY SALT"
)]
pub struct LikeKey {
    pub post: u64,
    pub user: u64,
}

/// Key of `comments`: a post and the comments on it, oldest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "comments",
    salt(16, by = "post"),
    columns = "user U64 FAMILY c QUALIFIER u NOT NULL, text STRING FAMILY c QUALIFIER t NOT NULL",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (of_post: post = ? LIMIT 20) SPLIT BY SALT"
)]
pub struct CommentKey {
    pub post: u64,
    /// Time.
    pub ts: TsMillis,
    pub id: u64,
}

/// Key of `celebrities`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "celebrities",
    salt(16, by = "author"),
    columns = "pulled BOOL FAMILY c QUALIFIER p NOT NULL",
    options = "WITH QUERIES (of_author: author = ?) SPLIT BY SALT"
)]
pub(crate) struct CelebrityKey {
    pub(crate) author: u64,
}

/// Key of `counts`: the rows of sharded counters of likes and comments.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "counts",
    columns = "likes I64 COUNTER FAMILY n QUALIFIER l, comments I64 COUNTER FAMILY n QUALIFIER c",
    options = "WITH (MERGE = 'SUM', DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (of_post: shard = ? AND post = ?)
      SPLIT AT (x'01', x'02', x'03', x'04', x'05', x'06', x'07')"
)]
pub(crate) struct CountKey {
    pub(crate) shard: u8,
    pub(crate) post: u64,
}
