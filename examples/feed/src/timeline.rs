//! Pages of a feed: posts that were pushed, merged with those that are pulled.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use halite::rowkey::typed::TsMillis;
use halite::{Get, MergedPages, Pages, Result, Row};

use crate::Post;
use crate::feed::{Feed, POSTS};
use crate::key::{PostKey, TimelineKey};
use crate::publish::TEXT;

/// Last post of the page before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub at_ms: i64,
    pub id: u64,
}

/// Posts, newest first; those of one time by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub posts: Vec<Post>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Position>,
    /// Rows of timelines and posts that were read for it.
    pub examined: u64,
}

impl Feed {
    /// Returns posts of those whom a user follows. What follows from the limit: one range of the
    /// timeline, and one of each celebrity whom the user follows, of at most as many rows.
    pub fn page(&self, owner: u64, limit: usize, after: Option<Position>) -> Result<Page> {
        let follows = self.follows(owner)?;
        let sources = self.sources(owner, &follows, limit, after)?;
        // A post that was pushed and is pulled is returned once.
        let mut merged = MergedPages::new(sources, |post| (Reverse(post.at_ms), post.id));
        if let Some(after) = after {
            merged = merged.after((Reverse(after.at_ms), after.id));
        }
        let is_followed = |post: &Result<Post>| {
            post.as_ref().map_or(true, |post| follows.contains_key(&post.author))
        };
        let (mut page, mut last) = (Page::default(), after);
        while page.posts.len() < limit {
            let missing = limit - page.posts.len();
            let candidates = merged.by_ref().filter(is_followed).take(missing);
            let candidates = candidates.collect::<Result<Vec<Post>>>()?;
            let Some(oldest) = candidates.last() else { break };
            last = Some(Position { at_ms: oldest.at_ms, id: oldest.id });
            page.examined += candidates.len() as u64;
            page.posts.extend(self.with_texts(candidates)?);
        }
        page.examined += merged.examined();
        page.next = last.filter(|_| page.posts.len() == limit);
        Ok(page)
    }

    /// Returns the timeline and the posts of each author who is pulled, without their texts.
    fn sources(
        &self,
        owner: u64,
        follows: &BTreeMap<u64, bool>,
        rows: usize,
        after: Option<Position>,
    ) -> Result<Vec<Pages<Post>>> {
        let until = TsMillis(after.map_or(i64::MAX, |after| after.at_ms));
        let pushed = TimelineKey::scan().owner(owner).ts(..=until).limit(rows).plan()?;
        let mut sources = vec![self.timeline.pages(pushed, |row| {
            let TimelineKey { ts, id, .. } = TimelineKey::decode(row.key())?;
            // No user follows an author without a number.
            let author = row.array("t", "a")?.map_or(u64::MAX, u64::from_be_bytes);
            Ok(Post { author, at_ms: ts.0, id, text: String::new() })
        })];
        for (author, _) in follows.iter().filter(|(_, is_pulled)| **is_pulled) {
            let pulled = PostKey::scan().author(*author).ts(..=until).limit(rows).plan()?;
            sources.push(self.posts.pages(pulled, |row| {
                let PostKey { author, ts, id } = PostKey::decode(row.key())?;
                Ok(Post { author, at_ms: ts.0, id, text: String::new() })
            }));
        }
        Ok(sources)
    }

    /// Returns the posts that exist, with their texts.
    fn with_texts(&self, posts: Vec<Post>) -> Result<Vec<Post>> {
        let get = |post: &Post| Ok(Get::new(post.key().encode()?));
        let rows = self.posts.get_all(posts.iter().map(get).collect::<Result<_>>()?)?;
        let with_text =
            |(post, row): (Post, Row)| Some(Post { text: row.text(POSTS, TEXT)?, ..post });
        Ok(posts.into_iter().zip(rows).filter_map(with_text).collect())
    }
}
