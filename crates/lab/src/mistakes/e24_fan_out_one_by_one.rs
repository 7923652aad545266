//! E24: a post written to its followers one by one, by a program that may stop.

use std::time::Instant;

use halite::{CheckAndMutate, Get, Put, RowOp};

use crate::table::LabTable;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E24",
    title: "A post sent to followers one call at a time",
    rules: &[],
    see: &["E06", "E23"],
    run,
};

const FOLLOWERS: usize = 300;
const BATCH: usize = 100;

fn follower(index: usize) -> String {
    format!("user_{index:04}")
}

/// Returns the feed row of a post for a follower. Repeated writes give the same row.
fn entry(index: usize, post: &str) -> Put {
    Put::new(format!("{}_{post}", follower(index))).add("t", "from", "star")
}

/// Returns the number of followers that have the post.
fn delivered(lab: &PageWriter, table: &LabTable, post: &str) -> anyhow::Result<usize> {
    Ok(lab
        .rows(table, &ScanSpec::all())?
        .iter()
        .filter(|row| row.key().ends_with(post.as_bytes()))
        .count())
}

/// Sends the post to the followers after the cursor, one batch at a time, and advances the cursor
/// after each batch; stops after `batches`.
fn fan_out(
    posts: &LabTable,
    timeline: &LabTable,
    post: &str,
    batches: usize,
) -> anyhow::Result<usize> {
    let mut calls = 0;
    for _ in 0..batches {
        let row = posts.inner().get(Get::new(post.to_owned()))?;
        let done = row
            .value("p", "cursor")
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default();
        let from: usize = done.parse()?;
        if from >= FOLLOWERS {
            break;
        }
        let to = (from + BATCH).min(FOLLOWERS);
        for result in timeline
            .inner()
            .batch((from..to).map(|index| RowOp::from(entry(index, post))).collect())?
        {
            result?;
        }
        // Only the program that read this cursor position advances it, so that two concurrent
        // programs do not undo each other's steps.
        let moved = Put::new(post.to_owned()).add("p", "cursor", to.to_string());
        posts.inner().check_and_mutate(CheckAndMutate::if_equals(
            post.to_owned(),
            "p",
            "cursor",
            done,
            moved,
        ))?;
        calls += 3;
    }
    Ok(calls)
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "A post of star goes to the feeds of {FOLLOWERS} followers: a loop over the followers, \
         with a put for each. The program is restarted in the middle of it."
    ));
    let timeline = lab.create("timeline", &["t"], &[])?;
    let begun = Instant::now();
    for index in 0..120 {
        timeline.inner().put(entry(index, "post_1"))?;
    }
    let single = begun.elapsed() / 120;
    lab.statement(
        "put 'timeline', '<follower>_post_1', 't:from', 'star'    -- for each follower, until the \
         program ends",
        Vec::new(),
    );

    lab.section(Section::Outcome);
    let has = delivered(lab, &timeline, "post_1")?;
    lab.assert_claim(
        has == 120,
        format!(
            "{has} of {FOLLOWERS} followers have the post. Nothing says that it is not all of \
             them, nor with whom to go on."
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "HBase changes one row at a time for certain; many rows are many changes, and between any \
         two of them the program may end. Each put is a round trip of its own as well: ten million \
         followers at half a millisecond are an hour and a half, for one post.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The post is written first, with a cursor: how far it has been sent. Followers get it in \
         batches, and the cursor moves on after each. A restarted process reads the cursor. A \
         batch that is sent twice does no harm, since a follower's row for a post is always the \
         same.",
    );
    let posts = lab.create("posts", &["p"], &[])?;
    posts.inner().put(Put::new("post_2").add("p", "text", "hello").add("p", "cursor", "0"))?;
    lab.statement("put 'posts', 'post_2', {'p:text' => 'hello', 'p:cursor' => '0'}", Vec::new());
    fan_out(&posts, &timeline, "post_2", 1)?;
    // The program sends the second batch, and ends before it advances the cursor.
    for result in timeline
        .inner()
        .batch((BATCH..2 * BATCH).map(|index| RowOp::from(entry(index, "post_2"))).collect())?
    {
        result?;
    }
    let before = delivered(lab, &timeline, "post_2")?;
    lab.paragraph("The program is ended again, between the second batch and its cursor:");
    let cursor = lab.get(&posts, "post_2")?;
    lab.assert_claim(
        before == 200 && cursor.value("p", "cursor") == Some(b"100"),
        "200 followers have the post, and the cursor says 100: some will be sent it again, none \
         will be left out.",
    )?;
    let begun = Instant::now();
    let calls = fan_out(&posts, &timeline, "post_2", 10)?;
    let batched = begun.elapsed();
    let after = delivered(lab, &timeline, "post_2")?;
    let cursor = lab.get(&posts, "post_2")?;
    lab.assert_claim(
        after == FOLLOWERS && cursor.value("p", "cursor") == Some(b"300"),
        format!(
            "Started once more, it ends with all {after} followers having the post once, after \
             {calls} calls for 200 followers."
        ),
    )?;
    lab.measurement(format!(
        "a single put took {} us, a follower of a batch {} us",
        single.as_micros(),
        batched.as_micros() / 200
    ));
    lab.paragraph(
        "Above some number of followers the post is not sent at all. A follower of such an account \
         reads its newest posts in addition to their own feed, and merges the two: one range more \
         for a reader, instead of millions of rows for a post.",
    );
    let star = lab.rows(&posts, &ScanSpec::prefix("post_"))?;
    let own = lab.rows(&timeline, &ScanSpec::prefix(format!("{}_", follower(299))))?;
    lab.assert_claim(
        star.len() + own.len() == 2,
        "For user_0299 that is one range of the feed and one of star's posts.",
    )
}
