//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::typed::TsMillis;

/// Shards of a counter of likes.
pub(crate) const SHARDS: u8 = 8;

/// The tables. Who follows whom is stored in both directions: readers ask whom a user follows, and
/// writers by whom they are followed. `like_counts` has the rows of sharded counters.
pub const TABLES: &str = "
CREATE TABLE posts (
  text STRING FAMILY p QUALIFIER t NOT NULL,
  ROW KEY (SALT(16 BY author), author U64, ts TIMESTAMP DESC, id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (of_author: author = ? ORDER BY ts DESC LIMIT 20)
  SPLIT BY SALT;

CREATE TABLE outbox (
  text STRING FAMILY p QUALIFIER t NOT NULL,
  reached U64 FAMILY p QUALIFIER r,
  ROW KEY (SALT(16 BY author), author U64, ts TIMESTAMP DESC, id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  SPLIT BY SALT;

CREATE TABLE follows (
  pulled BOOL FAMILY f QUALIFIER p NOT NULL,
  ROW KEY (SALT(16 BY follower), follower U64, author U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (of_user: follower = ?)
  SPLIT BY SALT;

CREATE TABLE followers (
  pulled BOOL FAMILY f QUALIFIER p NOT NULL,
  ROW KEY (SALT(16 BY author), author U64, follower U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (of_author: author = ?)
  SPLIT BY SALT;

CREATE TABLE timeline (
  author U64 FAMILY t QUALIFIER a NOT NULL,
  ROW KEY (SALT(16 BY owner), owner U64, ts TIMESTAMP DESC, id U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', TTL = 7776000)
  WITH QUERIES (page: owner = ? ORDER BY ts DESC LIMIT 20)
  SPLIT BY SALT;

CREATE TABLE likes (
  at TIMESTAMP FAMILY l QUALIFIER a NOT NULL,
  ROW KEY (SALT(16 BY post), post U64, user U64)
) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (of_post: post = ?)
  SPLIT BY SALT;

CREATE TABLE like_counts (
  count I64 COUNTER FAMILY n QUALIFIER n,
  ROW KEY (shard U8, post U64)
) WITH (MERGE = 'SUM', DATA_BLOCK_ENCODING = 'FAST_DIFF')
  WITH QUERIES (of_post: shard = ? AND post = ?)
  SPLIT AT (x'01', x'02', x'03', x'04', x'05', x'06', x'07');

CREATE TABLE celebrities (
  pulled BOOL FAMILY c QUALIFIER p NOT NULL,
  ROW KEY (SALT(16 BY author), author U64)
) WITH QUERIES (of_author: author = ?)
  SPLIT BY SALT;
";

/// Key of `posts`: an author and their posts, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "posts", salt(16, by = "author"))]
pub struct PostKey {
    /// Author.
    pub author: u64,
    /// Time.
    #[key(desc)]
    pub ts: TsMillis,
    /// Two posts of one millisecond are two rows.
    pub id: u64,
}

/// Key of `outbox`: posts that have not reached all timelines yet.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "outbox", salt(16, by = "author"))]
pub struct OutboxKey {
    /// Author.
    pub author: u64,
    /// Time.
    #[key(desc)]
    pub ts: TsMillis,
    /// Post.
    pub id: u64,
}

/// Key of `follows`: a user and whom they follow.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "follows", salt(16, by = "follower"))]
pub struct FollowKey {
    /// User who follows.
    pub follower: u64,
    /// User who is followed.
    pub author: u64,
}

/// Key of `followers`: a user and who follows them.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "followers", salt(16, by = "author"))]
pub struct FollowerKey {
    /// User who is followed.
    pub author: u64,
    /// User who follows.
    pub follower: u64,
}

/// Key of `timeline`: a user and the posts that were pushed to them, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "timeline", salt(16, by = "owner"))]
pub struct TimelineKey {
    /// User who reads.
    pub owner: u64,
    /// Time of the post.
    #[key(desc)]
    pub ts: TsMillis,
    /// Post.
    pub id: u64,
}

/// Key of `likes`: a post and who likes it.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "likes", salt(16, by = "post"))]
pub struct LikeKey {
    /// Post.
    pub post: u64,
    /// User.
    pub user: u64,
}

/// Key of `celebrities`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "celebrities", salt(16, by = "author"))]
pub(crate) struct CelebrityKey {
    /// Author.
    pub(crate) author: u64,
}

/// Key of `like_counts`.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "like_counts")]
pub(crate) struct LikeCountKey {
    /// Shard of the counter.
    pub(crate) shard: u8,
    /// Post.
    pub(crate) post: u64,
}

#[cfg(test)]
mod tests {
    use halite::rowkey::language::{Statement, statements};

    use super::*;

    #[test]
    fn derived_keys_are_those_of_the_tables() {
        let keys: Vec<_> = statements(TABLES)
            .unwrap()
            .into_iter()
            .map(|statement| match statement {
                Statement::CreateTable(table) => {
                    (table.descriptor.name().to_string(), table.key.to_string())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [
            (PostKey::TABLE, PostKey::SCHEMA),
            (OutboxKey::TABLE, OutboxKey::SCHEMA),
            (FollowKey::TABLE, FollowKey::SCHEMA),
            (FollowerKey::TABLE, FollowerKey::SCHEMA),
            (TimelineKey::TABLE, TimelineKey::SCHEMA),
            (LikeKey::TABLE, LikeKey::SCHEMA),
            (LikeCountKey::TABLE, LikeCountKey::SCHEMA),
            (CelebrityKey::TABLE, CelebrityKey::SCHEMA),
        ];
        assert_eq!(keys, expected.map(|(table, key)| (table.to_owned(), key.to_owned())));
    }
}
