//! Generated operations: first users follow one another, most of them a few authors; then they
//! post, like, comment, follow, unfollow and delete. Several posts are in one millisecond, some are
//! late, and some operations arrive twice.

use feed::{Comment, Post};

use crate::random::Random;
use crate::recipe::{Load, T0};

/// Operations of one user in the mean.
const ITEMS_PER_USER: u64 = 25;
const MIN_USERS: u64 = 60;
const MAX_USERS: u64 = 10_000_000;
/// Time between two operations.
const STEP_MS: u64 = 500;
/// Time by which a post is late at most.
const LATE_MS: u64 = 3_600_000;
/// Operations of which one is a post that many like.
const POPULAR_EVERY: u64 = 50;
/// Part of the operations before which users only follow.
const FIRST_FOLLOWS: u64 = 6;
/// Number of 100 from which an operation on a post is a comment, and not a like.
const FIRST_COMMENT: u64 = 95;

/// Operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A user follows an author.
    Follow(u64, u64),
    /// A user does not follow an author any more.
    Unfollow(u64, u64),
    /// A post is published.
    Publish(Post),
    /// A post is deleted.
    Delete(Post),
    /// A user likes a post.
    Like(u64, Post),
    /// A user comments on a post.
    Comment(Post, Comment),
}

impl Item {
    /// Returns the author whose posts or followers it changes.
    pub fn author(&self) -> u64 {
        match self {
            Self::Follow(_, author) | Self::Unfollow(_, author) => *author,
            Self::Publish(post)
            | Self::Delete(post)
            | Self::Like(_, post)
            | Self::Comment(post, _) => post.author,
        }
    }
}

/// Generator of operations by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    pub(super) load: Load,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load) -> Self {
        Self { load }
    }

    /// Returns the number of users.
    pub fn users(&self) -> u64 {
        (self.load.items / ITEMS_PER_USER).clamp(MIN_USERS, MAX_USERS)
    }

    /// Returns an item: an operation, or the one before again, whose first reply was lost.
    pub fn item(&self, number: u64) -> Item {
        let is_repeated = number > 0 && Random::new(self.load.seed, 1, number).one_in(50);
        self.operation(number - u64::from(is_repeated))
    }

    fn operation(&self, number: u64) -> Item {
        let mut random = Random::new(self.load.seed, 2, number);
        let kind = self.kind(number);
        // An earlier post or follow, if there is one of that number.
        let earlier = random.below(number.max(1));
        match kind {
            35..75 => Item::Publish(self.post(number)),
            75..81 if self.kind(earlier) < 35 => {
                let (follower, author) = self.pair(earlier);
                Item::Unfollow(follower, author)
            }
            81..86 if self.is_post(earlier) => Item::Delete(self.post(earlier)),
            86.. => match self.liked(number, earlier) {
                Some(post) if kind >= FIRST_COMMENT => self.comment(number, post),
                Some(post) => Item::Like(random.below(self.users()), self.post(post)),
                None => self.follow(number),
            },
            _ => self.follow(number),
        }
    }

    fn follow(&self, number: u64) -> Item {
        let (follower, author) = self.pair(number);
        Item::Follow(follower, author)
    }

    fn comment(&self, id: u64, post: u64) -> Item {
        let user = Random::new(self.load.seed, 6, id).below(self.users());
        // Several comments have one time.
        let at_ms = T0 + (id / 4 * 4 * STEP_MS).cast_signed();
        let text = format!("comment {id} of user {user}");
        Item::Comment(self.post(post), Comment { post, at_ms, id, user, text })
    }

    /// Returns the post that is liked: most likes are of a few posts.
    fn liked(&self, number: u64, earlier: u64) -> Option<u64> {
        if number.is_multiple_of(4) {
            return self.is_post(earlier).then_some(earlier);
        }
        let first = (number / POPULAR_EVERY * POPULAR_EVERY).saturating_sub(POPULAR_EVERY);
        (first..first + POPULAR_EVERY).find(|post| self.is_post(*post))
    }

    fn kind(&self, number: u64) -> u64 {
        if number < self.load.items / FIRST_FOLLOWS {
            return 0;
        }
        Random::new(self.load.seed, 3, number).below(100)
    }

    fn is_post(&self, number: u64) -> bool {
        (35..75).contains(&self.kind(number))
    }

    /// Returns a user and an author, who are different. Author 0 has the most followers.
    fn pair(&self, number: u64) -> (u64, u64) {
        let mut random = Random::new(self.load.seed, 4, number);
        let author = random.zipf(self.users());
        let follower = random.below(self.users());
        (if follower == author { (follower + 1) % self.users() } else { follower }, author)
    }

    fn post(&self, id: u64) -> Post {
        let mut random = Random::new(self.load.seed, 5, id);
        let author = random.zipf(self.users());
        let is_burst = random.one_in(4);
        let late_ms = if random.one_in(100) { random.below(LATE_MS) } else { 0 };
        let step = if is_burst { id / 8 * 8 } else { id };
        let at_ms = T0 + (step * STEP_MS).cast_signed() - late_ms.cast_signed();
        Post { author, at_ms, id, text: format!("post {id} of user {author}") }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 2_000 });
        let (mut kinds, mut times, mut fans) = (HashMap::new(), HashSet::new(), HashSet::new());
        let mut same_ms = 0;
        for number in 0..2_000 {
            let kind = match generator.item(number) {
                Item::Follow(follower, author) => {
                    assert_ne!(follower, author);
                    fans.extend((author == 0).then_some(follower));
                    "follow"
                }
                Item::Unfollow(..) => "unfollow",
                Item::Publish(post) => {
                    same_ms += u32::from(!times.insert(post.at_ms));
                    "publish"
                }
                Item::Delete(_) => "delete",
                Item::Like(..) => "like",
                Item::Comment(..) => "comment",
            };
            *kinds.entry(kind).or_insert(0) += 1;
        }
        assert!(kinds.len() == 6 && kinds.values().all(|count| *count > 10), "{kinds:?}");
        assert!(same_ms > 20 && fans.len() > super::super::design::MAX_PUSHED, "{same_ms}");
    }
}
