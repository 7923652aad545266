//! Closed store opened by HBase's region engine; both must read the same data.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use halite::schema::{family_attribute, table_attribute};
use halite::{
    Append, BloomType, Builder, BulkLoad, Bytes, CellRef, CompactionKind, Delete, FamilyDescriptor,
    Increment, Options, Put, RegionInfo, Scan, Store, TableDescriptor, TableName,
};

use halite_engine::HeatLevel;
use halite_engine::env::Env;
use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};

use crate::pretty_printer::binary;
use crate::{Result, hbase};

const TABLES: [&str; 2] = ["plain", "space:other"];
const ROWS: u64 = 400;
/// Fixed timestamps of the test, so that results do not depend on when it runs.
const START_MS: i64 = 1_700_000_000_000;

/// Fills a store, closes it, reads it with HBase, opens it again and compares.
pub(crate) fn check(jars: &Path, work: &Path) -> Result<()> {
    let (root, printed) = (work.join("store"), work.join("store.printed"));
    fill(&root).map_err(|error| format!("filling the store: {error}"))?;
    hbase::read_directory(jars, &root, &printed)?;
    let found =
        fs::read_to_string(&printed).map_err(|error| format!("{}: {error}", printed.display()))?;
    let expected = describe(&root).map_err(|error| format!("reading the store: {error}"))?;
    let cells = expected.lines().filter(|line| line.starts_with("cell ")).count();
    compare(&expected, &found)?;
    println!(
        "{cells} cells in {} tables: HBase's region engine reads the same contents from the \
         directory as Halite",
        TABLES.len()
    );
    Ok(())
}

fn fill(root: &Path) -> halite::Result<()> {
    let store = open(root)?;
    store.create_namespace("space", halite::Attributes::new())?;
    for name in TABLES {
        let table: TableName = name.parse()?;
        store.create_table(descriptor(table.clone()), &[b"row-100", b"row-300"])?;
        for round in 0..4 {
            write(&store, name, round)?;
            if round == 2 {
                load(&store, root, &table)?;
            }
            // Closing the store flushes the last round.
            if round < 3 {
                store.flush(&table)?;
            }
            if round == 1 && name == TABLES[1] {
                store.compact(&table, None, CompactionKind::Major)?;
            }
        }
    }
    split(&store)?;
    store.close()
}

/// Opens the store without its own recording of loads, a system table that changes with time.
fn open(root: &Path) -> halite::Result<Store> {
    let mut options = Options::default();
    options.heat_level = HeatLevel::Off;
    Builder::new().options(options).open(root)
}

/// Loads an external file, whose cells are newer than those written before with the same keys and
/// older than those written after.
fn load(store: &Store, root: &Path, table: &TableName) -> halite::Result<()> {
    let put =
        |row: &str, value: &str| Put::new(row.to_owned()).add_at("f", "loaded", START_MS, value);
    let handle = store.table(&table.to_string())?;
    ["row-010", "row-020"].iter().try_for_each(|row| handle.put(put(row, "before")))?;
    let path = root.with_extension("to-load");
    write_file(
        &path,
        &[put("row-010", "loaded"), put("row-020", "loaded"), put("row-030", "loaded")],
    )?;
    store.bulk_load(table, BulkLoad::new().file("f", path.display().to_string()))?;
    handle.put(put("row-020", "after"))
}

fn write_file(path: &Path, puts: &[Put]) -> halite::Result<()> {
    let folder = path
        .parent()
        .ok_or_else(|| halite::Error::invalid("the path of the file to load has no parent"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = Env::os(folder)?
        .fs
        .create(&name)
        .map_err(|error| halite::Error::io("creating the file to load", error))?;
    let mut writer = Writer::create(
        file,
        &name,
        WriterOptions { include_sequence_ids: false, ..WriterOptions::default() },
    )?;
    puts.iter().flat_map(|put| put.mutation().cells()).try_for_each(|cell| writer.append(cell))?;
    writer.finish(StoreFileInfo::default()).map(|_| ())
}

/// Returns a table without compactions of its own: HBase must find files as flushes left them, and
/// references as a split did. The families have different codecs, and so do compactions.
fn descriptor(name: TableName) -> TableDescriptor {
    let (flush, compact) =
        if name.to_string() == TABLES[0] { ("SNAPPY", "ZSTD") } else { ("ZSTD", "LZ4") };
    let small = FamilyDescriptor::new("g")
        .versions(2)
        .set(family_attribute::COMPRESSION, "GZ")
        .set(family_attribute::BLOOMFILTER, "ROWCOL");
    TableDescriptor::new(name)
        .family(
            FamilyDescriptor::new("f")
                .versions(3)
                .set(family_attribute::COMPRESSION, flush)
                .set(family_attribute::COMPRESSION_COMPACT, compact),
        )
        .family(small)
        .set(table_attribute::COMPACTION_ENABLED, "false")
}

/// Splits the first region, which leaves references to its files in the two new ones.
fn split(store: &Store) -> halite::Result<()> {
    let first: RegionInfo = store.table(TABLES[0])?.regions()?.remove(0);
    store.engine().split_region(&first.encoded_name, Some(Bytes::from_static(b"row-050")))
}

fn write(store: &Store, name: &str, round: u64) -> halite::Result<()> {
    let table = store.table(name)?;
    for number in (0..ROWS).filter(|number| !(number + round).is_multiple_of(3)) {
        let row = format!("row-{number:03}");
        let timestamp = START_MS + i64::try_from(round * ROWS + number).unwrap_or_default();
        let value = format!("{round}\u{0}\u{ff}{number}");
        match (number + round) % 7 {
            0 => table.delete(Delete::new(row).column_up_to("f", "a", timestamp))?,
            1 => table.delete(Delete::new(row).family_up_to("g", timestamp))?,
            2 => table.delete(Delete::new(row).version("f", "b", timestamp - 400))?,
            3 => drop(table.increment(Increment::new(row).add("f", "count", 5))?),
            4 => drop(table.append(Append::new(row).add("g", "log", "x"))?),
            _ => table.put(
                Put::new(row)
                    .add_at("f", "a", timestamp, &value)
                    .add_at("f", "b", timestamp, "")
                    .add_at("g", "c", timestamp, &value),
            )?,
        }
    }
    Ok(())
}

/// Returns the output of `ReadDirectory.java` as computed by Halite.
fn describe(root: &Path) -> halite::Result<String> {
    let store = open(root)?;
    let mut text = String::from("version 8\n");
    for name in TABLES {
        let table = store.table(name)?;
        add(&mut text, format_args!("table {name}"));
        for family in table.descriptor()?.families() {
            let (versions, compression, bloom) =
                (family.max_versions(), family.compression(), bloom_name(family.bloom_filter()));
            add(
                &mut text,
                format_args!(
                    "family {} versions {versions} compression {compression} bloom {bloom}",
                    binary(family.name())
                ),
            );
        }
        for region in table.regions()? {
            add(
                &mut text,
                format_args!("region {} {}", binary(&region.start), region.encoded_name),
            );
            let all = Scan::range(region.start.clone(), region.end.clone());
            for (word, scan) in [("cell", all.clone()), ("raw", all.raw(true).all_versions())] {
                for row in table.scan(scan) {
                    row?.iter()
                        .for_each(|cell| add(&mut text, format_args!("{word} {}", line(cell))));
                }
            }
        }
    }
    store.close()?;
    Ok(text)
}

fn bloom_name(bloom: BloomType) -> &'static str {
    match bloom {
        BloomType::None => "NONE",
        BloomType::Row => "ROW",
        BloomType::RowCol => "ROWCOL",
        BloomType::RowPrefix(_) => "ROWPREFIX_FIXED_LENGTH",
    }
}

fn line(cell: CellRef<'_>) -> String {
    let kind = cell.cell_type().map_or("?", |kind| kind.name());
    let (row, family, qualifier) =
        (binary(cell.row()), binary(cell.family()), binary(cell.qualifier()));
    format!("{row} {family}:{qualifier} {} {kind} = {}", cell.timestamp(), binary(cell.value()))
}

fn add(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// Compares what Halite reads with what HBase does, line by line.
///
/// # Errors
/// Returns an error with the first different line.
pub(crate) fn compare(expected: &str, found: &str) -> Result<()> {
    let mut hbase = found.lines();
    for (number, halite) in expected.lines().enumerate() {
        let line = hbase.next().unwrap_or("nothing more");
        if line != halite {
            return Err(format!(
                "line {} of the directory contents:\n  Halite reads {halite}\n  HBase reads  \
                 {line}",
                number + 1
            ));
        }
    }
    hbase
        .next()
        .map_or(Ok(()), |more| Err(format!("HBase reads more than Halite, starting with: {more}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_lines_and_line_counts_are_reported() {
        assert_eq!(compare("a\nb\n", "a\nb\n"), Ok(()));
        assert!(compare("a\nb\n", "a\nc\n").is_err_and(|text| text.contains("line 2")));
        assert!(compare("a\nb\n", "a\n").is_err_and(|text| text.contains("nothing more")));
        assert!(compare("a\n", "a\nb\n").is_err_and(|text| text.ends_with(": b")));
    }
}
