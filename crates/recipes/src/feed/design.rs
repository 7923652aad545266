//! Interface of a design of feeds: what the generator writes and what the check reads.

use std::collections::BTreeSet;

use anyhow::Result;
use feed::{Comment, Feed, Options, Page, Position, Post};
use halite::rowkey::{Page as Rows, PageToken};

use crate::recipe::Site;

/// Followers of an author whose posts are pushed: few, so that small loads have celebrities too.
pub const MAX_PUSHED: usize = 30;

/// Design of feeds.
pub trait Design: Send + Sync {
    /// Makes a user follow an author.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn follow(&self, follower: u64, author: u64) -> Result<()>;

    /// Ends that a user follows an author.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn unfollow(&self, follower: u64, author: u64) -> Result<()>;

    /// Returns whom a user follows.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn follows(&self, follower: u64) -> Result<BTreeSet<u64>>;

    /// Publishes a post. Returns the number of timelines that it was pushed to.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn publish(&self, post: &Post) -> Result<u64>;

    /// Deletes a post.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn delete(&self, post: &Post) -> Result<()>;

    /// Returns `true` if a post exists.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn exists(&self, post: &Post) -> Result<bool>;

    /// Likes a post; once, however often it is called.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn like(&self, user: u64, post: u64) -> Result<()>;

    /// Returns `true` if a user likes a post.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn has_liked(&self, user: u64, post: u64) -> Result<bool>;

    /// Returns the number of likes of a post.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn likes(&self, post: u64) -> Result<i64>;

    /// Comments on a post; once, however often it is called.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn comment(&self, comment: &Comment) -> Result<()>;

    /// Returns `true` if a comment was sent.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn has_commented(&self, comment: &Comment) -> Result<bool>;

    /// Returns the number of comments on a post.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn comment_count(&self, post: u64) -> Result<i64>;

    /// Returns a page of the comments on a post, oldest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn comments(&self, post: u64, limit: usize, after: Option<&PageToken>)
    -> Result<Rows<Comment>>;

    /// Returns a page of a user's feed.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn page(&self, owner: u64, limit: usize, after: Option<Position>) -> Result<Page>;

    /// Completes interrupted writes. Returns the number of rows that were not right.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self) -> Result<u64>;
}

/// Opens the design of `examples/feed`.
pub(super) fn feed(site: &Site) -> Result<Box<dyn Design>> {
    let options = Options { max_pushed: MAX_PUSHED, ..Options::default() };
    Ok(Box::new(Feed::open(&site.cluster, &site.namespace, options)?))
}

impl Design for Feed {
    fn follow(&self, follower: u64, author: u64) -> Result<()> {
        Ok(Self::follow(self, follower, author)?)
    }

    fn unfollow(&self, follower: u64, author: u64) -> Result<()> {
        Ok(Self::unfollow(self, follower, author)?)
    }

    fn follows(&self, follower: u64) -> Result<BTreeSet<u64>> {
        Ok(Self::follows(self, follower)?.into_keys().collect())
    }

    fn publish(&self, post: &Post) -> Result<u64> {
        Ok(Self::publish(self, post)?)
    }

    fn delete(&self, post: &Post) -> Result<()> {
        Ok(Self::delete(self, post)?)
    }

    fn exists(&self, post: &Post) -> Result<bool> {
        Ok(Self::exists(self, post)?)
    }

    fn like(&self, user: u64, post: u64) -> Result<()> {
        Self::like(self, user, post, 0)?;
        Ok(())
    }

    fn has_liked(&self, user: u64, post: u64) -> Result<bool> {
        Ok(Self::has_liked(self, user, post)?)
    }

    fn likes(&self, post: u64) -> Result<i64> {
        Ok(Self::likes(self, post)?)
    }

    fn comment(&self, comment: &Comment) -> Result<()> {
        Self::comment(self, comment)?;
        Ok(())
    }

    fn has_commented(&self, comment: &Comment) -> Result<bool> {
        Ok(Self::has_commented(self, comment)?)
    }

    fn comment_count(&self, post: u64) -> Result<i64> {
        Ok(Self::comment_count(self, post)?)
    }

    fn comments(
        &self,
        post: u64,
        limit: usize,
        after: Option<&PageToken>,
    ) -> Result<Rows<Comment>> {
        Ok(Self::comments(self, post, limit, after)?)
    }

    fn page(&self, owner: u64, limit: usize, after: Option<Position>) -> Result<Page> {
        Ok(Self::page(self, owner, limit, after)?)
    }

    fn repair(&self) -> Result<u64> {
        Ok(Self::repair(self)?)
    }
}
