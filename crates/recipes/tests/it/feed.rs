//! Feeds: they equal the model, and the check fails for the mistakes of the tutorials.

use std::collections::BTreeSet;

use anyhow::Result;
use feed::{
    Comment, Feed, FollowKey, FollowerKey, Options, Page, Position, Post, PostKey, TimelineKey,
};
use halite::rowkey::typed::TsMillis;
use halite::rowkey::{Page as Rows, PageToken};
use halite::{
    Append, BlockingCluster, BlockingTable, FamilyDescriptor, Get, Increment, Put, Scan,
    TableDescriptor,
};
use halite_recipes::feed::{Design, FEED};
use halite_recipes::{InProcessTarget, Load, Site, check};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 800 };

#[test]
fn p03_feeds_equal_model_after_crash() {
    // The writer stops between several writes: of follows, of posts, and of likes.
    let mut repaired = 0;
    for batches in [300, 301, 500, 501, 502, 503, 504] {
        let report = backends::check_embedded(&FEED, LOAD, batches).unwrap();
        repaired += report.repaired;
    }
    assert!(repaired > 0, "some of them stopped between the writes of an operation");
}

#[test]
fn p11_recipe_runs_through_client_and_server() {
    let load = Load { items: 200, ..LOAD };
    check(&FEED, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 201)).unwrap();
}

/// Opens a feed whose authors are celebrities above a number of followers.
fn feed_of(cluster: &BlockingCluster, max_pushed: usize) -> Feed {
    Feed::open(cluster, "feed", Options { max_pushed, ..Options::default() }).unwrap()
}

#[test]
fn p11_posts_of_celebrities_are_pulled() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = backends::open(&directory);
    let feed = feed_of(&cluster, 50);
    let post = |id| Post {
        author: 0,
        at_ms: 1_710_460_800_000 + i64::try_from(id).unwrap(),
        id,
        text: format!("post {id}"),
    };
    (1..=60).for_each(|fan| feed.follow(fan, 0).unwrap());
    feed.publish(&post(1)).unwrap();
    let timeline = cluster.table("feed:timeline").unwrap();
    let rows = || timeline.scan(Scan::all()).count();
    assert_eq!(rows(), 60, "the first one is pushed, and the author becomes a celebrity");
    feed.publish(&post(2)).unwrap();
    assert_eq!(rows(), 60);
    feed.follow(61, 0).unwrap();
    for fan in [1, 60, 61] {
        let page = feed.page(fan, 10, None).unwrap();
        assert_eq!(page.posts, [post(2), post(1)], "each is there once");
    }
    assert_eq!(feed.repair().unwrap(), 0);
}

#[test]
fn p11_first_post_is_not_pushed_to_all_who_follow_a_celebrity() {
    let directory = tempfile::tempdir().unwrap();
    let feed = feed_of(&backends::open(&directory), 50);
    (1..=600).for_each(|fan| feed.follow(fan, 0).unwrap());
    let post = Post { author: 0, at_ms: 1_710_460_800_000, id: 1, text: "post 1".to_owned() };
    assert_eq!(feed.publish(&post).unwrap(), 500, "one part");
    for fan in [1, 300, 600] {
        assert_eq!(feed.page(fan, 10, None).unwrap().posts, std::slice::from_ref(&post));
    }
    assert_eq!(feed.repair().unwrap(), 0);
}

#[test]
fn p11_follows_that_lack_a_half_are_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = backends::open(&directory);
    let feed = feed_of(&cluster, 2);
    let at_ms = |id| 1_710_460_800_000 + i64::try_from(id).unwrap();
    let post = |author, id| Post { author, at_ms: at_ms(id), id, text: "text".to_owned() };
    // Author 0 becomes a celebrity while user 9 begins to follow.
    (1..=3).for_each(|fan| feed.follow(fan, 0).unwrap());
    feed.publish(&post(0, 1)).unwrap();
    let follows = cluster.table("feed:follows").unwrap();
    let follow = |follower, author| {
        let row = FollowKey { follower, author }.encode().unwrap();
        follows.put(Put::new(row).add("f", "p", [0])).unwrap();
    };
    feed.follow(9, 0).unwrap();
    follow(9, 0);
    // User 8 follows author 5, who does not know.
    follow(8, 5);
    assert_eq!(feed.repair().unwrap(), 2);
    feed.publish(&post(0, 2)).unwrap();
    feed.publish(&post(5, 3)).unwrap();
    assert_eq!(feed.page(9, 10, None).unwrap().posts, [post(0, 2), post(0, 1)]);
    assert_eq!(feed.page(8, 10, None).unwrap().posts, [post(5, 3)]);
    assert_eq!(feed.repair().unwrap(), 0);
}

#[test]
fn deleted_posts_stay_deleted_when_they_are_published_again() {
    let directory = tempfile::tempdir().unwrap();
    let feed = Feed::open(&backends::open(&directory), "feed", Options::default()).unwrap();
    feed.follow(1, 0).unwrap();
    // Also one of a clock that is ahead.
    for (id, at_ms) in [(1, 1_710_460_800_000), (2, i64::MAX / 2)] {
        let post = Post { author: 0, at_ms, id, text: "text".to_owned() };
        feed.publish(&post).unwrap();
        assert_eq!(feed.page(1, 10, None).unwrap().posts, std::slice::from_ref(&post));
        feed.delete(&post).unwrap();
        feed.publish(&post).unwrap();
        assert!(!feed.exists(&post).unwrap());
        assert!(feed.page(1, 10, None).unwrap().posts.is_empty());
    }
}

#[test]
fn p03_likes_and_comments_are_counted_once_and_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = backends::open(&directory);
    let feed = Feed::open(&cluster, "feed", Options::default()).unwrap();
    let comment = |id| Comment { post: 7, at_ms: 5, id, user: id % 3, text: format!("text {id}") };
    for _ in 0..2 {
        for id in 0..20 {
            feed.comment(&comment(id)).unwrap();
        }
        for user in 0..30 {
            feed.like(user, 7, 5).unwrap();
        }
    }
    let counted = || (feed.likes(7).unwrap(), feed.comment_count(7).unwrap());
    assert_eq!(counted(), (30, 20));
    assert_eq!((feed.likes(8).unwrap(), feed.comment_count(8).unwrap()), (0, 0));
    let first = feed.comments(7, 15, None).unwrap();
    let rest = feed.comments(7, 15, first.next.as_ref()).unwrap();
    assert_eq!((rest.items.len(), rest.next), (5, None));
    assert!(first.items.into_iter().chain(rest.items).eq((0..20).map(comment)));
    // Two rows whose writer stopped before it counted them.
    let (likes, comments) =
        (cluster.table("feed:likes").unwrap(), cluster.table("feed:comments").unwrap());
    let like = feed::LikeKey { post: 7, user: 99 }.encode().unwrap();
    likes.put(Put::new(like).add("l", "a", 5_i64.to_be_bytes())).unwrap();
    let key = feed::CommentKey { post: 7, ts: TsMillis(9), id: 99 }.encode().unwrap();
    comments.put(Put::new(key).add("c", "t", "lost")).unwrap();
    assert_eq!(counted(), (30, 20));
    assert_eq!(feed.repair().unwrap(), 2);
    assert_eq!(counted(), (31, 21));
    assert_eq!(feed.repair().unwrap(), 0);
}

/// Mistake in a design.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// E05: Append as an atomic increment.
    Append,
    /// A like that is sent twice is counted twice.
    NoCondition,
    /// E06: a page is a scan with a start and a limit, and without a stop.
    NoStop,
    /// E23: a post is pushed to those whom its author follows.
    WrongDirection,
    /// E24: a write for each follower, which does not resume after a stop.
    NoOutbox,
    /// Posts of those whom a user does not follow any more are shown.
    NoFilter,
    /// A page continues after a time, and not after a post.
    TimeOnly,
}

struct Naive {
    mistake: Mistake,
    right: Feed,
    posts: BlockingTable,
    timeline: BlockingTable,
    followers: BlockingTable,
    /// Likes by post.
    likes: BlockingTable,
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        // All posts are pushed.
        let options = Options { max_pushed: usize::MAX, ..Options::default() };
        let right = Feed::open(&site.cluster, &site.namespace, options)?;
        let name = format!("{}:naive", site.namespace);
        if !site.cluster.table_exists(&name)? {
            let table = TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("l"));
            site.cluster.create_table(table, &[])?;
        }
        let table = |name: &str| site.cluster.table(&format!("{}:{name}", site.namespace));
        Ok(Box::new(Self {
            mistake,
            right,
            posts: table("posts")?,
            timeline: table("timeline")?,
            followers: table("followers")?,
            likes: table("naive")?,
        }))
    }

    fn write_post(&self, post: &Post) -> Result<()> {
        let key = PostKey { author: post.author, ts: TsMillis(post.at_ms), id: post.id };
        let put = Put::new(key.encode()?).add_at("p", "t", post.at_ms, &post.text);
        Ok(self.posts.put(put)?)
    }

    fn push(&self, owner: u64, post: &Post) -> Result<()> {
        let row = TimelineKey { owner, ts: TsMillis(post.at_ms), id: post.id }.encode()?;
        Ok(self.timeline.put(Put::new(row).add("t", "a", post.author.to_be_bytes()))?)
    }

    fn followers(&self, author: u64) -> Result<Vec<u64>> {
        let mut followers = Vec::new();
        for row in self.followers.scan(Scan::all()) {
            let key = FollowerKey::decode(row?.key())?;
            followers.extend((key.author == author).then_some(key.follower));
        }
        Ok(followers)
    }

    /// Returns all posts of a timeline's rows, from the newest one of a user on.
    fn timeline(&self, owner: u64) -> Result<Vec<Post>> {
        let follows = self.right.follows(owner)?;
        let start = TimelineKey { owner, ts: TsMillis(i64::MAX), id: 0 }.encode()?;
        let mut posts = Vec::new();
        for row in self.timeline.scan(Scan::all().start(start)) {
            let row = row?;
            let key = TimelineKey::decode(row.key())?;
            if key.owner != owner && self.mistake != Mistake::NoStop {
                break;
            }
            let author = u64::from_be_bytes(row.value("t", "a").unwrap().try_into()?);
            if !follows.contains_key(&author) && self.mistake != Mistake::NoFilter {
                continue;
            }
            let post =
                self.posts.get(Get::new(PostKey { author, ts: key.ts, id: key.id }.encode()?))?;
            let Some(text) = post.value("p", "t") else { continue };
            let text = String::from_utf8_lossy(text).into_owned();
            posts.push(Post { author, at_ms: key.ts.0, id: key.id, text });
        }
        Ok(posts)
    }
}

impl Design for Naive {
    fn follow(&self, follower: u64, author: u64) -> Result<()> {
        Ok(self.right.follow(follower, author)?)
    }

    fn unfollow(&self, follower: u64, author: u64) -> Result<()> {
        Ok(self.right.unfollow(follower, author)?)
    }

    fn follows(&self, follower: u64) -> Result<BTreeSet<u64>> {
        Design::follows(&self.right, follower)
    }

    fn publish(&self, post: &Post) -> Result<u64> {
        let owners: Vec<u64> = match self.mistake {
            Mistake::WrongDirection => self.right.follows(post.author)?.into_keys().collect(),
            Mistake::NoOutbox => self.followers(post.author)?,
            _ => return Ok(self.right.publish(post)?),
        };
        self.write_post(post)?;
        owners.iter().try_for_each(|owner| self.push(*owner, post))?;
        Ok(owners.len() as u64)
    }

    fn delete(&self, post: &Post) -> Result<()> {
        Ok(self.right.delete(post)?)
    }

    fn exists(&self, post: &Post) -> Result<bool> {
        Ok(self.right.exists(post)?)
    }

    fn like(&self, user: u64, post: u64) -> Result<()> {
        let is_new = self.right.like(user, post, 0)?;
        let row = post.to_be_bytes().to_vec();
        match self.mistake {
            Mistake::Append if is_new => {
                self.likes.append(Append::new(row).add("l", "n", 1_i64.to_be_bytes()))?;
            }
            Mistake::NoCondition => {
                self.likes.increment(Increment::new(row).add("l", "n", 1))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn has_liked(&self, user: u64, post: u64) -> Result<bool> {
        Ok(self.right.has_liked(user, post)?)
    }

    fn likes(&self, post: u64) -> Result<i64> {
        if !matches!(self.mistake, Mistake::Append | Mistake::NoCondition) {
            return Ok(self.right.likes(post)?);
        }
        let row = self.likes.get(Get::new(post.to_be_bytes().to_vec()))?;
        let value = row.value("l", "n").and_then(|value| value.first_chunk());
        Ok(value.map_or(0, |value| i64::from_be_bytes(*value)))
    }

    fn comment(&self, comment: &Comment) -> Result<()> {
        Design::comment(&self.right, comment)
    }

    fn has_commented(&self, comment: &Comment) -> Result<bool> {
        Ok(self.right.has_commented(comment)?)
    }

    fn comment_count(&self, post: u64) -> Result<i64> {
        Ok(self.right.comment_count(post)?)
    }

    fn comments(
        &self,
        post: u64,
        limit: usize,
        after: Option<&PageToken>,
    ) -> Result<Rows<Comment>> {
        Ok(self.right.comments(post, limit, after)?)
    }

    fn page(&self, owner: u64, limit: usize, after: Option<Position>) -> Result<Page> {
        match self.mistake {
            Mistake::NoStop | Mistake::NoFilter => {
                let mut posts = self.timeline(owner)?;
                if let Some(after) = after {
                    let at = posts.iter().position(|post| post.id == after.id);
                    posts.drain(..at.map_or(0, |at| at + 1));
                }
                posts.truncate(limit);
                let last = posts.last().map(|post| Position { at_ms: post.at_ms, id: post.id });
                let next = last.filter(|_| posts.len() == limit);
                Ok(Page { posts, next, examined: 0 })
            }
            Mistake::TimeOnly => {
                let after = after.map(|after| Position { id: u64::MAX, ..after });
                Ok(self.right.page(owner, limit, after)?)
            }
            _ => Ok(self.right.page(owner, limit, after)?),
        }
    }

    fn repair(&self) -> Result<u64> {
        Ok(self.right.repair()?)
    }
}

/// Checks a design whose writer stops after `batches`, and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, batches: u64) -> String {
    let checked = backends::check_embedded(&FEED.with_design(design), LOAD, batches);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn e05_appended_likes_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::Append), 500);
    assert!(why.contains("likes, expected"), "{why}");
}

#[test]
fn p03_likes_counted_without_condition_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoCondition), 500);
    assert!(why.contains("likes, expected"), "{why}");
}

#[test]
fn e06_page_without_stop_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoStop), 450);
    assert!(why.contains("feed of user") || why.contains("pages repeat"), "{why}");
}

#[test]
fn e23_posts_pushed_in_the_wrong_direction_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::WrongDirection), 450);
    assert!(why.contains("feed of user") || why.contains("pages leave"), "{why}");
}

#[test]
fn e24_pushes_that_do_not_resume_fail_check() {
    // Some of these are inside the pushes of a post.
    let recipe = FEED.with_design(|site| Naive::open(site, Mistake::NoOutbox));
    let failed = (682..700).step_by(3).find_map(|batches| {
        backends::check_embedded(&recipe, LOAD, batches).err().map(|error| format!("{error:#}"))
    });
    let why = failed.expect("the check finds the mistake");
    assert!(why.contains("after a crash") && why.contains("feed of user"), "{why}");
}

#[test]
fn p11_posts_after_the_end_of_a_follow_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoFilter), 450);
    assert!(why.contains("feed of user"), "{why}");
}

#[test]
fn e32_page_that_continues_after_a_time_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::TimeOnly), 450);
    assert!(why.contains("feed of user") || why.contains("pages leave"), "{why}");
}
