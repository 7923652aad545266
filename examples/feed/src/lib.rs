//! Feed of friends: posts are pushed to the timelines of followers, except those of celebrities,
//! which each reader pulls.
//!
//! `key.rs` contains the tables, [`Feed`] follows, `publish.rs` posts, `timeline.rs` reads,
//! `reactions.rs` likes and comments, and `repair.rs` completes what a stopped writer left. The code
//! uses the public API only.
#![forbid(unsafe_code)]

mod feed;
mod key;
mod publish;
mod reactions;
mod repair;
mod timeline;

pub use feed::{Feed, Options};
pub use key::{
    CommentKey, FollowKey, FollowerKey, LikeKey, OutboxKey, PostKey, TABLES, TimelineKey,
};
pub use reactions::Comment;
pub use timeline::{Page, Position};

/// Post of a user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Post {
    pub author: u64,
    /// Time in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    pub id: u64,
    pub text: String,
}
