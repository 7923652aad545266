//! E04: a range after a hash that ends at the hash of the next value.

use crate::manual_keys::{bounds, md5_hex};
use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E04",
    title: "The hash of the next value is not the next hash",
    rules: &["Q-INV"],
    see: &["E34"],
    run,
};

const REGIONS: [&str; 8] =
    ["beijing", "chengdu", "guangzhou", "hangzhou", "nanjing", "shanghai", "shenzhen", "wuhan"];
const EACH: usize = 3;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Orders are stored under four hexadecimal digits of the MD5 of their region, the region \
         and a time. Eight regions have three orders each.",
    );
    let table = lab.create("orders", &["o"], &[])?;
    let mut rows = Vec::new();
    for region in REGIONS {
        let hash = md5_hex(region, 4)?;
        rows.extend((0..3).map(|hour| (format!("{hash}_{region}_{}", T0 + hour * HOUR), region)));
    }
    lab.load(&table, "o:region", rows)?;
    lab.paragraph(
        "All orders of a region are read from the hash of the region up to the hash of what comes \
         next: the region followed by a 1. That is how one writes the end of a prefix where \
         nothing is hashed.",
    );

    lab.section(Section::Outcome);
    let (mut figures, mut wrong) = (Vec::new(), 0);
    for region in REGIONS {
        let (start, stop) = (md5_hex(region, 4)?, md5_hex(&format!("{region}1"), 4)?);
        let found = lab.rows(
            &table,
            &ScanSpec::from_row(format!("{start}_{region}_")).to(format!("{stop}_{region}1_")),
        )?;
        let own =
            found.iter().filter(|row| row.value("o", "region") == Some(region.as_bytes())).count();
        wrong += usize::from(own != EACH || found.len() != EACH);
        figures.push([
            region.to_owned(),
            start,
            stop,
            own.to_string(),
            (found.len() - own).to_string(),
        ]);
    }
    let empty = figures.iter().filter(|row| row[3] == "0").count();
    let mixed = figures.iter().filter(|row| row[4] != "0").count();
    lab.data_table(&["region", "starts at", "stops at", ">own orders found", ">others'"], figures);
    lab.assert_claim(
        wrong >= 6 && empty > 0 && mixed > 0,
        format!(
            "Of eight such scans {wrong} are wrong: {empty} find nothing, {mixed} find orders of \
             other regions too."
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A hash destroys order. The hash of the next value is anywhere: below the start, and the \
         range is empty; far above it, and the range runs through other regions. Where a scan is \
         right, it is a coincidence, until a region is added in between.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The hash belongs to the prefix. The end is the successor of the whole prefix as bytes: \
         its last byte plus one.",
    );
    let key =
        lab.key("ROW KEY TEXT '{md5(region):4}_{region}_{ts:13}' WHERE region MATCHES '[^_]+'")?;
    let plan = lab.explain(&key, &["region=beijing"], None)?;
    lab.assert_claim(
        bounds(&plan) == [("0420_beijing_".into(), "0420_beijing`".into())],
        "'_' is 5F, and 60 is '`'.",
    )?;
    let found = lab.query(&table, &key, &["region=beijing"], None)?;
    lab.assert_claim(
        found.len() == EACH && found.iter().all(|row| row.value("o", "region") == Some(b"beijing")),
        "The orders of beijing, and no others.",
    )?;
    let mut right = 0;
    for region in REGIONS {
        let found = lab.query_rows(&table, &key, &[&format!("region={region}")], None)?;
        right += usize::from(
            found.len() == EACH
                && found.iter().all(|row| row.value("o", "region") == Some(region.as_bytes())),
        );
    }
    lab.assert_claim(right == REGIONS.len(), "So it is for each of the eight.")?;
    let hash = md5_hex("wuhan", 4)?;
    let wrong = ScanSpec::from_row(format!("{hash}_wuhan_"))
        .to(format!("{}_wuhan1_", md5_hex("wuhan1", 4)?));
    lab.expect_finding_in_scan(
        "Q-INV",
        &key,
        &wrong,
        &ScanSpec::from_row(format!("{hash}_wuhan_")).to(format!("{hash}_wuhan`")),
    )
}
