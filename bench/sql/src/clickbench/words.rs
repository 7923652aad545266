//! Texts of page views: each is a function of ranks.

const WORDS: [&str; 64] = [
    "weather",
    "car",
    "moscow",
    "free",
    "online",
    "buy",
    "film",
    "news",
    "home",
    "cheap",
    "hotel",
    "music",
    "game",
    "photo",
    "recipe",
    "ticket",
    "map",
    "school",
    "phone",
    "travel",
    "watch",
    "dress",
    "holiday",
    "bank",
    "work",
    "garden",
    "football",
    "book",
    "train",
    "market",
    "house",
    "spare",
    "parts",
    "summer",
    "beach",
    "doctor",
    "kitchen",
    "video",
    "forum",
    "price",
    "review",
    "children",
    "animal",
    "city",
    "flight",
    "fashion",
    "credit",
    "radio",
    "camera",
    "river",
    "winter",
    "software",
    "driver",
    "translate",
    "song",
    "story",
    "theater",
    "museum",
    "paint",
    "bicycle",
    "shoes",
    "repair",
    "flowers",
    "wedding",
];

/// Returns a word for each six bits of a number.
pub(super) fn phrase(number: u64, separator: &str) -> String {
    let mut text = word(number).to_owned();
    let mut rest = number / 64;
    while rest > 0 {
        text = text + separator + word(rest);
        rest /= 64;
    }
    text
}

fn word(number: u64) -> &'static str {
    WORDS[usize::try_from(number % 64).unwrap_or(0)]
}

fn domain(rank: u64) -> String {
    let beginning = if rank.is_multiple_of(3) { "www." } else { "" };
    let end = ["ru", "com", "net"][usize::try_from(rank % 3).unwrap_or(0)];
    format!("{beginning}{}.{end}", phrase(rank, "-"))
}

/// Returns the address of a page of a site.
pub(super) fn page(site: u64, page: u64) -> String {
    let scheme = if site.is_multiple_of(5) { "https" } else { "http" };
    let folder = word(site + page);
    format!("{scheme}://{}/{folder}/{}/page-{page}.html", domain(site), phrase(page, "-"))
}

/// Returns the address of a search.
pub(super) fn search(engine: u64, phrase: &str) -> String {
    let engine = ["www.google.com", "yandex.ru", "go.mail.ru", "www.bing.com"]
        .get(usize::try_from(engine).unwrap_or(0))
        .unwrap_or(&"www.google.com");
    format!("http://{engine}/search?text={}", phrase.replace(' ', "+"))
}

/// Returns the title of a page of a site.
pub(super) fn title(site: u64, page: u64) -> String {
    let end = if (site * 31 + page) % 80 == 3 { " - Google Maps" } else { "" };
    format!("{}: all about {}, the best of {}{end}", domain(site), phrase(page, " "), word(page))
}

/// Returns the name of a telephone.
pub(super) fn model(maker: u64, model: u64) -> String {
    format!("{} {}", word(maker * 7), 100 * model + maker)
}

/// Returns a hash of a text: Fowler, Noll and Vo's FNV-1a.
pub(super) fn hash(text: &str) -> i64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step).cast_signed()
}
