//! Feeds of a few users, and a celebrity: `cargo run -p halite-example-feed [DIR]`.

use std::io::Write as _;

use feed::{Comment, Feed, Options, Post};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const ADA: u64 = 1;
const GRACE: u64 = 2;
const STAR: u64 = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-feed-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let feed = Feed::open(&store, "feed", Options { max_pushed: 50, ..Options::default() })?;
    feed.follow(ADA, GRACE)?;
    feed.follow(ADA, STAR)?;
    for fan in 100..200 {
        feed.follow(fan, STAR)?;
    }
    let post = |author, minute: i64, id, text: &str| Post {
        author,
        at_ms: T0 + minute * 60_000,
        id,
        text: text.to_owned(),
    };
    feed.publish(&post(STAR, 0, 1, "hello"))?;
    let lunch = post(GRACE, 1, 2, "lunch");
    feed.publish(&lunch)?;
    // From now on the followers of the star pull.
    feed.publish(&post(STAR, 2, 3, "a new song"))?;
    feed.publish(&post(GRACE, 2, 4, "a bug in the relay"))?;

    let print = |title: &str, owner: u64| -> Result<(), Box<dyn std::error::Error>> {
        let page = feed.page(owner, 3, None)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{title}, {} rows", page.examined)?;
        for Post { author, at_ms, id, text } in page.posts {
            let (minute, likes) = ((at_ms - T0) / 60_000, feed.likes(id)?);
            let comments = feed.comment_count(id)?;
            writeln!(
                out,
                "  minute {minute} user {author}: {text}, {likes} likes, {comments} comments"
            )?;
        }
        Ok(())
    };
    for fan in 100..200 {
        feed.like(fan, 3, T0)?;
        feed.like(fan, 3, T0)?;
    }
    let comment = Comment { post: 3, at_ms: T0, id: 5, user: ADA, text: "again!".to_owned() };
    feed.comment(&comment)?;
    feed.comment(&comment)?;
    print("ada", ADA)?;
    feed.delete(&lunch)?;
    feed.unfollow(ADA, STAR)?;
    print("ada, without the star and without lunch", ADA)?;
    print("a fan", 150)?;
    Ok(store.close()?)
}
