//! K23: sums and counts computed per region, then added up.

use halite::Row;

use crate::declared_keys::encode_keys;
use crate::parallel::each_region;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K23",
    title: "Counts and sums, region by region",
    rules: &[],
    see: &["K24", "K22"],
    run,
};

const ORDERS: usize = 5_000;

/// Partial result of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RegionSums {
    rows: usize,
    sum: i64,
    min: Option<i64>,
    max: Option<i64>,
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "How many orders are there, and what are they worth together? Fetching all rows to one \
         client and adding them up there takes as long as one client takes. Each region can add up \
         its own rows, all at the same time, and what is left to do is to add 16 numbers. In HBase \
         the endpoint AggregateService does that inside the region servers. This page does it from \
         outside: each region is read by a scan of its own, all at the same time. The parts are \
         those that the endpoint sends; what it saves besides, sending the rows, is not shown \
         here.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE orders (\n  cents I64 FAMILY o QUALIFIER c,\n  ROW KEY (SALT(16 BY \
                id), id STRING)\n) SPLIT BY SALT";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    lab.paragraph(format!(
        "{ORDERS} orders of up to 100.00, each amount in eight bytes, and statistics of each \
         region by a scan of it:"
    ));
    let ids: Vec<String> = (0..ORDERS).map(|id| format!("order-{id}")).collect();
    let keys = encode_keys(&key, ids.iter().map(|id| [id.as_str().into()]))?;
    let amounts: Vec<i64> = (0..ORDERS).map(|_| lab.rng().i64(1..=10_000)).collect();
    lab.load(&table, "o:c", keys.into_iter().zip(amounts.iter().map(|cents| cents.to_be_bytes())))?;
    let parts = each_region(&table, |_, rows| region_sums(&rows))?;
    let shown = |name: String, part: &RegionSums| {
        let number = |value: Option<i64>| value.map_or_else(String::new, |value| value.to_string());
        [name, part.rows.to_string(), part.sum.to_string(), number(part.min), number(part.max)]
    };
    let all = parts.iter().copied().reduce(add_sums).unwrap_or(RegionSums {
        rows: 0,
        sum: 0,
        min: None,
        max: None,
    });
    let mut lines: Vec<_> = parts
        .iter()
        .take(3)
        .enumerate()
        .map(|(index, part)| shown(format!("region {}", index + 1), part))
        .collect();
    lines.push(["...", "", "", "", ""].map(str::to_owned));
    lines.push(shown("together".to_owned(), &all));
    lab.data_table(&["", ">rows", ">sum", ">least", ">greatest"], lines);
    let whole = region_sums(&lab.rows(&table, &ScanSpec::all())?)?;
    lab.assert_claim(
        parts.len() == 16 && all == whole,
        "Added up, the 16 parts are the statistics of the whole table.",
    )?;
    let written = RegionSums {
        rows: ORDERS,
        sum: amounts.iter().sum(),
        min: amounts.iter().min().copied(),
        max: amounts.iter().max().copied(),
    };
    lab.assert_claim(whole == written, "They are those of the amounts that were written.")?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Count, sum, least and greatest can be made of parts. A mean is the sum through the count, \
         not the mean of means; a median or a number of distinct values cannot be made of parts \
         without more than one number from each. The statistics of different regions are of \
         slightly different moments, as those of any scan. And the table is still read whole: \
         statistics that are needed every minute are kept as counters.",
    );
    Ok(())
}

fn region_sums(rows: &[Row]) -> anyhow::Result<RegionSums> {
    let values = rows
        .iter()
        .filter_map(|row| row.value("o", "c"))
        .map(|bytes| Ok(i64::from_be_bytes(bytes.try_into()?)));
    let values = values.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(RegionSums {
        rows: values.len(),
        sum: values.iter().sum(),
        min: values.iter().min().copied(),
        max: values.iter().max().copied(),
    })
}

fn add_sums(a: RegionSums, b: RegionSums) -> RegionSums {
    let least = a.min.into_iter().chain(b.min).min();
    RegionSums { rows: a.rows + b.rows, sum: a.sum + b.sum, min: least, max: a.max.max(b.max) }
}
