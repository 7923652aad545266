//! Statements that change or remove what exists, on any cluster.

use halite_types::key::to_string_binary;
use halite_types::{
    Admin, Bytes, Cluster, CompactionKind, Delete, Error, ErrorKind, Filter, RegionInfo, Result,
    RowOp, Scan, Table, TableName,
};

use crate::column_guess::{Guess, guess_columns};
use crate::language::{Alteration, Column, NewColumn, SchemaStatement, TableDeclaration, altered};
use crate::region_sample::{rows_of_regions, spread_regions};
use crate::strict::ROW_MARKER;

/// Rows that are compared with columns for which they have cells, and regions they are of.
const SAMPLED_ROWS: usize = 1_000;
const SAMPLED_REGIONS: usize = 16;

/// Executes a statement, and returns its command tag. `notes` receives what the user should know,
/// each a sentence without a period.
///
/// # Errors
/// As [`altered`] and the calls of [`Admin`]. A column that is purged is still declared if that is
/// interrupted, and may be purged again.
pub async fn change_schema(
    cluster: &dyn Cluster,
    statement: &SchemaStatement,
    notes: &mut Vec<String>,
) -> Result<&'static str> {
    let admin = &*cluster.admin();
    match statement {
        SchemaStatement::Alter { table, alterations } => {
            alter(cluster, admin, table, alterations, notes).await?;
            Ok("ALTER TABLE")
        }
        SchemaStatement::AdoptFromSample { table, rows, apply } => {
            adopt_from_sample(cluster, admin, table, *rows as usize, *apply, notes).await?;
            Ok("ALTER TABLE")
        }
        SchemaStatement::DropTable { table, if_exists } => {
            if is_there(disable(admin, table).await, *if_exists)? {
                admin.drop_table(table).await?;
            } else {
                notes.push(format!("table {table} does not exist"));
            }
            Ok("DROP TABLE")
        }
        SchemaStatement::Truncate { table, keep_splits } => {
            disable(admin, table).await?;
            admin.truncate_table(table, *keep_splits).await?;
            Ok("TRUNCATE TABLE")
        }
        SchemaStatement::CreateSchema { name, if_not_exists } => {
            let created = admin.create_namespace(name, halite_types::Attributes::new()).await;
            match created {
                Err(error) if *if_not_exists && error.kind() == ErrorKind::NamespaceExists => {
                    notes.push(format!("schema {name} exists already"));
                }
                created => created?,
            }
            Ok("CREATE SCHEMA")
        }
        SchemaStatement::DropSchema { name, if_exists } => {
            if !is_there(admin.drop_namespace(name).await, *if_exists)? {
                notes.push(format!("schema {name} does not exist"));
            }
            Ok("DROP SCHEMA")
        }
        SchemaStatement::Flush(table) => {
            admin.flush(table).await?;
            Ok("FLUSH TABLE")
        }
        SchemaStatement::Compact { table, is_major } => {
            let kind = if *is_major { CompactionKind::Major } else { CompactionKind::Minor };
            admin.compact(table, None, kind).await?;
            Ok("COMPACT TABLE")
        }
        SchemaStatement::Split { table, at } => {
            split(&*cluster.table(table), admin, at, notes).await?;
            Ok("SPLIT TABLE")
        }
    }
}

/// Returns `false` if what a statement would remove is not there, and need not be.
fn is_there(result: Result<()>, if_exists: bool) -> Result<bool> {
    let is_missing = |kind| matches!(kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchNamespace);
    match result {
        Err(error) if if_exists && is_missing(error.kind()) => Ok(false),
        result => result.map(|()| true),
    }
}

/// Disables a table that is not yet.
async fn disable(admin: &dyn Admin, table: &TableName) -> Result<()> {
    if admin.is_enabled(table).await? { admin.disable_table(table).await } else { Ok(()) }
}

async fn alter(
    cluster: &dyn Cluster,
    admin: &dyn Admin,
    name: &TableName,
    alterations: &[Alteration],
    notes: &mut Vec<String>,
) -> Result<()> {
    let table = cluster.table(name);
    let current = table.descriptor().await?;
    let changed = altered(&current, alterations)?;
    if !changed.adopted.is_empty() {
        let sample = sample(&*table, SAMPLED_ROWS).await?;
        for column in &changed.adopted {
            notes.push(sample.fit(name, column)?);
        }
    }
    for column in &changed.purged {
        let rows = purge(&*table, column).await?;
        notes.push(format!("the cells of {} were deleted in {rows} row(s)", column.name));
    }
    notes.extend(changed.notes);
    admin.alter_table(changed.descriptor).await
}

/// Says what the cells of some rows look like, and declares it as columns with `apply`.
async fn adopt_from_sample(
    cluster: &dyn Cluster,
    admin: &dyn Admin,
    name: &TableName,
    rows: usize,
    apply: bool,
    notes: &mut Vec<String>,
) -> Result<()> {
    let table = cluster.table(name);
    let current = table.descriptor().await?;
    let declaration = TableDeclaration::from_descriptor(&current).and_then(std::result::Result::ok);
    let declared = declaration.as_ref().map_or(&[][..], |found| &found.columns);
    let fields = declaration.iter().flat_map(|found| found.key.fields());
    let taken: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
    // A table whose key is declared with its columns calls it so.
    let taken = if taken.is_empty() { vec!["row"] } else { taken };
    let sample = sample(&*table, rows).await?;
    let marker = current.attributes.get(ROW_MARKER).map(String::as_str);
    let (guesses, more) = guess_columns(&sample.rows, declared, &taken, marker);
    notes.extend(guesses.iter().map(|guess| guess.evidence(sample.rows.len())));
    notes.extend(more);
    let columns: Vec<String> = guesses.iter().map(|guess| guess.column.to_string()).collect();
    match (columns.is_empty(), apply) {
        (true, _) => notes.push(format!(
            "{} sampled row(s) have no cells but those of declared columns",
            sample.rows.len()
        )),
        (false, false) => notes.push(format!(
            "to declare them: ALTER TABLE {name} ADOPT COLUMNS ({})",
            columns.join(", ")
        )),
        (false, true) => {
            let new = |guess: Guess| NewColumn { column: guess.column, has_family: true };
            let columns = guesses.into_iter().map(new).collect();
            let changed = altered(&current, &[Alteration::AdoptColumns(columns)])?;
            notes.extend(changed.notes);
            admin.alter_table(changed.descriptor).await?;
        }
    }
    Ok(())
}

/// Deletes the cells of a column, and returns the number of rows that had some.
async fn purge(table: &dyn Table, column: &Column) -> Result<u64> {
    let (family, qualifier) = (Bytes::from(column.family.clone()), column.qualifier.clone());
    let scan = if column.has_one_qualifier() {
        Scan::all().column(family.clone(), qualifier)
    } else {
        Scan::all().family(family.clone())
    };
    let mut rows = table.scan(scan.filter(Filter::KeyOnly(false)));
    let mut purged = 0;
    loop {
        let part = rows.next_rows().await?;
        if part.is_empty() {
            return Ok(purged);
        }
        let mut deletes: Vec<RowOp> = Vec::new();
        for row in &part {
            let mut delete = Delete::new(Bytes::copy_from_slice(row.key()));
            let cells = row.iter().filter(|cell| column.owns(cell.qualifier()));
            let mut is_empty = true;
            for cell in cells {
                delete = delete.column(&family, cell.qualifier());
                is_empty = false;
            }
            if !is_empty {
                deletes.push(delete.into());
            }
        }
        purged += deletes.len() as u64;
        for deleted in table.batch(deletes).await? {
            deleted?;
        }
    }
}

/// Cells of some rows.
struct Sample {
    rows: Vec<halite_types::Row>,
}

/// Returns the first rows of regions spread over the table.
async fn sample(table: &dyn Table, most: usize) -> Result<Sample> {
    let regions: Vec<RegionInfo> = table.regions().await?;
    let few = spread_regions(&regions, SAMPLED_REGIONS);
    let each = most.div_ceil(few.len().max(1));
    Ok(Sample { rows: rows_of_regions(table, &few, |scan| scan.limit(each)).await? })
}

impl Sample {
    /// Returns how many of the rows have cells of a column that fit it.
    fn fit(&self, table: &TableName, column: &Column) -> Result<String> {
        // Points of a SERIES are read by another codec.
        let codec = column.codec().ok();
        let (mut with, mut misfits, mut first) = (0, 0, None);
        for row in &self.rows {
            let mut has = false;
            for cell in row.iter().filter(|cell| column.owns_cell(cell)) {
                has = true;
                if codec.as_ref().is_some_and(|codec| codec.decode(cell.value()).is_err()) {
                    misfits += 1;
                    first.get_or_insert_with(|| {
                        format!(
                            "the first one is {} of row {}",
                            to_string_binary(cell.value()),
                            to_string_binary(row.key())
                        )
                    });
                }
            }
            with += usize::from(has);
        }
        let (name, all) = (&column.name, self.rows.len());
        if column.not_null && with < all {
            return Err(Error::invalid(format!(
                "table {table}: {} of {all} sampled rows have no cell of {name}, and would not \
                 count as rows; leave NOT NULL out",
                all - with
            )));
        }
        let first = first.map_or_else(String::new, |first: String| format!(", {first}"));
        Ok(match misfits {
            0 => format!("{name}: {with} of {all} sampled row(s) have it, and fit its type"),
            misfits => format!(
                "{name}: {with} of {all} sampled row(s) have it, and {misfits} of the cells are \
                 not of its type{first}"
            ),
        })
    }
}

/// Makes rows the first ones of regions.
async fn split(
    table: &dyn Table,
    admin: &dyn Admin,
    at: &[Vec<u8>],
    notes: &mut Vec<String>,
) -> Result<()> {
    for row in at {
        let regions = table.regions().await?;
        let Some(region) = regions.iter().find(|region| region.contains(row)) else {
            return Err(Error::invalid(format!(
                "table {}: no region has row {}; try again when its regions are open",
                table.name(),
                to_string_binary(row)
            )));
        };
        if region.start[..] == row[..] {
            notes.push(format!("a region begins at {} already", to_string_binary(row)));
        } else {
            admin.split_region(&region.encoded_name, Some(row.clone().into())).await?;
        }
    }
    Ok(())
}
