//! Model of the feeds in memory, and the comparison of a design with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use feed::{Comment, Post};

use super::design::Design;
use super::generator::{Generator, Item};
use crate::recipe::Verified;

/// Posts of a page: few, so that feeds have several pages.
pub(super) const PAGE_POSTS: usize = 7;

/// Comments of a page.
const PAGE_COMMENTS: usize = 3;

/// Follows, posts by author, and likes and comments by post.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    follows: BTreeMap<u64, BTreeSet<u64>>,
    posts: BTreeMap<u64, BTreeMap<(Reverse<i64>, u64), Post>>,
    likes: BTreeMap<u64, BTreeSet<u64>>,
    comments: BTreeMap<u64, BTreeMap<(i64, u64), Comment>>,
}

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn oracle(design: &dyn Design, generator: &Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    (0..written).for_each(|number| oracle.apply(generator.item(number)));
    let next = generator.item(written);
    let is_written = match &next {
        Item::Follow(follower, author) => design.follows(*follower)?.contains(author),
        Item::Unfollow(follower, author) => !design.follows(*follower)?.contains(author),
        Item::Publish(post) => design.exists(post)?,
        Item::Delete(post) => !design.exists(post)?,
        Item::Like(user, post) => design.has_liked(*user, post.id)?,
        Item::Comment(_, comment) => design.has_commented(comment)?,
    };
    if is_written {
        oracle.apply(next);
    }
    Ok(oracle)
}

impl Oracle {
    /// Applies an operation; one that was applied before changes nothing.
    pub(super) fn apply(&mut self, item: Item) {
        match item {
            Item::Follow(follower, author) => {
                self.follows.entry(follower).or_default().insert(author);
            }
            Item::Unfollow(follower, author) => {
                self.follows.entry(follower).or_default().remove(&author);
            }
            Item::Publish(post) => {
                let key = (Reverse(post.at_ms), post.id);
                self.posts.entry(post.author).or_default().insert(key, post);
            }
            Item::Delete(post) => {
                let posts = self.posts.entry(post.author).or_default();
                posts.remove(&(Reverse(post.at_ms), post.id));
            }
            Item::Like(user, post) => drop(self.likes.entry(post.id).or_default().insert(user)),
            Item::Comment(_, comment) => {
                let comments = self.comments.entry(comment.post).or_default();
                comments.insert((comment.at_ms, comment.id), comment);
            }
        }
    }

    /// Returns the feed of a user: the posts of those whom they follow, newest first.
    pub(super) fn feed(&self, user: u64) -> Vec<Post> {
        let authors = self.follows.get(&user).into_iter().flatten();
        let posts = authors.filter_map(|author| self.posts.get(author)).flatten();
        let sorted: BTreeMap<_, _> = posts.collect();
        sorted.into_values().cloned().collect()
    }

    /// Compares all feeds, likes and comments.
    pub(super) fn verify(&self, design: &dyn Design, generator: &Generator) -> Result<Verified> {
        let mut verified = Verified::default();
        for user in 0..generator.users() {
            let expected = self.feed(user);
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = design.page(user, PAGE_POSTS, after)?;
                verified.add(page.posts.len() as u64, page.examined);
                found.extend(page.posts);
                after = page.next;
                // Pages that repeat posts may have no end.
                if after.is_none() || found.len() > expected.len() {
                    break;
                }
            }
            compare(user, &found, &expected)?;
        }
        for (post, users) in &self.likes {
            let (found, expected) = (design.likes(*post)?, users.len());
            ensure!(
                u64::try_from(found).is_ok_and(|found| found == expected as u64),
                "post {post}: {found} likes, expected {expected}"
            );
            verified.add(1, 1);
        }
        for (post, comments) in &self.comments {
            verified += verify_comments(design, *post, comments)?;
        }
        Ok(verified)
    }
}

/// Compares the comments on a post, by pages, and their number.
fn verify_comments(
    design: &dyn Design,
    post: u64,
    expected: &BTreeMap<(i64, u64), Comment>,
) -> Result<Verified> {
    let (mut verified, mut found, mut after) = (Verified::default(), Vec::new(), None);
    loop {
        let page = design.comments(post, PAGE_COMMENTS, after.as_ref())?;
        verified.add(page.items.len() as u64, page.examined);
        found.extend(page.items);
        after = page.next;
        if after.is_none() || found.len() > expected.len() {
            break;
        }
    }
    ensure!(
        found.iter().eq(expected.values()),
        "post {post}: comments {found:?}, expected {expected:?}"
    );
    let count = design.comment_count(post)?;
    ensure!(
        u64::try_from(count).is_ok_and(|count| count == expected.len() as u64),
        "post {post}: {count} comments counted, expected {}",
        expected.len()
    );
    verified.add(1, 1);
    Ok(verified)
}

/// Compares the feed of a user.
pub(super) fn compare(user: u64, found: &[Post], expected: &[Post]) -> Result<()> {
    let at = found.iter().zip(expected).take_while(|(one, other)| one == other).count();
    ensure!(
        found == expected,
        "feed of user {user}: {} posts, expected {}; post {at} is {:?}, expected {:?}",
        found.len(),
        expected.len(),
        found.get(at),
        expected.get(at)
    );
    Ok(())
}
