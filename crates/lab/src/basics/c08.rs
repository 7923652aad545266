//! C08: few families, and none with much more rows than another.

use halite::rowkey::lint::Subject;

use crate::{Lab, Page, Part, Read};

pub(super) const PAGE: Page = Page { id: "C08", title: "Few families, of like sizes", rules: &["F-MANYCF", "F-CARD"], see: &["M15", "K35"], run };

const ROWS: usize = 4_000;
/// Of so many users one has a cell in the small family.
const EACH: usize = 250;

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "Families share their regions: what splits a table splits all its families, at the same keys. A family with a million rows beside one with a billion is \
         therefore spread over as many regions as the large one, a few rows in each, and flushed and compacted there.",
    );
    lab.part(Part::Shown);
    let table = lab.create("users", &["a", "b"], &["user-1000", "user-2000", "user-3000"])?;
    lab.say(format!("{ROWS} users have a cell in family a, and one of {EACH} has one in family b:"));
    lab.load(&table, "a:visits", (0..ROWS).map(|user| (format!("user-{user:04}"), "x")))?;
    lab.load(&table, "b:award", (0..ROWS).step_by(EACH).map(|user| (format!("user-{user:04}"), "x")))?;
    let in_a = lab.count(&table, &Read::all().column("a"))?;
    let in_b = lab.count(&table, &Read::all().column("b"))?;
    let regions: Vec<usize> =
        crate::parallel::each_region(&table, |_, rows| Ok(rows.iter().filter(|row| row.value("b", "award").is_some()).count()))?;
    lab.claim(in_a == ROWS && in_b == ROWS / EACH, "For each row in b there are 250 in a.")?;
    lab.claim(regions == [4, 4, 4, 4], "The 16 rows of b lie in all four regions, four in each: a scan of b asks every server of a.")?;
    lab.say("In tables of their own, the few rows are one region:");
    let alone = lab.create("awards", &["b"], &[])?;
    lab.load(&alone, "b:award", (0..ROWS).step_by(EACH).map(|user| (format!("user-{user:04}"), "x")))?;
    lab.claim(alone.calls().regions()?.len() == 1 && lab.rows(&alone, &Read::all())?.len() == 16, "All 16 of them are found in one place.")?;
    lab.say(
        "A flush writes the families of a region whose memstores are large, and leaves small ones in memory, up to a limit; each family still costs a memstore, \
         files and compactions in every region. Two or three are plenty. A second one is right where some columns are read without the others.",
    );
    let (of_table, of_alone) = (lab.cells_of(&table)?, lab.cells_of(&alone)?);
    let (described, described_alone) = (table.calls().descriptor()?, alone.calls().descriptor()?);
    let subject = |table, cells| Subject { table: Some(table), cells: Some(cells), ..Subject::default() };
    lab.caught_in("F-CARD", &subject(&*described, &of_table), &subject(&*described_alone, &of_alone))?;
    let columns = |names: &[&str]| names.iter().map(|name| format!("c{name} STRING FAMILY {name}")).collect::<Vec<_>>().join(", ");
    let with = |names: &[&str]| format!("CREATE TABLE t ({}, ROW KEY (id U32))", columns(names));
    lab.caught("F-MANYCF", &with(&["a", "b", "c", "d"]), &with(&["a", "b"]))
}
