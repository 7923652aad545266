//! C06: files of which every cell has expired.

use std::time::{Duration, Instant};

use halite::schema::family_attribute::DELETE_EXPIRED_FILES;
use halite::{CompactionKind, FamilyDescriptor, block_on};

use crate::{Lab, LabTable, Page, Part, Read};

pub(super) const PAGE: Page = Page { id: "C06", title: "Files that have expired as a whole", rules: &[], see: &["C05", "C04"], run };

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "A file knows the newest timestamp in it. Once that is older than the TTL, nothing in the file can be seen any more, and the file is dropped at the \
         next minor compaction without being read. Data that comes in the order of time costs nothing to forget.",
    );
    lab.part(Part::Shown);
    let expiring = || FamilyDescriptor::new("f").ttl_seconds(1);
    let mut kept_whole = expiring();
    kept_whole.configuration.insert(DELETE_EXPIRED_FILES.to_owned(), "false".to_owned());
    let tables = [
        ("by_default", lab.create_of("by_default", &[expiring()])?),
        ("not_dropped", lab.create_of("not_dropped", &[kept_whole])?),
        ("min_versions", lab.create_of("min_versions", &[expiring().set("MIN_VERSIONS", 1)])?),
    ];
    lab.say("Each table gets two files of 100 rows, one after the other. When a second is over, all of it has expired, and a minor compaction runs.");
    for round in 0..2 {
        for (_, table) in &tables {
            table.calls().batch((0..100).map(|row| halite::Put::new(format!("{round}-{row:03}")).add("f", "q", "x").into()).collect())?;
            lab.cluster().flush(table.calls().descriptor()?.name())?;
        }
    }
    std::thread::sleep(Duration::from_millis(2_000));
    let mut files = Vec::new();
    for (_, table) in &tables {
        let name = table.calls().descriptor()?.name().clone();
        block_on(lab.cluster().cluster().admin().compact(&name, None, CompactionKind::Minor))?;
    }
    for (_, table) in &tables {
        files.push(stored_cells(lab, table)?);
    }
    lab.figures(
        &["table", ">cells in files, before", ">and after"],
        tables.iter().zip(&files).map(|((name, _), cells)| [(*name).to_owned(), "200".to_owned(), cells.to_string()]),
    );
    lab.claim(files[0] == 0, "By default both files are gone.")?;
    let visible =
        [lab.rows(&tables[0].1, &Read::all())?.len(), lab.rows(&tables[1].1, &Read::all())?.len(), lab.rows(&tables[2].1, &Read::all())?.len()];
    lab.claim(
        files[1] == 200 && visible[..2] == [0, 0],
        "With hbase.store.delete.expired.storefile as false they stay, unseen, until a major compaction.",
    )?;
    lab.claim(
        files[2] == 200 && visible[2] == 200,
        "With MIN_VERSIONS they stay too, and can be read: of each column the newest version outlives the TTL.",
    )
}

/// Cells in the files of a table; asked for until two answers agree.
fn stored_cells(lab: &Lab, table: &LabTable) -> anyhow::Result<u64> {
    let name = table.calls().descriptor()?.name().clone();
    let of = |lab: &Lab| -> anyhow::Result<u64> {
        Ok(lab.cluster().status()?.regions.iter().filter(|load| load.region.table == name).map(|load| load.store_file_cells).sum())
    };
    let until = Instant::now() + Duration::from_secs(5);
    let mut last = of(lab)?;
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
        let now = of(lab)?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}
