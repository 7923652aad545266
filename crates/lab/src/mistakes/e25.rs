//! E25: two ids put together without anything in between.

use crate::{Lab, Page, Part, Read};

pub(super) const PAGE: Page =
    Page { id: "E25", title: "Directory 1 with child 23 is directory 12 with child 3", rules: &["K-AMBIG"], see: &["E11"], run };

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY TEXT '{parent}{child}'";
    const RIGHT: &str = "ROW KEY (parent STRING, child STRING)";
    lab.part(Part::Wrong);
    lab.say("A directory tree stands in a table: the key is the id of the directory and the id of what is in it, one behind the other.");
    let table = lab.create("tree", &["d"], &[])?;
    let entries = [("1", "23", "report"), ("12", "3", "photo"), ("1", "4", "letter"), ("12", "5", "song")];
    for (parent, child, name) in entries {
        lab.put(&table, format!("{parent}{child}"), "d:name", name)?;
    }

    lab.part(Part::Happens);
    let found = lab.scan(&table, &Read::all())?;
    lab.claim(
        found.len() == 3 && found[0].value("d", "name") == Some(b"photo"),
        "Four entries were written, and three are there: 1 with 23 and 12 with 3 are both 123. The report is gone.",
    )?;
    let listed = lab.scan(&table, &Read::prefix("1"))?;
    let names: Vec<_> = listed.iter().filter_map(|row| row.value("d", "name")).collect();
    lab.claim(names.contains(&&b"song"[..]), "The listing of directory 1 shows the song, which lies in directory 12.")?;

    lab.part(Part::Why);
    lab.say(
        "Where the first id ends is not in the bytes. Different pairs give one key, and a prefix of one id is a prefix of others. It cannot be mended \
         by whoever reads: the report was overwritten.",
    );

    lab.part(Part::Right);
    lab.say("Each field but the last has an end of its own, or a fixed width. Ids that are numbers are best declared as such: parent U64 is eight bytes, always.");
    let (table, key) = lab.declare(&format!("CREATE TABLE tree_2 (name STRING FAMILY d, {RIGHT})"))?;
    for (parent, child, name) in entries {
        lab.put(&table, key.encode(&[parent.into(), child.into()])?, "d:name", name)?;
    }
    let all = lab.ask(&table, &key, &[], None)?;
    lab.claim(all.len() == 4, "All four entries are there.")?;
    let listed = lab.ask(&table, &key, &["parent=1"], None)?;
    let names: Vec<_> = listed.iter().filter_map(|row| row.value("d", "name")).collect();
    lab.claim(names == [&b"report"[..], b"letter"], "Directory 1 lists what is in it.")?;
    lab.caught("K-AMBIG", WRONG, RIGHT)
}
