//! TPC-H's tables: in a store, in SQLite, and in memory for DataFusion.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use halite::sql::datafusion::arrow::array::{Array, ArrayRef, AsArray as _, RecordBatch};
use halite::sql::datafusion::arrow::compute::cast;
use halite::sql::datafusion::arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use halite::sql::datafusion::arrow::error::ArrowError;
use halite::sql::datafusion::prelude::{SessionConfig, SessionContext};
use halite::{SqlContext, Store, TableName};
use rusqlite::types::Value;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use crate::error::Result;
use crate::scanned::{open, split_at};
use crate::scans::in_memory;

/// Regions of large tables.
const REGIONS: u32 = 4;

/// A table: its name, the columns of its key, other indexes of SQLite, and the greatest first
/// number of its keys at scale 1.
pub(super) struct Declared {
    pub(super) name: &'static str,
    key: &'static [&'static str],
    /// Columns of joins, without which some queries take SQLite hours.
    indexes: &'static [&'static str],
    last: f64,
}

const TABLES: [Declared; 8] = [
    Declared { name: "region", key: &["r_regionkey"], indexes: &[], last: 0.0 },
    Declared { name: "nation", key: &["n_nationkey"], indexes: &["n_regionkey"], last: 0.0 },
    Declared { name: "part", key: &["p_partkey"], indexes: &[], last: 200_000.0 },
    Declared { name: "supplier", key: &["s_suppkey"], indexes: &["s_nationkey"], last: 10_000.0 },
    Declared {
        name: "partsupp",
        key: &["ps_partkey", "ps_suppkey"],
        indexes: &["ps_suppkey"],
        last: 200_000.0,
    },
    Declared { name: "customer", key: &["c_custkey"], indexes: &["c_nationkey"], last: 150_000.0 },
    Declared {
        name: "orders",
        key: &["o_orderkey"],
        indexes: &["o_custkey", "o_orderdate"],
        last: 6_000_000.0,
    },
    Declared {
        name: "lineitem",
        key: &["l_orderkey", "l_linenumber"],
        indexes: &["l_partkey, l_suppkey", "l_suppkey", "l_shipdate"],
        last: 6_000_000.0,
    },
];

/// The contestants with their rows.
pub(super) struct Data {
    pub(super) sql: SqlContext,
    pub(super) sqlite: rusqlite::Connection,
    pub(super) memory: SessionContext,
    _store: Store,
}

impl Data {
    pub(super) async fn new(folder: &Path, scale: f64) -> Result<Self> {
        let store = open(&folder.join("halite"), None)?;
        let sql = SqlContext::new(store.cluster().clone());
        let sqlite = rusqlite::Connection::open(folder.join("sqlite"))?;
        sqlite.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;")?;
        let memory = SessionContext::new_with_config(SessionConfig::new());
        for table in &TABLES {
            let clock = std::time::Instant::now();
            let batches = batches_of(table.name, scale)?;
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            load(&sql, table, &batches, scale).await?;
            store.admin().flush(&TableName::new("default", table.name)?).await?;
            let seconds = clock.elapsed().as_secs_f64();
            load_sqlite(&sqlite, table, &batches)?;
            memory.register_table(table.name, Arc::new(in_memory(batches)?))?;
            if rows > 100_000 {
                println!("  {rows} rows of {} written in {seconds:.1} s", table.name);
            }
            // The sides of joins are chosen by it.
            sql.run(&format!("ANALYZE {}", table.name)).await?;
        }
        sqlite.execute_batch("ANALYZE")?;
        Ok(Self { sql, sqlite, memory, _store: store })
    }
}

fn batches_of(table: &str, scale: f64) -> Result<Vec<RecordBatch>> {
    const ROWS: usize = 8192;
    let batches: std::result::Result<Vec<RecordBatch>, ArrowError> = match table {
        "region" => RegionArrow::new(RegionGenerator::new(scale, 1, 1)).collect(),
        "nation" => NationArrow::new(NationGenerator::new(scale, 1, 1)).collect(),
        "part" => PartArrow::new(PartGenerator::new(scale, 1, 1)).with_batch_size(ROWS).collect(),
        "supplier" => {
            SupplierArrow::new(SupplierGenerator::new(scale, 1, 1)).with_batch_size(ROWS).collect()
        }
        "partsupp" => {
            PartSuppArrow::new(PartSuppGenerator::new(scale, 1, 1)).with_batch_size(ROWS).collect()
        }
        "customer" => {
            CustomerArrow::new(CustomerGenerator::new(scale, 1, 1)).with_batch_size(ROWS).collect()
        }
        "orders" => {
            OrderArrow::new(OrderGenerator::new(scale, 1, 1)).with_batch_size(ROWS).collect()
        }
        _ => {
            LineItemArrow::new(LineItemGenerator::new(scale, 1, 1)).with_batch_size(ROWS).collect()
        }
    };
    Ok(batches?)
}

/// Creates a table of the store, and writes its rows.
async fn load(
    sql: &SqlContext,
    table: &Declared,
    batches: &[RecordBatch],
    scale: f64,
) -> Result<()> {
    let schema = batches.first().ok_or("a batch")?.schema();
    let ty = |name: &str| declared_type(schema.field_with_name(name).map(|of| of.data_type()));
    let mut create = format!("CREATE TABLE {} (", table.name);
    for field in schema.fields().iter().filter(|field| !table.key.contains(&&**field.name())) {
        write!(create, "{} {} NOT NULL, ", field.name(), ty(field.name())?)?;
    }
    create.push_str("ROW KEY (");
    for (at, name) in table.key.iter().enumerate() {
        write!(create, "{}{name} {}", if at == 0 { "" } else { ", " }, ty(name)?)?;
    }
    create.push_str("))");
    let last = (table.last * scale) as u32;
    if last > 0 {
        write!(create, " {}", split_at(last, REGIONS))?;
    }
    sql.run(&create).await?;
    sql.session().register_table("loaded", Arc::new(in_memory(batches.to_vec())?))?;
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let names = names.join(", ");
    let name = table.name;
    sql.run(&format!("UPSERT INTO {name} ({names}) SELECT {names} FROM loaded")).await?;
    sql.session().deregister_table("loaded")?;
    Ok(())
}

fn declared_type<E: std::error::Error + 'static>(
    ty: std::result::Result<&DataType, E>,
) -> Result<String> {
    Ok(match ty? {
        DataType::Int32 => "I32".to_owned(),
        DataType::Int64 => "I64".to_owned(),
        DataType::Decimal128(digits, scale) => format!("DECIMAL({digits}, {scale})"),
        DataType::Date32 => "DATE".to_owned(),
        DataType::Utf8 | DataType::Utf8View => "STRING".to_owned(),
        other => return Err(format!("no type for {other}").into()),
    })
}

/// Writes the rows into SQLite: decimals as REAL, dates as text.
fn load_sqlite(
    sqlite: &rusqlite::Connection,
    table: &Declared,
    batches: &[RecordBatch],
) -> Result<()> {
    let schema = batches.first().ok_or("a batch")?.schema();
    let mut create = format!("CREATE TABLE {} (", table.name);
    for field in schema.fields() {
        let ty = match field.data_type() {
            DataType::Int32 | DataType::Int64 => "INTEGER",
            DataType::Decimal128(..) => "REAL",
            _ => "TEXT",
        };
        write!(create, "{} {ty} NOT NULL, ", field.name())?;
    }
    write!(create, "PRIMARY KEY ({})) WITHOUT ROWID", table.key.join(", "))?;
    sqlite.execute_batch(&create)?;
    sqlite.execute_batch("BEGIN")?;
    let places = vec!["?"; schema.fields().len()].join(", ");
    let mut insert = sqlite.prepare(&format!("INSERT INTO {} VALUES ({places})", table.name))?;
    for batch in batches {
        let columns: Vec<SqliteColumn> =
            batch.columns().iter().map(SqliteColumn::of).collect::<Result<_>>()?;
        for row in 0..batch.num_rows() {
            let values = columns.iter().map(|column| column.value(row));
            insert.execute(rusqlite::params_from_iter(values))?;
        }
    }
    drop(insert);
    sqlite.execute_batch("COMMIT")?;
    for (at, columns) in table.indexes.iter().enumerate() {
        let name = table.name;
        sqlite.execute_batch(&format!("CREATE INDEX {name}_{at} ON {name} ({columns})"))?;
    }
    Ok(())
}

/// Column whose values SQLite has.
enum SqliteColumn {
    Numbers(ArrayRef),
    Reals(ArrayRef),
    Texts(ArrayRef),
}

impl SqliteColumn {
    fn of(array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Int32 | DataType::Int64 => Self::Numbers(Arc::clone(array)),
            DataType::Decimal128(..) => Self::Reals(cast(array, &DataType::Float64)?),
            _ => Self::Texts(cast(array, &DataType::Utf8)?),
        })
    }

    fn value(&self, row: usize) -> Value {
        match self {
            Self::Numbers(array) => match array.as_primitive_opt::<Int64Type>() {
                Some(array) => Value::Integer(array.value(row)),
                None => Value::Integer(array.as_primitive::<Int32Type>().value(row).into()),
            },
            Self::Reals(array) => Value::Real(array.as_primitive::<Float64Type>().value(row)),
            Self::Texts(array) => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        }
    }
}
