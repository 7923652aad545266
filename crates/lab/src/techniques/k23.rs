//! K23: sums and counts made region by region, and added up.

use halite::Row;

use crate::keyed::keys_of;
use crate::parallel::each_region;
use crate::{Lab, Page, Part, Read};

pub(super) const PAGE: Page = Page { id: "K23", title: "Counts and sums, region by region", rules: &[], see: &["K24", "K22"], run };

const ORDERS: usize = 5_000;

/// What a region says of its rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    rows: usize,
    sum: i64,
    least: Option<i64>,
    greatest: Option<i64>,
}

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "How many orders are there, and what are they worth together? Fetching all rows to one client and adding them up there takes as long as one \
         client takes. Each region can add up its own rows, all at the same time, and what is left to do is to add 16 numbers. In HBase the \
         endpoint AggregateService does that inside the region servers. This page does it from outside: each region is read by a scan of its own, all at the \
         same time. The parts are those that the endpoint sends; what it saves besides, sending the rows, is not shown here.",
    );
    lab.part(Part::Declared);
    let text = "CREATE TABLE orders (\n  cents I64 FAMILY o QUALIFIER c,\n  ROW KEY (SALT(16 BY id), id STRING)\n) SPLIT BY SALT";
    let (table, key) = lab.declare(text)?;

    lab.part(Part::Shown);
    lab.say(format!("{ORDERS} orders of up to 100.00, each amount in eight bytes, and figures of each region by a scan of it:"));
    let ids: Vec<String> = (0..ORDERS).map(|id| format!("order-{id}")).collect();
    let keys = keys_of(&key, ids.iter().map(|id| [id.as_str().into()]))?;
    let amounts: Vec<i64> = (0..ORDERS).map(|_| lab.chance().i64(1..=10_000)).collect();
    lab.load(&table, "o:c", keys.into_iter().zip(amounts.iter().map(|cents| cents.to_be_bytes())))?;
    let parts = each_region(&table, |_, rows| figures(&rows))?;
    let shown = |name: String, part: &Figures| {
        let number = |value: Option<i64>| value.map_or_else(String::new, |value| value.to_string());
        [name, part.rows.to_string(), part.sum.to_string(), number(part.least), number(part.greatest)]
    };
    let all = parts.iter().copied().reduce(together).unwrap_or(Figures { rows: 0, sum: 0, least: None, greatest: None });
    let mut lines: Vec<_> = parts.iter().take(3).enumerate().map(|(at, part)| shown(format!("region {}", at + 1), part)).collect();
    lines.push(["...", "", "", "", ""].map(str::to_owned));
    lines.push(shown("together".to_owned(), &all));
    lab.figures(&["", ">rows", ">sum", ">least", ">greatest"], lines);
    let whole = figures(&lab.rows(&table, &Read::all())?)?;
    lab.claim(parts.len() == 16 && all == whole, "Added up, the 16 parts are the figures of the whole table.")?;
    let written = Figures { rows: ORDERS, sum: amounts.iter().sum(), least: amounts.iter().min().copied(), greatest: amounts.iter().max().copied() };
    lab.claim(whole == written, "They are those of the amounts that were written.")?;

    lab.part(Part::Costs);
    lab.say(
        "Count, sum, least and greatest can be made of parts. A mean is the sum through the count, not the mean of means; a median or a number of \
         distinct values cannot be made of parts without more than one number from each. The figures of different regions are of slightly different \
         moments, as those of any scan. And the table is still read whole: figures that are wanted every minute are kept as counters.",
    );
    Ok(())
}

fn figures(rows: &[Row]) -> anyhow::Result<Figures> {
    let values = rows.iter().filter_map(|row| row.value("o", "c")).map(|bytes| Ok(i64::from_be_bytes(bytes.try_into()?)));
    let values = values.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Figures { rows: values.len(), sum: values.iter().sum(), least: values.iter().min().copied(), greatest: values.iter().max().copied() })
}

fn together(a: Figures, b: Figures) -> Figures {
    let least = a.least.into_iter().chain(b.least).min();
    Figures { rows: a.rows + b.rows, sum: a.sum + b.sum, least, greatest: a.greatest.max(b.greatest) }
}
