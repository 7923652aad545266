//! K24: a job with one task for each region.

use std::time::Instant;

use bytes::Bytes;

use crate::keyed::keys_of;
use crate::parallel::each_region;
use crate::samples::Zipf;
use crate::{Lab, LabTable, Page, Part, Read};

pub(super) const PAGE: Page = Page { id: "K24", title: "One task for each region", rules: &[], see: &["K23", "K21"], run };

const ROWS: usize = 8_000;

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "A job that reads a whole table is cut at the borders of regions: one task for each, as TableInputFormat does for MapReduce and Spark. Sixteen \
         regions are sixteen tasks at once; one region is one task, however many machines there are. The job ends with its longest task.",
    );
    lab.part(Part::Declared);
    let text = "CREATE TABLE visits (\n  page STRING FAMILY v QUALIFIER p,\n  ROW KEY (SALT(16 BY visitor), visitor STRING)\n) SPLIT BY SALT";
    let (even, key) = lab.declare(text)?;
    lab.say("And beside it the same rows without salts, on 16 regions by the first letter of the visitor's country:");
    let uneven = lab.create("by_country", &["v"], &["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"])?;

    lab.part(Part::Shown);
    let countries = Zipf::new(16, 1.2);
    let visitors: Vec<String> =
        (0..ROWS).map(|visitor| format!("{}-{visitor:05}", char::from(b'a' + u8::try_from(countries.draw(lab.chance())).unwrap_or(0)))).collect();
    let keys = keys_of(&key, visitors.iter().map(|visitor| [visitor.as_str().into()]))?;
    lab.load(&even, "v:p", keys.into_iter().map(|key| (key, "/")))?;
    lab.load(&uneven, "v:p", visitors.iter().map(|visitor| (visitor.clone(), "/")))?;
    let (of_even, of_uneven) = (tasks(lab, &even)?, tasks(lab, &uneven)?);
    let mean = ROWS / 16;
    let line = |name: &str, tasks: &[usize]| {
        let longest = tasks.iter().copied().max().unwrap_or(0);
        [name.to_owned(), tasks.len().to_string(), mean.to_string(), longest.to_string(), format!("{:.1}", times_faster(longest))]
    };
    lab.figures(
        &["", ">tasks", ">rows in the mean", ">in the longest", ">times faster than one"],
        [line("by salt", &of_even), line("by country", &of_uneven)],
    );
    let longest = |tasks: &[usize]| times_faster(tasks.iter().copied().max().unwrap_or(0));
    lab.claim(of_even.len() == 16 && of_uneven.len() == 16, "Both jobs have 16 tasks, and their tasks together read every row once, in order.")?;
    lab.claim(longest(&of_even) > 12.0, "With even regions 16 tasks can be more than twelve times as fast as one.")?;
    lab.claim(longest(&of_uneven) < 4.0, "With uneven ones they are less than four times as fast: fifteen wait for the one of country a.")?;

    lab.part(Part::Costs);
    lab.say(
        "It is the borders that make the difference, not the salts: rows that are evenly split without them give tasks that are as even. And tasks that run \
         on one server share its disk; they are faster together only as far as that goes.",
    );
    Ok(())
}

/// The rows of each region, read at the same time; they are the table's rows, each once and in order.
fn tasks(lab: &mut Lab, table: &LabTable) -> anyhow::Result<Vec<usize>> {
    let began = Instant::now();
    let whole = lab.rows(table, &Read::all())?;
    let alone = began.elapsed();
    let began = Instant::now();
    let parts = each_region(table, |_, rows| Ok(rows.iter().map(|row| Bytes::copy_from_slice(row.key())).collect::<Vec<_>>()))?;
    lab.measured(format!("{}: one scan {alone:.0?}, a scan for each region at the same time {:.0?}", table.name(), began.elapsed()));
    let joined: Vec<Bytes> = parts.iter().flatten().cloned().collect();
    anyhow::ensure!(joined == whole.iter().map(|row| Bytes::copy_from_slice(row.key())).collect::<Vec<_>>(), "regions together are the table");
    Ok(parts.iter().map(Vec::len).collect())
}

/// How much faster a job is whose longest task has so many of the rows, where tasks do not hinder each other.
#[expect(clippy::cast_precision_loss, reason = "a ratio of small counts")]
fn times_faster(longest: usize) -> f64 {
    ROWS as f64 / longest.max(1) as f64
}
