//! Queries read page by page as their rows are taken, alone and merged into one order.

use std::collections::VecDeque;

use halite_rowkey::{Page, PageToken, Plan};
use halite_types::{Result, Row};

use super::BlockingTable;

/// Converts a row to an item.
type Convert<T> = Box<dyn Fn(Row) -> Result<T>>;

/// Items of a query, of which a page is read when one is taken: the limit of the query is the
/// number of rows of a page, so no more than these are read ahead. They end after an error.
pub struct Pages<T = Row> {
    table: BlockingTable,
    plan: Plan,
    convert: Convert<T>,
    read: VecDeque<T>,
    after: Option<PageToken>,
    is_done: bool,
    examined: u64,
}

/// Items of several queries, each in the order of a key, merged in this order. Items with equal
/// keys are returned once, from the first query that has one.
///
/// A page of a feed is the posts that were pushed to the reader, merged with those of each author
/// whose posts are not:
///
/// ```
/// # #[cfg(feature = "derive")]
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use halite::{FamilyDescriptor, MergedPages, Put, Row, RowKey, TableDescriptor};
///
/// #[derive(RowKey)]
/// struct PostKey {
///     author: u64,
///     number: u64,
/// }
///
/// let store = halite::open(directory.path())?;
/// store.create_table(TableDescriptor::new("posts".parse()?).family(FamilyDescriptor::new("p")), &[])?;
/// let posts = store.table("posts")?;
/// for number in 0..6 {
///     posts.put(Put::new(PostKey { author: number % 2, number }.encode()?).add("p", "t", "text"))?;
/// }
/// let number = |row: Row| Ok(PostKey::decode(row.key())?.number);
/// let of = |author: u64| -> halite::Result<_> {
///     Ok(posts.pages(PostKey::scan().author(author).limit(2).plan()?, number))
/// };
/// let mut both = MergedPages::new(vec![of(0)?, of(1)?], |number| *number).after(0);
/// assert_eq!(both.by_ref().take(3).collect::<halite::Result<Vec<u64>>>()?, [1, 2, 3]);
/// assert_eq!(both.collect::<halite::Result<Vec<u64>>>()?, [4, 5]);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "derive"))]
/// # fn main() {}
/// ```
pub struct MergedPages<T, K> {
    queries: Vec<Pages<T>>,
    key: fn(&T) -> K,
    last: Option<K>,
    is_done: bool,
}

impl BlockingTable {
    /// Reads a query on a declared key page by page, as its items are taken. The limit of the query
    /// is the number of rows of a page.
    pub fn pages<T>(&self, plan: Plan, convert: impl Fn(Row) -> Result<T> + 'static) -> Pages<T> {
        Pages {
            table: self.clone(),
            plan,
            convert: Box::new(convert),
            read: VecDeque::new(),
            after: None,
            is_done: false,
            examined: 0,
        }
    }
}

impl<T> Pages<T> {
    /// Returns the number of rows that the table has returned so far.
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// Returns the next item without taking it.
    ///
    /// # Errors
    /// As [`Page::read`], and those of the conversion.
    pub fn peek(&mut self) -> Result<Option<&T>> {
        if self.read.is_empty() && !self.is_done {
            // After an error there are no further items.
            self.is_done = true;
            let page = self.table.page(self.plan.clone(), self.after.as_ref())?;
            let Page { items, next, examined } = page.try_map(&self.convert)?;
            self.read.extend(items);
            self.is_done = next.is_none();
            (self.after, self.examined) = (next, self.examined + examined);
        }
        Ok(self.read.front())
    }
}

impl<T> Iterator for Pages<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        match self.peek() {
            Err(error) => Some(Err(error)),
            Ok(None) => None,
            Ok(Some(_)) => self.read.pop_front().map(Ok),
        }
    }
}

impl<T, K: Ord> MergedPages<T, K> {
    /// Merges queries, the items of each of which are in the order of `key`.
    pub fn new(queries: Vec<Pages<T>>, key: fn(&T) -> K) -> Self {
        Self { queries, key, last: None, is_done: false }
    }

    /// Leaves out the items up to a key, which may be that of an item that no longer exists.
    #[must_use]
    pub fn after(self, key: K) -> Self {
        Self { last: Some(key), ..self }
    }

    /// Returns the number of rows that the tables have returned so far.
    pub fn examined(&self) -> u64 {
        self.queries.iter().map(Pages::examined).sum()
    }

    fn try_next(&mut self) -> Result<Option<T>> {
        let mut first: Option<(usize, K)> = None;
        for (at, query) in self.queries.iter_mut().enumerate() {
            while let Some(item) = query.peek()? {
                let key = (self.key)(item);
                if self.last.as_ref().is_some_and(|last| key <= *last) {
                    query.read.pop_front();
                    continue;
                }
                if first.as_ref().is_none_or(|(_, first)| key < *first) {
                    first = Some((at, key));
                }
                break;
            }
        }
        let Some((at, key)) = first else { return Ok(None) };
        self.last = Some(key);
        Ok(self.queries.get_mut(at).and_then(|query| query.read.pop_front()))
    }
}

impl<T, K: Ord> Iterator for MergedPages<T, K> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.is_done {
            return None;
        }
        let item = self.try_next();
        self.is_done = !matches!(item, Ok(Some(_)));
        item.transpose()
    }
}
