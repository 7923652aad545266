//! E25: two ids concatenated without a delimiter.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E25",
    title: "Directory 1 with child 23 is directory 12 with child 3",
    rules: &["K-AMBIG"],
    see: &["E11"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY TEXT '{parent}{child}'";
    const RIGHT: &str = "ROW KEY (parent STRING, child STRING)";
    lab.section(Section::Wrong);
    lab.paragraph(
        "A directory tree is stored in a table: the key is the id of the directory followed by the \
         id of an entry.",
    );
    let table = lab.create("tree", &["d"], &[])?;
    let entries =
        [("1", "23", "report"), ("12", "3", "photo"), ("1", "4", "letter"), ("12", "5", "song")];
    for (parent, child, name) in entries {
        lab.put(&table, format!("{parent}{child}"), "d:name", name)?;
    }

    lab.section(Section::Outcome);
    let found = lab.scan(&table, &ScanSpec::all())?;
    lab.assert_claim(
        found.len() == 3 && found[0].value("d", "name") == Some(b"photo"),
        "Four entries were written, and three are there: 1 with 23 and 12 with 3 are both 123. The \
         report is gone.",
    )?;
    let listed = lab.scan(&table, &ScanSpec::prefix("1"))?;
    let names: Vec<_> = listed.iter().filter_map(|row| row.value("d", "name")).collect();
    lab.assert_claim(
        names.contains(&&b"song"[..]),
        "The listing of directory 1 shows the song, which is in directory 12.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Where the first id ends is not in the bytes. Different pairs give one key, and a prefix \
         of one id is a prefix of others. A reader cannot fix it: the report was overwritten.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "Each field but the last has an end of its own, or a fixed width. Ids that are numbers are \
         best declared as such: parent U64 is eight bytes, always.",
    );
    let (table, key) =
        lab.declare(&format!("CREATE TABLE tree_2 (name STRING FAMILY d, {RIGHT})"))?;
    for (parent, child, name) in entries {
        lab.put(&table, key.encode(&[parent.into(), child.into()])?, "d:name", name)?;
    }
    let all = lab.query(&table, &key, &[], None)?;
    lab.assert_claim(all.len() == 4, "All four entries are there.")?;
    let listed = lab.query(&table, &key, &["parent=1"], None)?;
    let names: Vec<_> = listed.iter().filter_map(|row| row.value("d", "name")).collect();
    lab.assert_claim(names == [&b"report"[..], b"letter"], "Directory 1 lists what is in it.")?;
    lab.expect_finding("K-AMBIG", WRONG, RIGHT)
}
