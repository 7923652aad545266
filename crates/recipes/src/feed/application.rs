//! The recipe on its tables: users post and follow, and read their feeds.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use anyhow::{Result, ensure};
use feed::Post;

use super::design::Design;
use super::generator::{Generator, Item};
use super::verify::{PAGE_POSTS, oracle};
use super::{celebrity, fan_out, load};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::parts::write_in_parts;
use crate::recipe::{Application, Load, Outcome, T0, Verified};

const SHOWN_POSTS: usize = 5;
/// User whose feed is read while others write.
const READER: u64 = 1;

/// Feeds with the generator of the operations.
pub(super) struct FeedApplication {
    pub(super) design: Box<dyn Design>,
    pub(super) generator: Generator,
    /// Number of the next item that a measurement writes.
    pub(super) next_item: AtomicU64,
}

impl FeedApplication {
    pub(super) fn new(design: Box<dyn Design>, load: Load) -> Self {
        let next_item = AtomicU64::new(load.items);
        Self { design, generator: Generator::new(load), next_item }
    }
}

fn has_repeated(seen: &[u64]) -> bool {
    seen.iter().collect::<BTreeSet<_>>().len() < seen.len()
}

impl Application for FeedApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let author = |number| self.generator.item(number).author();
        write_in_parts(items, author, |number| match self.generator.item(number) {
            Item::Follow(follower, author) => self.design.follow(follower, author),
            Item::Unfollow(follower, author) => self.design.unfollow(follower, author),
            Item::Publish(post) => self.design.publish(&post).map(drop),
            Item::Delete(post) => self.design.delete(&post),
            Item::Like(user, post) => self.design.like(user, post.id),
            Item::Comment(_, comment) => self.design.comment(&comment),
        })
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        for user in [0, 1, self.generator.users() - 1] {
            let mut after = None;
            for number in 1..=2 {
                let page = self.design.page(user, SHOWN_POSTS, after)?;
                writeln!(out, "feed of user {user}, page {number}: {} rows", page.examined)?;
                for Post { at_ms, id, text, .. } in &page.posts {
                    let likes = self.design.likes(*id)?;
                    let (seconds, comments) =
                        ((at_ms - T0) / 1_000, self.design.comment_count(*id)?);
                    writeln!(out, "  {seconds:>8} s  {text}, {likes} likes, {comments} comments")?;
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let query = |name, question: &str, table, condition: &str| {
            NamedQuery::new(name, question, table, [condition.to_owned()])
        };
        vec![
            query("follows", "whom user 1 follows", "follows", "follower=1"),
            query("page of 20", "what was pushed to user 1", "timeline", "owner=1")
                .limit(load::PAGE_POSTS),
            query("pulled", "the newest posts of user 0", "posts", "author=0")
                .limit(load::PAGE_POSTS),
            query("comments", "the comments on post 7", "comments", "post=7")
                .limit(load::PAGE_POSTS),
            query("followers", "who follows user 0", "followers", "author=0"),
            NamedQuery::new(
                "likes",
                "the shards of the likes and comments of a post",
                "counts",
                ["shard=0,1,2,3,4,5,6,7".to_owned(), "post=7".to_owned()],
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        load::operate(self, number, part, outcome)
    }

    fn measure(&self, out: &mut dyn Write) -> Result<()> {
        celebrity::write(self, out)?;
        fan_out::write(self, out)
    }

    fn repair(&self) -> Result<u64> {
        self.design.repair()
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        oracle(&*self.design, &self.generator, written)?.verify(&*self.design, &self.generator)
    }

    /// Reads a feed page by page while others write: every post from before that remains in the
    /// feed is in exactly one page.
    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let mut oracle = oracle(&*self.design, &self.generator, items.start)?;
        let before = oracle.feed(READER);
        let (mut numbers, mut verified) = (items, Verified::default());
        let (mut seen, mut gone, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = self.design.page(READER, PAGE_POSTS, after)?;
            verified.add(page.posts.len() as u64, page.examined);
            seen.extend(page.posts.into_iter().map(|post| post.id));
            after = page.next;
            if after.is_none() || has_repeated(&seen) {
                break;
            }
            for number in numbers.by_ref().take(10) {
                self.write(number..number + 1)?;
                oracle.apply(self.generator.item(number));
            }
            let now: Vec<u64> = oracle.feed(READER).iter().map(|post| post.id).collect();
            gone.extend(before.iter().map(|post| post.id).filter(|id| !now.contains(id)));
        }
        ensure!(!has_repeated(&seen), "pages repeat a post while others write");
        let is_lost = |post: &&Post| !seen.contains(&post.id) && !gone.contains(&post.id);
        let lost = before.iter().find(is_lost);
        ensure!(lost.is_none(), "pages leave {lost:?} out while others write");
        self.write(numbers)?;
        Ok(verified)
    }
}
