//! C06: files in which every cell has expired.

use std::time::{Duration, Instant};

use halite::schema::family_attribute::DELETE_EXPIRED_FILES;
use halite::{CompactionKind, FamilyDescriptor, block_on};

use crate::{LabTable, Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "C06",
    title: "Files that have expired as a whole",
    rules: &[],
    see: &["C05", "C04"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A file knows the newest timestamp in it. Once that is older than the TTL, nothing in the \
         file can be seen any more, and the file is dropped at the next minor compaction without \
         being read. Data that comes in the order of time costs nothing to forget.",
    );
    lab.section(Section::Demonstration);
    let expiring = || FamilyDescriptor::new("f").ttl_seconds(1);
    let mut kept_whole = expiring();
    kept_whole.configuration.insert(DELETE_EXPIRED_FILES.to_owned(), "false".to_owned());
    let tables = [
        ("by_default", lab.create_with_families("by_default", &[expiring()])?),
        ("not_dropped", lab.create_with_families("not_dropped", &[kept_whole])?),
        (
            "min_versions",
            lab.create_with_families("min_versions", &[expiring().set("MIN_VERSIONS", 1)])?,
        ),
    ];
    lab.paragraph(
        "Each table gets two files of 100 rows, one after the other. When a second is over, all of \
         it has expired, and a minor compaction runs.",
    );
    for round in 0..2 {
        for (_, table) in &tables {
            table.inner().batch(
                (0..100)
                    .map(|row| {
                        halite::Put::new(format!("{round}-{row:03}")).add("f", "q", "x").into()
                    })
                    .collect(),
            )?;
            lab.cluster().flush(table.inner().descriptor()?.name())?;
        }
    }
    std::thread::sleep(Duration::from_secs(2));
    for (_, table) in &tables {
        let name = table.inner().descriptor()?.name().clone();
        block_on(lab.async_cluster().admin().compact(&name, None, CompactionKind::Minor))?;
    }
    let names = tables.each_ref().map(|(_, table)| table);
    let files = file_counts(lab, &names)?;
    lab.data_table(
        &["table", ">files before", ">and after"],
        [
            ["by_default", "2", "fewer"],
            ["not_dropped", "2", &files[1].to_string()],
            ["min_versions", "2", &files[2].to_string()],
        ],
    );
    lab.measurement(format!("by_default has {} left", files[0]));
    lab.assert_claim(
        files[0] < 2,
        "By default a file that has expired goes. HBase always keeps the last file of a store, and \
         drops it when a newer one is there.",
    )?;
    let visible = [
        lab.rows(&tables[0].1, &ScanSpec::all())?.len(),
        lab.rows(&tables[1].1, &ScanSpec::all())?.len(),
        lab.rows(&tables[2].1, &ScanSpec::all())?.len(),
    ];
    lab.assert_claim(
        files[1] == 2 && visible[..2] == [0, 0],
        "With hbase.store.delete.expired.storefile as false both files stay, unseen, until a major \
         compaction.",
    )?;
    lab.assert_claim(
        files[2] == 2 && visible[2] == 200,
        "With MIN_VERSIONS both stay too, and all 200 rows can be read: of each column the newest \
         version outlives the TTL.",
    )
}

/// Returns the number of files of each table. A cluster reports its metrics every few seconds, so
/// the function polls until they reflect the compaction.
fn file_counts(lab: &PageWriter, tables: &[&LabTable; 3]) -> anyhow::Result<[u64; 3]> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let status = lab.cluster().cluster_status()?;
        let mut files = [0; 3];
        for (count, table) in files.iter_mut().zip(tables) {
            let name = table.inner().descriptor()?.name().clone();
            *count = status
                .regions
                .iter()
                .filter(|load| load.region.table == name)
                .map(|load| load.store_files)
                .sum();
        }
        if (files[0] < 2 && files[1..] == [2, 2]) || Instant::now() > until {
            return Ok(files);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
