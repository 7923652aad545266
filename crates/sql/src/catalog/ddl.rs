//! Statements of the row-key language: CREATE TABLE, ALTER TABLE, and those of `change_schema`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halite_rowkey::language::{SplitClause, Statement, TableDeclaration};
use halite_rowkey::split::{DEFAULT_WIDTHS_AHEAD, Rolling, Splits};
use halite_rowkey::strict::ROW_MARKER;
use halite_rowkey::{KeySchema, change_schema, rows_of_regions, spread_regions};
use halite_types::key::to_string_binary;
use halite_types::{Bytes, Filter, RegionInfo, Scan, Table, TableDescriptor, TableName};

use super::HaliteCatalog;
use crate::error::{Result, SqlError, SqlState};
use crate::write::marker_family;

/// Keys that ADOPT ROW KEY compares with the key, and the regions they are of.
const SAMPLED_KEYS: usize = 1000;
const SAMPLED_REGIONS: usize = 16;

/// Runs a statement and returns its command tag. `notices` receives what the user should know.
pub(crate) async fn run(
    catalog: &HaliteCatalog,
    statement: Statement,
    notices: &mut Vec<String>,
) -> Result<&'static str> {
    match statement {
        Statement::CreateTable(declaration) => {
            create(catalog, &declaration, notices).await?;
            Ok("CREATE TABLE")
        }
        Statement::Adopt { table, key, forced } => {
            adopt(catalog, &table, &key, forced, notices).await?;
            Ok("ALTER TABLE")
        }
        Statement::AlterSalt { table, salts, .. } => Err(SqlError::unsupported(format!(
            "table {table}: the number of salts of a table that exists cannot be changed yet; \
             create a table with SALT({salts} ..) in its key and copy the rows"
        ))),
        Statement::Schema(statement) => {
            Ok(change_schema(&*catalog.cluster, &statement, notices).await?)
        }
        Statement::ShowCreateTable(table) => Err(SqlError::new(
            SqlState::Internal,
            format!("SHOW CREATE TABLE {table} is answered with rows"),
        )),
    }
}

async fn create(
    catalog: &HaliteCatalog,
    declaration: &TableDeclaration,
    notices: &mut Vec<String>,
) -> Result<()> {
    let name = declaration.descriptor.name();
    if declaration.if_not_exists
        && let Some(current) = catalog.descriptor(name).await?
    {
        let other = match KeySchema::from_descriptor(&current) {
            Some(Ok(key)) if key == declaration.key => String::new(),
            Some(Ok(key)) => format!(", with another key: {key}"),
            _ => ", and declares no key".to_owned(),
        };
        notices.push(format!("table {name} exists already{other}"));
        return Ok(());
    }
    let splits = match &declaration.split {
        Some(clause) => split_keys(catalog, clause, &declaration.key).await?,
        None => Vec::new(),
    };
    let mut descriptor = declaration.described();
    // Tells INSERT and UPDATE whether a row is there, where no column does.
    if !descriptor.attributes.contains_key(ROW_MARKER)
        && let Some(family) = marker_family(declaration, &descriptor)
    {
        descriptor = descriptor.set(ROW_MARKER, family);
    }
    descriptor.check()?;
    Ok(catalog.cluster.admin().create_table(descriptor, splits).await?)
}

async fn split_keys(
    catalog: &HaliteCatalog,
    clause: &SplitClause,
    key: &KeySchema,
) -> Result<Vec<Bytes>> {
    let invalid =
        |what: String| SqlError::new(SqlState::InvalidParameter, format!("{clause}: {what}"));
    let declared = Splits::declared(clause, key).map_err(|error| invalid(error.to_string()))?;
    let splits = match (declared, clause) {
        (Some(splits), _) => splits,
        (None, SplitClause::Like(table)) => {
            Splits::like(&catalog.cluster.table(table).regions().await?)
        }
        (None, SplitClause::Rolling(width_ms)) => {
            let rolling =
                Rolling::for_schema(&Arc::new(key.clone()), *width_ms).map_err(invalid)?;
            let boundaries = rolling.boundaries(now_ms(), DEFAULT_WIDTHS_AHEAD)?;
            Splits::at(boundaries).map_err(|error| invalid(error.to_string()))?
        }
        (None, _) => {
            return Err(SqlError::unsupported(format!(
                "{clause}: SQL reads no files of splits; use halite shell, or SPLIT AT"
            )));
        }
    };
    Ok(splits.for_schema(key).keys)
}

/// Milliseconds since 1970: rolling splits begin at the present.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

async fn adopt(
    catalog: &HaliteCatalog,
    name: &TableName,
    key: &KeySchema,
    forced: bool,
    notices: &mut Vec<String>,
) -> Result<()> {
    let table = catalog.cluster.table(name);
    let current: Arc<TableDescriptor> = table.descriptor().await?;
    let keys = sample(&table).await?;
    let misfit = keys.iter().find(|row| key.decode(row).is_err());
    if !forced {
        if let Some(Ok(declared)) = KeySchema::from_descriptor(&current) {
            declared.check_change(key)?;
        }
        if let Some(row) = misfit {
            return Err(SqlError::new(
                SqlState::InvalidParameter,
                format!(
                    "row {} of table {name} is no key of {key}; declare another key, or add FORCE",
                    to_string_binary(row)
                ),
            ));
        }
    }
    let redeclared = key.adopted_in(&current)?;
    catalog.cluster.admin().alter_table(redeclared.descriptor).await?;
    let fitting = keys.iter().filter(|row| key.decode(row).is_ok()).count();
    notices.push(format!("the key fits {fitting} of {} sampled row(s)", keys.len()));
    notices.extend(redeclared.dropped.iter().map(|what| format!("no longer declared: {what}")));
    Ok(())
}

/// Returns the first keys of regions spread over the table.
async fn sample(table: &Arc<dyn Table>) -> Result<Vec<Bytes>> {
    let regions: Vec<RegionInfo> = table.regions().await?;
    let few = spread_regions(&regions, SAMPLED_REGIONS);
    let each = SAMPLED_KEYS / few.len().max(1);
    let filter = Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]);
    let scan = |scan: Scan| scan.limit(each).filter(filter.clone());
    let rows = rows_of_regions(&**table, &few, scan).await?;
    Ok(rows.iter().map(|row| Bytes::copy_from_slice(row.key())).collect())
}
