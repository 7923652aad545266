//! What a load takes in a declared table, from the bytes of a sample that is written with the
//! encodings of the declaration: its key, its columns, and the encoding, codec and Bloom filter of
//! each family.

use std::collections::HashMap;

use bytes::Bytes;
use halite_engine::Options;
use halite_engine::hfile::{WriterOptions, cost};
use halite_rowkey::language::{ColumnType, TableDeclaration};
use halite_rowkey::split::Splits;
use halite_types::{Error, FamilyDescriptor, Result};

use super::capacity::{Capacity, Volume, times};
use super::certainty::{Certainty, MAX_SAMPLE_BYTES, PARTS};
use super::regions::CreatedRegions;
use super::sample::{RowSource, Sample};
use super::typical;
use crate::lint::{LintInput, Severity, lint_declaration};
use crate::simulate::FieldSpec;

/// Cells of the large sample, which limits its rows and time.
const MAX_SAMPLE_CELLS: u64 = 400_000;
/// Rows of the large sample at most.
const MAX_SAMPLE_ROWS: u64 = 40_000;

/// Declared table, its values and its load.
#[derive(Debug)]
pub struct DeclaredLoad<'a> {
    /// Declaration.
    pub table: &'a TableDeclaration,
    /// Splits with which the table is created; one region without.
    pub splits: Option<&'a Splits>,
    /// Number of rows that are there at one time; of a `SERIES`, time buckets of its series.
    pub rows: u64,
    /// Generators of fields and columns by name. Others have random values, which compress least.
    pub fields: &'a HashMap<String, FieldSpec>,
    /// Points of a row of a `SERIES`; required if there is one.
    pub points: Option<u32>,
    /// Cells of a `MAP` in a row.
    pub map_cells: u32,
    /// Cells written per second; a point of a `SERIES` is one.
    pub writes_per_second: u64,
}

/// What the cells of a family take.
#[derive(Clone, Debug)]
pub struct FamilyBytes {
    /// Name.
    pub name: String,
    /// Encoding and codec, as in `FAST_DIFF, ZSTD`.
    pub written_with: String,
    /// Cells of a row, as they are stored.
    pub cells_per_row: f64,
    /// Bytes on disk per cell, with index and Bloom filter.
    pub bytes_per_cell: f64,
}

/// What a declared table takes, and how certain that is.
#[derive(Clone, Debug)]
pub struct DeclaredCapacity {
    /// The sizes, and how certain they are.
    pub capacity: Capacity,
    /// Mean length of a key.
    pub key_bytes: f64,
    /// Families with cells, by name.
    pub families: Vec<FamilyBytes>,
}

/// Measured sample.
struct Measured {
    families: Vec<FamilyBytes>,
    bytes_per_row: f64,
    cells_per_row: f64,
    index_bytes_per_row: f64,
    /// Number of different rows.
    rows: u64,
}

/// Returns what a declared table takes.
///
/// # Errors
/// `InvalidRequest` for a load without rows, a table without columns, a `SERIES` without points, a
/// generator of another name or for values that its column cannot have, and too many cells.
pub fn declared_capacity(load: &DeclaredLoad<'_>) -> Result<DeclaredCapacity> {
    check(load)?;
    let points = load.points.unwrap_or(1);
    let source =
        RowSource::new(load.table, load.fields, points, load.map_cells, load.writes_per_second)?;
    let whole = source.rows(sample_rows(load), MAX_SAMPLE_BYTES, 1)?;
    let measured = measure(load.table, &whole)?;
    let certainty = certainty(load, &source, &whole, measured.bytes_per_row)?;
    let (created, doubts) = CreatedRegions::of(load.table, load.splits);
    let mut capacity =
        volume(load, created, certainty, &whole, &measured)?.capacity(&Options::default())?;
    capacity.against.extend(keys_that_repeat(&whole, measured.rows));
    capacity.against.extend(doubts);
    capacity.against.extend(against(load, &whole));
    Ok(DeclaredCapacity {
        capacity,
        key_bytes: ratio(whole.key_bytes, whole.generated),
        families: measured.families,
    })
}

/// Returns how certain a sample is, beside those of a quarter of its rows.
fn certainty(
    load: &DeclaredLoad<'_>,
    source: &RowSource<'_>,
    whole: &Sample,
    bytes_per_row: f64,
) -> Result<Certainty> {
    let (rows, bytes) = (whole.generated.div_ceil(PARTS), MAX_SAMPLE_BYTES / PARTS);
    let mut part_rows = rows;
    let mut parts = Vec::new();
    for seed in 0..PARTS {
        let part = source.rows(rows, bytes, seed + 2)?;
        part_rows = part_rows.min(part.generated);
        parts.push(measure(load.table, &part)?.bytes_per_row);
    }
    Ok(Certainty::new(whole.generated, whole.logged_bytes, bytes_per_row, part_rows, &parts))
}

fn check(load: &DeclaredLoad<'_>) -> Result<()> {
    let table = load.table;
    let name = table.descriptor.name();
    if load.rows == 0 {
        return Err(Error::invalid("the load has no rows; specify 1 at least"));
    }
    if table.columns.is_empty() {
        return Err(Error::invalid(format!(
            "table {name} declares no columns, and a row consists of its cells; declare them, or \
             specify --key-bytes, --columns and --value-bytes instead"
        )));
    }
    let is_series =
        |column: &halite_rowkey::language::Column| matches!(column.ty, ColumnType::Series { .. });
    if let Some(column) = table.columns.iter().find(|column| is_series(column))
        && load.points.is_none()
    {
        return Err(Error::invalid(format!(
            "column {} of table {name} is a SERIES, whose rows contain many points; specify how \
             many with --points",
            column.name
        )));
    }
    Ok(())
}

/// Returns the number of rows of the large sample, a multiple of the number of small ones.
fn sample_rows(load: &DeclaredLoad<'_>) -> u64 {
    let points = u64::from(load.points.unwrap_or(1));
    let cells = |column: &halite_rowkey::language::Column| match column.ty {
        ColumnType::Series { .. } => points,
        ColumnType::Map { .. } => u64::from(load.map_cells),
        _ => 1,
    };
    let each: u64 = load.table.columns.iter().map(cells).sum();
    let rows = (MAX_SAMPLE_CELLS / each.max(1)).clamp(PARTS * 10, MAX_SAMPLE_ROWS);
    rows.min(load.rows).div_ceil(PARTS) * PARTS
}

/// Writes the cells of each family as the declaration says.
fn measure(table: &TableDeclaration, sample: &Sample) -> Result<Measured> {
    let mut measured = Measured {
        families: Vec::new(),
        bytes_per_row: 0.0,
        cells_per_row: 0.0,
        index_bytes_per_row: 0.0,
        rows: 0,
    };
    for name in sample.families() {
        let family = family(table, name)?;
        let (rows, cells) = sample.cells(name);
        let options = WriterOptions {
            include_sequence_ids: true,
            ..WriterOptions::for_bulk_load(&table.descriptor, family)
        };
        let written_with = format!("{}, {}", options.encoding.name(), family.compression());
        let sizes = cost::measure(cells.iter(), options)?;
        let cells_per_row = ratio(sizes.cells, rows);
        measured.bytes_per_row += cells_per_row * sizes.bytes_per_cell();
        measured.cells_per_row += cells_per_row;
        measured.index_bytes_per_row += cells_per_row * sizes.index_bytes_per_cell();
        measured.rows = measured.rows.max(rows);
        measured.families.push(FamilyBytes {
            name: String::from_utf8_lossy(name).into_owned(),
            written_with,
            cells_per_row,
            bytes_per_cell: sizes.bytes_per_cell(),
        });
    }
    Ok(measured)
}

fn family<'t>(table: &'t TableDeclaration, name: &Bytes) -> Result<&'t FamilyDescriptor> {
    let found = table.descriptor.families().find(|family| family.name() == name);
    found.ok_or_else(|| Error::invalid("a column has a family that the table does not declare"))
}

fn volume(
    load: &DeclaredLoad<'_>,
    created: CreatedRegions,
    certainty: Certainty,
    sample: &Sample,
    measured: &Measured,
) -> Result<Volume> {
    let options = Options::default();
    let table = &load.table.descriptor;
    let written_per_row = ratio(sample.written, sample.generated);
    Ok(Volume {
        cells: times("cells", load.rows, measured.cells_per_row)?,
        disk_bytes: times("bytes on disk", load.rows, measured.bytes_per_row)?,
        index_bytes: times("bytes of indexes", load.rows, measured.index_bytes_per_row)?,
        logged_bytes: ratio(sample.logged_bytes, sample.written),
        stored_bytes: measured.bytes_per_row / written_per_row.max(1.0),
        writes_per_second: load.writes_per_second,
        created,
        sample: certainty,
        rows: load.rows,
        region_bytes: table.max_file_size_bytes().unwrap_or(options.max_region_file_bytes),
        flush_bytes: table.memstore_flush_bytes().unwrap_or(options.memstore_flush_bytes),
    })
}

/// Returns a doubt about generators whose keys are often the same.
fn keys_that_repeat(sample: &Sample, distinct: u64) -> Option<String> {
    let rows = sample.generated;
    (distinct * 10 < rows * 9).then(|| {
        format!(
            "the generators made {distinct} different keys for {rows} rows; with too few values \
             rows overwrite each other"
        )
    })
}

/// Returns what the declaration and the generators say against the sizes.
fn against(load: &DeclaredLoad<'_>, sample: &Sample) -> Vec<String> {
    let table = load.table;
    let mut against = Vec::new();
    let mut assume = |name: &str, what: String| {
        if !load.fields.contains_key(name) {
            against.push(format!("{name} is assumed to be {what}; specify --field {name}=.."));
        }
    };
    for field in table.key.fields() {
        assume(&field.name, typical::describe(field.ty));
    }
    for column in &table.columns {
        assume(
            &column.name,
            match column.ty {
                ColumnType::Value(ty) | ColumnType::Map { value: ty, .. } => typical::describe(ty),
                ColumnType::Decimal { .. } => typical::describe(halite_rowkey::FieldType::Decimal),
                ColumnType::Counter => typical::describe(halite_rowkey::FieldType::I64),
                ColumnType::Series { .. } => typical::describe(halite_rowkey::FieldType::F64),
            },
        );
    }
    for family in table.descriptor.families() {
        let (name, versions) = (String::from_utf8_lossy(family.name()), family.max_versions());
        if versions > 1 {
            against.push(format!(
                "family {name} keeps {versions} versions, and one of each cell is counted"
            ));
        }
    }
    against.extend(rows_that_live(load, ratio(sample.written, sample.generated)));
    for finding in lint_declaration(table, &LintInput::default()) {
        if finding.severity >= Severity::Warning {
            against.push(format!("{}: {}", finding.rule.id, finding.message));
        }
    }
    against
}

#[expect(clippy::cast_precision_loss, reason = "a sample is far below 2^53 bytes")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns a doubt about the number of rows, if the time to live keeps far more or fewer of those
/// that are written.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn rows_that_live(load: &DeclaredLoad<'_>, cells_per_row: f64) -> Option<String> {
    let families = load.table.descriptor.families();
    let live_ms = families.map(|family| family.ttl_ms().unwrap_or(i64::MAX)).max()?;
    if live_ms == i64::MAX || load.writes_per_second == 0 || cells_per_row == 0.0 {
        return None;
    }
    let live_seconds = live_ms as f64 / 1_000.0;
    let rows = load.writes_per_second as f64 * live_seconds / cells_per_row;
    let times = rows / load.rows as f64;
    (!(0.5..=2.0).contains(&times)).then(|| {
        format!(
            "at {} cells per second a time to live of {live_seconds:.0} s keeps {rows:.1e} rows, \
             if each cell is new, and not {:.1e}",
            load.writes_per_second, load.rows as f64
        )
    })
}

#[cfg(test)]
mod tests {
    use halite_rowkey::language::Statement;

    use super::*;

    fn table(text: &str) -> TableDeclaration {
        match text.parse() {
            Ok(Statement::CreateTable(table)) => table,
            other => panic!("{other:?}"),
        }
    }

    fn fields(specs: &[(&str, &str)]) -> HashMap<String, FieldSpec> {
        let parsed =
            |(name, spec): &(&str, &str)| ((*name).to_owned(), FieldSpec::parse(spec).unwrap());
        specs.iter().map(parsed).collect()
    }

    fn capacity(text: &str, specs: &[(&str, &str)], points: Option<u32>) -> DeclaredCapacity {
        let (table, fields) = (table(text), fields(specs));
        let splits = table.split.as_ref().and_then(|clause| {
            Splits::declared(clause, &table.key).unwrap().map(|found| found.for_schema(&table.key))
        });
        let load = DeclaredLoad {
            table: &table,
            splits: splits.as_ref(),
            rows: 1_000_000_000,
            fields: &fields,
            points,
            map_cells: 10,
            writes_per_second: 50_000,
        };
        declared_capacity(&load).unwrap()
    }

    const DEVICES: (&str, &str) = ("device", "sensor_{uniform(2000):08}");

    #[test]
    fn p13_longer_keys_that_share_their_beginnings_take_little_more() {
        let sized = |key: &str, device: &str| {
            let text = format!(
                "CREATE TABLE t (v F64, w F64, ROW KEY ({key}, ts TIMESTAMP DESC)) WITH \
                 (DATA_BLOCK_ENCODING = 'FAST_DIFF')"
            );
            capacity(&text, &[("device", device)], None)
        };
        let short = sized("device STRING", "{uniform(2000):04}");
        let long = sized(
            "device STRING",
            "a-rather-long-name-of-a-device-in-one-of-the-rooms-{uniform(2000):04}",
        );
        assert!(long.key_bytes > 4.0 * short.key_bytes, "{long:?} {short:?}");
        let disk = ratio(long.capacity.disk_bytes, short.capacity.disk_bytes);
        assert!((1.0..1.15).contains(&disk), "{disk}");
        // The log has every key as it is.
        let log = ratio(long.capacity.log_bytes_per_second, short.capacity.log_bytes_per_second);
        assert!(log > 1.7, "{log}");
    }

    #[test]
    fn encodings_of_the_declaration_are_those_of_the_sample() {
        let with = |options: &str| {
            let text = format!(
                "CREATE TABLE t (v STRING, ROW KEY (device STRING, ts TIMESTAMP DESC)) {options}"
            );
            capacity(&text, &[DEVICES, ("v", "state is one of {one(on,off)}")], None)
        };
        let plain = with("");
        let encoded = with("WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')");
        let packed = with("WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')");
        let each = |found: &DeclaredCapacity| found.families[0].bytes_per_cell;
        assert!(each(&plain) > 1.5 * each(&encoded), "{plain:?} {encoded:?}");
        assert!(each(&encoded) > 1.5 * each(&packed), "{encoded:?} {packed:?}");
        assert_eq!(packed.families[0].written_with, "FAST_DIFF, ZSTD");
        assert_eq!(plain.capacity.log_bytes_per_second, packed.capacity.log_bytes_per_second);
    }

    #[test]
    fn families_are_measured_on_their_own() {
        let text = "CREATE TABLE t (a U64 FAMILY n, b U64 FAMILY n, tags MAP(STRING, BYTES) FAMILY \
                    m, ROW KEY (id U64))";
        let found = capacity(text, &[], None);
        let cells: Vec<(&str, f64)> =
            found.families.iter().map(|family| (&family.name[..], family.cells_per_row)).collect();
        assert_eq!(cells, [("m", 10.0), ("n", 2.0)]);
        assert_eq!(found.capacity.cells, 12_000_000_000);
    }

    #[test]
    fn points_of_a_series_are_packed_on_disk_and_single_in_the_log() {
        let text = "CREATE TABLE s (p SERIES(DOUBLE) FAMILY d, ROW KEY (SALT(16 BY device), device \
                    STRING, BUCKET(ts, '1h') DESC)) WITH (COMPRESSION = 'ZSTD') SPLIT BY SALT";
        let found = capacity(text, &[DEVICES, ("p", "20.{uniform(10)}")], Some(360));
        let point = found.families[0].bytes_per_cell / 360.0;
        assert!((0.1..3.17).contains(&point), "{point}");
        let logged = ratio(found.capacity.log_bytes_per_second, 50_000);
        assert!((40.0..90.0).contains(&logged), "{logged}");
        let load = DeclaredLoad {
            table: &table(text),
            splits: None,
            rows: 1,
            fields: &HashMap::new(),
            points: None,
            map_cells: 1,
            writes_per_second: 0,
        };
        let error = declared_capacity(&load).unwrap_err().to_string();
        assert!(error.contains("--points"), "{error}");
    }

    #[test]
    fn regions_are_those_of_the_split_and_what_grows_from_them() {
        let salted = |salts: u32, clause: &str, rows: u64| {
            let text = format!(
                "CREATE TABLE t (v U64, ROW KEY (SALT({salts} BY id), id U64)) WITH \
                 (DATA_BLOCK_ENCODING = 'FAST_DIFF') {clause}"
            );
            let table = table(&text);
            let splits = table.split.as_ref().map(|clause| {
                Splits::declared(clause, &table.key).unwrap().unwrap().for_schema(&table.key)
            });
            let load = DeclaredLoad {
                table: &table,
                splits: splits.as_ref(),
                rows,
                fields: &HashMap::new(),
                points: None,
                map_cells: 1,
                writes_per_second: 1_000,
            };
            declared_capacity(&load).unwrap()
        };
        let split = |clause: &str, rows: u64| salted(16, clause, rows);
        let (small, large) = (1_000, 20_000_000_000);
        let one = split("", small).capacity;
        assert_eq!((one.regions, one.created_regions), (1, 1));
        let salts = split("SPLIT BY SALT", small).capacity;
        assert_eq!((salts.regions, salts.created_regions), (16, 16));
        assert_eq!(salts.memstore_bytes, Options::default().global_memstore_bytes);
        // The memstores of sixteen regions share the memory, so that each is flushed earlier.
        assert_eq!((one.flush_bytes, salts.flush_bytes), (128 << 20, 64 << 20));
        assert_eq!(split("SPLIT AT ('a', 'b')", small).capacity.regions, 3);
        let grown = split("SPLIT BY SALT", large).capacity;
        let each = grown.disk_bytes.div_ceil(16).div_ceil(grown.region_bytes);
        assert!(each > 1, "{grown:?}");
        assert_eq!(grown.regions, 16 * each);
        let uneven = split("SPLIT INTO 5", small);
        assert!(
            uneven.capacity.against.iter().any(|said| said.contains("P-SALTREG")),
            "{uneven:?}"
        );
        let many = salted(16_000, "SPLIT BY SALT", small);
        assert_eq!(many.capacity.regions, 16_000);
        let said = many.capacity.against.join("\n");
        assert!(said.contains("16000 regions, and a new table has 10000 at most"), "{said}");
    }

    #[test]
    fn sample_of_large_rows_is_bounded_by_bytes() {
        let text = "CREATE TABLE t (v MAP(U32, BYTES(32767)), ROW KEY (id U64))";
        let sized = |map_cells: u32| {
            let table = table(text);
            let load = DeclaredLoad {
                table: &table,
                splits: None,
                rows: 1_000_000,
                fields: &HashMap::new(),
                points: None,
                map_cells,
                writes_per_second: 0,
            };
            declared_capacity(&load)
        };
        let found = sized(320).unwrap();
        let sample = found.capacity.sample;
        assert_eq!((sample.rows, sample.part_rows), (4, 1));
        assert!(sample.bytes < MAX_SAMPLE_BYTES + (11 << 20), "{sample:?}");
        assert!((32_767.0..33_100.0).contains(&found.capacity.bytes_per_cell), "{found:?}");
        let said = found.capacity.against.join("\n");
        assert!(said.contains("the sample ends after 4 rows, at 32.0 MB"), "{said}");
        let error = sized(10_000).unwrap_err().to_string();
        assert!(error.contains("a row has more than 64.0 MB"), "{error}");
        assert!(error.contains("specify fewer --map-cells"), "{error}");
    }

    #[test]
    fn rolling_regions_are_those_of_one_time_to_live() {
        let rolling = |options: &str| {
            let text = format!(
                "CREATE TABLE t (v U64, ROW KEY (SALT(4 BY id), ts TIMESTAMP, id U64)) {options} \
                 SPLIT ROLLING '1d'"
            );
            let table = table(&text);
            let splits = Splits::at((1_u8..=12).map(|key| vec![key].into()).collect()).unwrap();
            let (created, doubts) = CreatedRegions::of(&table, Some(&splits));
            (created.count(), doubts.join("\n"))
        };
        let (kept, doubts) = rolling("WITH (TTL = 864000)");
        assert_eq!(kept, 4 * (10 + 3) + 1, "{doubts}");
        let (created, doubts) = rolling("");
        assert_eq!(created, 13);
        assert!(doubts.contains("4 regions more for each"), "{doubts}");
    }

    #[test]
    fn assumptions_and_findings_speak_against_the_sizes() {
        let text = "CREATE TABLE log (line STRING FAMILY d VERSIONS 3, ROW KEY (ts TIMESTAMP, host \
                    STRING))";
        let found = capacity(text, &[("host", "one(a,b)")], None);
        let said = found.capacity.against.join("\n");
        for expected in
            ["line is assumed to be text of 16", "family d keeps 3 versions", "K-MONO: "]
        {
            assert!(said.contains(expected), "no {expected}: {said}");
        }
        assert!(!said.contains("host is assumed"), "{said}");
        let few = capacity("CREATE TABLE t (v U8, ROW KEY (k U8))", &[], None);
        let said = few.capacity.against.join("\n");
        assert!(said.contains("256 different keys"), "{said}");
    }

    #[test]
    fn rows_that_outlive_their_time_to_live_are_doubted() {
        let doubts = |ttl: &str, rows: u64, writes_per_second: u64| {
            let text = format!("CREATE TABLE t (v U8, w U8, ROW KEY (k U64)) {ttl}");
            let table = table(&text);
            let load = DeclaredLoad {
                table: &table,
                splits: None,
                rows,
                fields: &HashMap::new(),
                points: None,
                map_cells: 1,
                writes_per_second,
            };
            declared_capacity(&load).unwrap().capacity.against.join("\n")
        };
        let day = "WITH (TTL = 86400)";
        let doubt =
            "a time to live of 86400 s keeps 4.3e7 rows, if each cell is new, and not 1.0e9";
        let said = doubts(day, 1_000_000_000, 1_000);
        assert!(said.contains(doubt), "{said}");
        for (ttl, rows, writes) in
            [(day, 43_200_000, 1_000), ("", 1_000_000_000, 1_000), (day, 1_000, 0)]
        {
            let said = doubts(ttl, rows, writes);
            assert!(!said.contains("time to live"), "{said}");
        }
        // The longest time and the greatest rate that are taken do not overflow.
        let said = doubts("WITH (TTL = 2147483646)", 1, 1_000_000_000);
        assert!(said.contains("keeps 1.1e18 rows"), "{said}");
    }

    #[test]
    fn points_that_have_no_time_of_their_own_are_refused() {
        let text = "CREATE TABLE s (p SERIES(DOUBLE) FAMILY d, ROW KEY (device STRING, BUCKET(ts, \
                    '1s') DESC))";
        let load = DeclaredLoad {
            table: &table(text),
            splits: None,
            rows: 1,
            fields: &HashMap::new(),
            points: Some(1_001),
            map_cells: 1,
            writes_per_second: 0,
        };
        let error = declared_capacity(&load).unwrap_err().to_string();
        assert!(error.contains("1001 points, and its row has 1000 times"), "{error}");
    }

    #[test]
    fn loads_that_are_none_are_refused() {
        let series = table("CREATE TABLE t (v U8, ROW KEY (k U64))");
        let bare = table("CREATE TABLE t (ROW KEY (k U64))");
        let bad = fields(&[("v", "uniform(1000)")]);
        let none = HashMap::new();
        let error = |table: &TableDeclaration, rows, fields: &HashMap<String, FieldSpec>| {
            let load = DeclaredLoad {
                table,
                splits: None,
                rows,
                fields,
                points: None,
                map_cells: 1,
                writes_per_second: 0,
            };
            declared_capacity(&load).unwrap_err().to_string()
        };
        assert!(error(&series, 0, &none).contains("no rows"));
        assert!(error(&bare, 9, &none).contains("declares no columns"));
        assert!(error(&series, 1_000, &bad).contains("--field v"));
        assert!(error(&series, u64::MAX, &none).contains("2^60"));
    }
}
