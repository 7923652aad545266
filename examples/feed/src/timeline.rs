//! Pages of a feed: posts that were pushed, merged with those that are pulled.

use std::collections::{BTreeMap, VecDeque};

use halite::rowkey::typed::TsMillis;
use halite::rowkey::{Page as Rows, PageToken, Plan};
use halite::{BlockingTable, Get, Result, Row};

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

/// Posts of a timeline, or of an author, in the order of a page, without their texts.
struct Source<'a> {
    table: &'a BlockingTable,
    /// Its limit is that of the rows that are read at once.
    plan: Plan,
    decode: fn(&Row) -> Result<Post>,
    read: VecDeque<Post>,
    after: Option<PageToken>,
    is_done: bool,
    examined: u64,
}

impl Feed {
    /// Returns posts of those whom a user follows. What follows from the limit: one range of the
    /// timeline, and one of each celebrity whom the user follows, of at most as many rows.
    pub fn page(&self, owner: u64, limit: usize, after: Option<Position>) -> Result<Page> {
        let follows = self.follows(owner)?;
        let mut sources = self.sources(owner, &follows, limit, after)?;
        let mut page = Page::default();
        let mut last = after;
        loop {
            // Candidates, whose posts may have been deleted.
            let mut candidates: Vec<Post> = Vec::new();
            while page.posts.len() + candidates.len() < limit {
                let Some(post) = next(&mut sources, last)? else { break };
                last = Some(Position { at_ms: post.at_ms, id: post.id });
                if follows.contains_key(&post.author) {
                    candidates.push(post);
                }
            }
            if candidates.is_empty() {
                break;
            }
            page.examined += candidates.len() as u64;
            page.posts.extend(self.with_texts(candidates)?);
        }
        page.examined += sources.iter().map(|source| source.examined).sum::<u64>();
        page.next = last.filter(|_| page.posts.len() == limit);
        Ok(page)
    }

    fn sources(
        &self,
        owner: u64,
        follows: &BTreeMap<u64, bool>,
        rows: usize,
        after: Option<Position>,
    ) -> Result<Vec<Source<'_>>> {
        let until = TsMillis(after.map_or(i64::MAX, |after| after.at_ms));
        let pushed = TimelineKey::scan().owner(owner).ts(..=until).limit(rows).plan()?;
        let mut sources = vec![Source::new(&self.timeline, pushed, |row| {
            let TimelineKey { ts, id, .. } = TimelineKey::decode(row.key())?;
            let author = row.value("t", "a").unwrap_or_default().try_into();
            // No user follows a damaged author.
            let author = author.map_or(u64::MAX, u64::from_be_bytes);
            Ok(Post { author, at_ms: ts.0, id, text: String::new() })
        })];
        for (author, _) in follows.iter().filter(|(_, is_pulled)| **is_pulled) {
            let pulled = PostKey::scan().author(*author).ts(..=until).limit(rows).plan()?;
            sources.push(Source::new(&self.posts, pulled, |row| {
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

/// Returns the next post of all sources after a position. A post that was pushed and is pulled is
/// returned once.
fn next(sources: &mut [Source<'_>], after: Option<Position>) -> Result<Option<Post>> {
    let order = |at_ms: i64, id: u64| (std::cmp::Reverse(at_ms), id);
    let mut first: Option<Post> = None;
    for source in sources {
        while let Some(post) = source.peek()? {
            if after.is_none_or(|after| order(post.at_ms, post.id) > order(after.at_ms, after.id)) {
                break;
            }
            source.read.pop_front();
        }
        let Some(post) = source.peek()? else { continue };
        if first.as_ref().is_none_or(|one| order(post.at_ms, post.id) < order(one.at_ms, one.id)) {
            first = Some(post.clone());
        }
    }
    Ok(first)
}

impl<'a> Source<'a> {
    fn new(table: &'a BlockingTable, plan: Plan, decode: fn(&Row) -> Result<Post>) -> Self {
        let read = VecDeque::new();
        Self { table, plan, decode, read, after: None, is_done: false, examined: 0 }
    }

    /// Returns the next post, and reads further ones if there is none.
    fn peek(&mut self) -> Result<Option<&Post>> {
        if self.read.is_empty() && !self.is_done {
            let page = self.table.page(self.plan.clone(), self.after.as_ref())?;
            let Rows { items, next, examined } = page.try_map(|row| (self.decode)(&row))?;
            self.read.extend(items);
            self.is_done = next.is_none();
            (self.after, self.examined) = (next, self.examined + examined);
        }
        Ok(self.read.front())
    }
}
