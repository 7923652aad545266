//! Pages of a feed: posts that were pushed, merged with those that are pulled.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use halite::rowkey::typed::TsMillis;
use halite::rowkey::{PageToken, Plan, Scatter, ScatterOptions};
use halite::{BlockingTable, Get, Result, Row, Scan, block_on};

use crate::Post;
use crate::feed::Feed;
use crate::key::{PostKey, TimelineKey};
use crate::publish::{POSTS, TEXT};

/// Last post of the page before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its time.
    pub at_ms: i64,
    /// Its id.
    pub id: u64,
}

/// Posts, newest first; those of one time by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Posts.
    pub posts: Vec<Post>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Position>,
    /// Rows of timelines and posts that were read for it.
    pub examined: u64,
}

/// Posts of a timeline, or of an author, in the order of a page, without their texts.
struct Source<'a> {
    table: &'a BlockingTable,
    plan: Arc<Plan>,
    decode: fn(&Row) -> Result<Post>,
    /// Rows that are read at once.
    rows: usize,
    read: VecDeque<Post>,
    after: Option<PageToken>,
    is_done: bool,
    examined: u64,
}

impl Feed {
    /// Returns posts of those whom a user follows. What follows from the limit: one range of the
    /// timeline, and one of each celebrity whom the user follows, of at most as many rows.
    ///
    /// # Errors
    /// As [`Scatter::next`].
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
        let mut sources = vec![Source::new(&self.timeline, pushed, rows, |row| {
            let TimelineKey { ts, id, .. } = TimelineKey::decode(row.key())?;
            let author = row.value("t", "a").unwrap_or_default().try_into();
            // No user follows a damaged author.
            let author = author.map_or(u64::MAX, u64::from_be_bytes);
            Ok(Post { author, at_ms: ts.0, id, text: String::new() })
        })];
        for (author, _) in follows.iter().filter(|(_, is_pulled)| **is_pulled) {
            let pulled = PostKey::scan().author(*author).ts(..=until).limit(rows).plan()?;
            sources.push(Source::new(&self.posts, pulled, rows, |row| {
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
        let with_text = |(post, row): (Post, Row)| {
            let text = String::from_utf8_lossy(row.value(POSTS, TEXT)?).into_owned();
            Some(Post { text, ..post })
        };
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
    fn new(
        table: &'a BlockingTable,
        plan: Plan,
        rows: usize,
        decode: fn(&Row) -> Result<Post>,
    ) -> Self {
        let (read, plan) = (VecDeque::new(), Arc::new(plan));
        Self { table, plan, decode, rows, read, after: None, is_done: false, examined: 0 }
    }

    /// Returns the next post, and reads further ones if there is none.
    fn peek(&mut self) -> Result<Option<&Post>> {
        while self.read.is_empty() && !self.is_done {
            let (table, plan) = (Arc::clone(self.table.inner()), Arc::clone(&self.plan));
            let options = ScatterOptions::default();
            let mut rows = Scatter::new(table, plan, Scan::all(), &options, self.after.as_ref())?;
            let mut last = None;
            while let Some(row) = block_on(rows.next())? {
                self.read.push_back((self.decode)(&row)?);
                last = Some(row);
            }
            self.examined += rows.examined();
            self.is_done = self.read.len() < self.rows;
            self.after = last.map(|row| rows.token_of(&row)).or(self.after.take());
        }
        Ok(self.read.front())
    }
}
