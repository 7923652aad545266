//! A page view as a function of its number, skewed like the traffic of web sites: the same rows can
//! be made as often as they are needed, and none has to be kept.

use super::draws::{Drawn, draw, percent, rank, small};
use super::words;

/// Page views of one visit of one user to the pages of one counter, one after the other.
const HITS_OF_VISIT: u64 = 8;
const COUNTER_DOUBLINGS: u64 = 13;
const PAGE_DOUBLINGS: u64 = 14;
const PHRASE_DOUBLINGS: u64 = 18;
const DOMAIN_DOUBLINGS: u64 = 12;
const REGION_DOUBLINGS: u64 = 11;
const PHONE_DOUBLINGS: u64 = 6;
/// Rank of the counter that the queries name, 62: 3.8 % of the visits.
const NAMED_RANK: u64 = 1;
const NAMED_COUNTER: i32 = 62;
/// Numbers of the other counters begin after it, and there are this many.
pub(super) const COUNTER_NUMBERS: u64 = 1 << 18;
/// Hits for which there is another user.
const HITS_OF_USER: u64 = 20;

/// Midnight of July 1st 2013, in seconds since 1970.
const JULY: u64 = 1_372_636_800;
const DAY_SECONDS: u64 = 86_400;
/// Seconds in which visits begin: the last one ends in July.
const MONTH_SECONDS: u64 = 31 * DAY_SECONDS - HITS_OF_VISIT * HIT_SECONDS;
/// Most seconds from one page to the next.
const HIT_SECONDS: u64 = 60;

/// All page views of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hits {
    pub(super) count: u64,
    users: u64,
}

/// One page view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    number: u64,
    visit: u64,
    /// Place in the visit.
    at: u64,
    second: u64,
    /// Ranks.
    counter: u64,
    user: u64,
}

/// Where a visit comes from, as `TraficSourceID` says it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Internal = -1,
    Direct = 0,
    Link = 1,
    Search = 2,
    Advertisement = 3,
    Network = 6,
}

impl Hits {
    pub(super) fn new(count: u32) -> Self {
        Self { count: count.into(), users: u64::from(count) / HITS_OF_USER + 1 }
    }

    /// Returns hit `number`; later ones are of later visits.
    pub(super) fn hit(&self, number: u64) -> Hit {
        let (visit, at) = (number / HITS_OF_VISIT, number % HITS_OF_VISIT);
        let visits = self.count.div_ceil(HITS_OF_VISIT);
        let pauses =
            (0..at).map(|at| 1 + draw(Drawn::Pause, visit * HITS_OF_VISIT + at) % HIT_SECONDS);
        let second = JULY + MONTH_SECONDS * visit / visits + pauses.sum::<u64>();
        let counter = rank(draw(Drawn::Counter, visit), COUNTER_DOUBLINGS);
        // The product of two draws: few users have many visits.
        let high = draw(Drawn::UserHigh, visit) >> 32;
        let low = draw(Drawn::UserLow, visit) >> 32;
        let user = (self.users * ((high * low) >> 32)) >> 32;
        Hit { number, visit, at, second, counter, user }
    }
}

/// Returns the user with the most visits.
pub(super) fn busiest_user() -> i64 {
    user_number(0)
}

/// Returns the hash of the page of the named counter that is seen, and is a referer, most often.
pub(super) fn busiest_page_hash() -> i64 {
    words::hash(&words::page(NAMED_RANK, 0))
}

fn user_number(rank: u64) -> i64 {
    draw(Drawn::User, rank).cast_signed()
}

impl Hit {
    pub(super) fn watch(&self) -> i64 {
        draw(Drawn::Watch, self.number).cast_signed()
    }

    pub(super) fn counter(&self) -> i32 {
        if self.counter == NAMED_RANK {
            return NAMED_COUNTER;
        }
        // Odd, so no two counters have one number.
        let scattered = self.counter.wrapping_mul(40_503) % COUNTER_NUMBERS;
        i32::try_from(scattered).unwrap_or(i32::MAX - 63) + NAMED_COUNTER + 1
    }

    /// Days since 1970.
    pub(super) fn day(&self) -> i32 {
        i32::try_from(self.second / DAY_SECONDS).unwrap_or(i32::MAX)
    }

    /// Milliseconds since 1970; a whole second.
    pub(super) fn millis(&self) -> i64 {
        (self.second * 1000).cast_signed()
    }

    pub(super) fn user(&self) -> i64 {
        user_number(self.user)
    }

    pub(super) fn region(&self) -> i32 {
        let rank = rank(draw(Drawn::Region, self.user), REGION_DOUBLINGS);
        i32::try_from(rank + 1).unwrap_or(1)
    }

    /// Address of the user; one visit in ten is from another one.
    pub(super) fn address(&self) -> i32 {
        let moved = draw(Drawn::Address, self.visit);
        let subject = if percent(moved) < 10 { !moved } else { self.user };
        u32::try_from(draw(Drawn::Address, subject) >> 32).unwrap_or(0).cast_signed()
    }

    pub(super) fn screen_width(&self) -> i16 {
        const WIDTHS: [i16; 8] = [1366, 1920, 1280, 1024, 1440, 1600, 1680, 320];
        WIDTHS[usize::from(small(draw(Drawn::Screen, self.user), 8).unsigned_abs())]
    }

    pub(super) fn window_width(&self) -> i16 {
        self.screen_width() - small(draw(Drawn::Window, self.user), 100)
    }

    pub(super) fn window_height(&self) -> i16 {
        self.screen_width() / 2 - small(draw(Drawn::Window, self.user) >> 32, 150)
    }

    /// Number of the telephone's maker, 0 for none.
    pub(super) fn phone(&self) -> i16 {
        let drawn = draw(Drawn::Phone, self.user);
        if percent(drawn) < 8 { small(self.phone_rank() + 1, 1 << 15) } else { 0 }
    }

    fn phone_rank(&self) -> u64 {
        rank(draw(Drawn::Phone, self.user) >> 24, PHONE_DOUBLINGS)
    }

    /// Empty for most: those without a telephone, and those whose telephone does not tell.
    pub(super) fn phone_model(&self) -> String {
        let drawn = draw(Drawn::Phone, self.user) >> 40;
        if self.phone() == 0 || drawn.is_multiple_of(3) {
            return String::new();
        }
        words::model(self.phone_rank(), drawn % 4)
    }

    fn source(&self) -> Source {
        if self.at == 0 { self.source_of_visit() } else { Source::Internal }
    }

    fn source_of_visit(&self) -> Source {
        match percent(draw(Drawn::Source, self.visit)) {
            0..40 => Source::Direct,
            40..60 => Source::Link,
            60..87 => Source::Search,
            87..93 => Source::Advertisement,
            _ => Source::Network,
        }
    }

    pub(super) fn source_number(&self) -> i16 {
        self.source() as i16
    }

    /// The phrase that was searched belongs to the first half of a visit.
    fn is_searched(&self) -> bool {
        self.at < HITS_OF_VISIT / 2 && self.source_of_visit() == Source::Search
    }

    pub(super) fn search_engine(&self) -> i16 {
        let rank = rank(draw(Drawn::Domain, self.visit), 6);
        if self.is_searched() { small(rank + 1, 1 << 15) } else { 0 }
    }

    /// Empty for 86 of 100.
    pub(super) fn search_phrase(&self) -> String {
        if self.is_searched() { self.phrase_of_visit() } else { String::new() }
    }

    fn phrase_of_visit(&self) -> String {
        words::phrase(rank(draw(Drawn::Phrase, self.visit), PHRASE_DOUBLINGS), " ")
    }

    pub(super) fn advertiser(&self) -> i16 {
        let is_any = self.source_of_visit() == Source::Advertisement && self.at < 2;
        if is_any { 1 + small(draw(Drawn::Advertiser, self.visit), 60) } else { 0 }
    }

    fn flags(&self) -> u64 {
        draw(Drawn::Flags, self.number)
    }

    pub(super) fn is_refresh(&self) -> i16 {
        i16::from(self.flags() % 100 < 10)
    }

    pub(super) fn is_link(&self) -> i16 {
        i16::from((self.flags() >> 8) % 100 < 20)
    }

    pub(super) fn is_download(&self) -> i16 {
        i16::from((self.flags() >> 24) % 100 < 2)
    }

    pub(super) fn is_not_counted(&self) -> i16 {
        i16::from((self.flags() >> 32) % 100 < 5)
    }

    /// Rank of the page of the hit at a place of the visit.
    fn page_at(&self, at: u64) -> u64 {
        rank(draw(Drawn::Page, self.visit * HITS_OF_VISIT + at), PAGE_DOUBLINGS)
    }

    pub(super) fn url(&self) -> String {
        let page = words::page(self.counter, self.page_at(self.at));
        match (self.flags() >> 40) % 1000 {
            0..10 => String::new(),
            10..14 => page + "?from=google",
            14..17 => page + "?to=http://www.google.com/",
            _ => page,
        }
    }

    pub(super) fn url_hash(&self) -> i64 {
        words::hash(&self.url())
    }

    pub(super) fn title(&self) -> String {
        if (self.flags() >> 40) % 1000 < 12 {
            return String::new();
        }
        words::title(self.counter, self.page_at(self.at))
    }

    pub(super) fn referer(&self) -> String {
        let domain = rank(draw(Drawn::Domain, self.visit), DOMAIN_DOUBLINGS);
        match self.source() {
            Source::Internal => words::page(self.counter, self.page_at(self.at - 1)),
            Source::Direct => String::new(),
            Source::Search => words::search(domain % 4, &self.phrase_of_visit()),
            Source::Link => words::page(domain, self.page_at(self.at) % 16),
            Source::Advertisement => words::page(domain % 20, 0) + "?banner=1",
            Source::Network => words::page(domain % 5, self.user % 1000),
        }
    }

    pub(super) fn referer_hash(&self) -> i64 {
        words::hash(&self.referer())
    }
}

#[cfg(test)]
mod tests {
    use super::{Hits, NAMED_COUNTER, busiest_page_hash, busiest_user};

    #[test]
    fn hits_have_what_the_queries_name() {
        let hits = Hits::new(20_000);
        let all: Vec<_> = (0..hits.count).map(|number| hits.hit(number)).collect();
        let share = |is: &dyn Fn(&super::Hit) -> bool| all.iter().filter(|hit| is(hit)).count();
        let named = share(&|hit| hit.counter() == NAMED_COUNTER);
        assert!((400..1_200).contains(&named), "{named}");
        assert!(share(&|hit| hit.user() == busiest_user()) > 8);
        assert!(share(&|hit| hit.url_hash() == busiest_page_hash()) > 10);
        assert!(share(&|hit| hit.referer_hash() == busiest_page_hash()) > 10);
        assert!(share(&|hit| hit.url().contains("google")) > 20);
        assert!(share(&|hit| hit.title().contains("Google")) > 20);
        let phrases = share(&|hit| !hit.search_phrase().is_empty());
        assert!((1_500..4_000).contains(&phrases), "{phrases}");
        assert!(all.iter().all(|hit| (15_887..15_918).contains(&hit.day())));
        let watches: std::collections::HashSet<i64> = all.iter().map(super::Hit::watch).collect();
        assert_eq!(watches.len(), all.len());
    }
}
