//! Whom users follow.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite::{
    BlockingCluster, BlockingTable, CountedRows, Delete, FanOut, Get, Put, Result, Row, RowOp,
    Scan, ShardedCounters, declare_tables,
};

use crate::key::{
    CelebrityKey, CommentKey, CountKey, FollowKey, FollowerKey, LikeKey, OutboxKey, PostKey,
    SHARDS, TABLES, TimelineKey,
};
use crate::reactions::{COMMENT_TEXT, COMMENTS, COUNTS, LIKED_AT, LIKES};

/// Family of posts.
pub(crate) const POSTS: &str = "p";
/// Family of the rows of `follows` and `followers`, and of celebrities; their column says whether
/// posts are pulled.
pub(crate) const FOLLOWS: &str = "f";
pub(crate) const CELEBRITIES: &str = "c";
pub(crate) const PULLED: &str = "p";

/// Limits of a feed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Followers of an author whose posts are pushed. With more, readers pull them.
    pub max_pushed: usize,
    /// Posts of an author that a new follower finds in their timeline, the newest.
    pub backfill: usize,
}

/// Feeds of all users, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Feed {
    pub(crate) posts: BlockingTable,
    /// Posts that have not reached all timelines yet.
    pub(crate) outbox: FanOut,
    pub(crate) follows: BlockingTable,
    pub(crate) followers: BlockingTable,
    pub(crate) timeline: BlockingTable,
    pub(crate) celebrities: BlockingTable,
    pub(crate) like_rows: BlockingTable,
    pub(crate) comment_rows: BlockingTable,
    pub(crate) likes: Arc<CountedRows>,
    pub(crate) comments: Arc<CountedRows>,
    pub(crate) options: Options,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_pushed: 10_000, backfill: 1_000 }
    }
}

impl Feed {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str, options: Options) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let table = |name: &str| cluster.table(&format!("{namespace}:{name}"));
        let (like_rows, comment_rows) = (table(LikeKey::TABLE)?, table(CommentKey::TABLE)?);
        let counts = table(CountKey::TABLE)?.inner().clone();
        let counted = |rows: &BlockingTable, family, column| -> Result<Arc<CountedRows>> {
            let counters = ShardedCounters::new(SHARDS, COUNTS, family)?;
            let (rows, counts) = (rows.inner().clone(), counts.clone());
            Ok(Arc::new(CountedRows::new(rows, family, column, counts, counters)))
        };
        Ok(Self {
            posts: table(PostKey::TABLE)?,
            outbox: FanOut::new(table(OutboxKey::TABLE)?.inner().clone(), POSTS),
            follows: table(FollowKey::TABLE)?,
            followers: table(FollowerKey::TABLE)?,
            timeline: table(TimelineKey::TABLE)?,
            celebrities: table(CelebrityKey::TABLE)?,
            likes: counted(&like_rows, LIKES, LIKED_AT)?,
            comments: counted(&comment_rows, COMMENTS, COMMENT_TEXT)?,
            like_rows,
            comment_rows,
            options,
        })
    }

    /// Makes a user follow an author, and puts the author's newest posts into the timeline. The
    /// user follows when that is done: a writer that stops before leaves one who does not follow.
    pub fn follow(&self, follower: u64, author: u64) -> Result<()> {
        let row = FollowerKey { author, follower }.encode()?;
        self.followers.put(Put::new(row).add(FOLLOWS, PULLED, flag(false)))?;
        let newest = PostKey::scan().author(author).limit(self.options.backfill).plan()?;
        let posts = self.posts.query(newest, Scan::all())?;
        let puts = posts.map(|row| pushed(follower, &PostKey::decode(row?.key())?));
        self.timeline.apply_all(puts.collect::<Result<_>>()?)?;

        let follow = |is_pulled: bool| {
            let row = FollowKey { follower, author }.encode()?;
            self.follows.put(Put::new(row).add(FOLLOWS, PULLED, flag(is_pulled)))
        };
        let is_pulled = self.celebrity(author)?.is_some();
        follow(is_pulled)?;
        // A writer that made the author a celebrity meanwhile may not have found this follower.
        if !is_pulled && self.celebrity(author)?.is_some() {
            follow(true)?;
        }
        Ok(())
    }

    /// Ends that a user follows an author. The posts remain in the timeline, where readers leave
    /// them out.
    pub fn unfollow(&self, follower: u64, author: u64) -> Result<()> {
        self.follows.delete(Delete::new(FollowKey { follower, author }.encode()?))?;
        self.followers.delete(Delete::new(FollowerKey { author, follower }.encode()?))
    }

    /// Returns whom a user follows, and whether their posts are pulled.
    pub fn follows(&self, follower: u64) -> Result<BTreeMap<u64, bool>> {
        let plan = FollowKey::scan().follower(follower).plan()?;
        let author = |row: Result<Row>| {
            let row = row?;
            let is_pulled = row.value(FOLLOWS, PULLED) == Some(&flag(true));
            Ok((FollowKey::decode(row.key())?.author, is_pulled))
        };
        self.follows.query(plan, Scan::all())?.map(author).collect()
    }

    /// Returns whether all followers of an author pull their posts; `None` for one who is no
    /// celebrity.
    pub(crate) fn celebrity(&self, author: u64) -> Result<Option<bool>> {
        let row = self.celebrities.get(Get::new(CelebrityKey { author }.encode()?))?;
        Ok(row.value(CELEBRITIES, PULLED).map(|value| value == flag(true)))
    }
}

/// Returns the bytes of a `BOOL`.
pub(crate) fn flag(is_set: bool) -> [u8; 1] {
    [if is_set { 0xff } else { 0 }]
}

/// Returns the write of a post in a timeline. It always has the same bytes.
pub(crate) fn pushed(owner: u64, post: &PostKey) -> Result<RowOp> {
    let row = TimelineKey { owner, ts: post.ts, id: post.id }.encode()?;
    Ok(Put::new(row).add("t", "a", post.author.to_be_bytes()).into())
}
