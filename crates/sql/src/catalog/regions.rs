//! `halite.regions`: the regions of all tables, with their bounds as fields of the declared keys.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryViewBuilder, Float64Array, StringViewArray, UInt64Array,
};
use halite_rowkey::key_labels::KeyLabels;
use halite_rowkey::{Dictionary, KeySchema};
use halite_types::status::RegionLoad;
use halite_types::{Cluster, RegionInfo, TableDescriptor, TableName};

use super::system_columns::{Columns, text};
use crate::error::{Result, SqlError};

/// What is known of a table for the rows of its regions.
struct Known {
    labels: Option<KeyLabels>,
    is_enabled: bool,
}

/// Returns the columns of the table.
pub(super) async fn regions(cluster: &Arc<dyn Cluster>) -> Result<Columns> {
    let status = cluster.admin().cluster_status().await.map_err(SqlError::from)?;
    let regions = &status.regions;
    let known = known_tables(cluster, regions).await?;
    let names: Vec<&RegionInfo> = regions.iter().map(|load| &load.region).collect();
    let mut starts = BinaryViewBuilder::new();
    let mut ends = BinaryViewBuilder::new();
    for region in &names {
        starts.append_value(&region.start);
        ends.append_value(&region.end);
    }
    let fields = |bound: fn(&RegionInfo) -> &[u8]| -> ArrayRef {
        let lines = names.iter().map(|region| {
            let labels = known.get(&region.table)?.labels.as_ref()?;
            labels.boundary_line(bound(region))
        });
        Arc::new(lines.collect::<StringViewArray>())
    };
    let number = |pick: fn(&RegionLoad) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(regions.iter().map(pick)))
    };
    let servers = regions.iter().map(|load| load.server.as_ref().map(ToString::to_string));
    let locality = regions.iter().map(|load| load.locality.map(f64::from));
    let state = |region: &&RegionInfo| match known.get(&region.table) {
        Some(Known { is_enabled: false, .. }) => "disabled",
        _ => "open",
    };
    Ok(vec![
        ("namespace", text(names.iter().map(|region| region.table.namespace())), false),
        ("table_name", text(names.iter().map(|region| region.table.qualifier())), false),
        ("region", text(names.iter().map(|region| region.encoded_name.as_str())), false),
        ("server", Arc::new(servers.collect::<StringViewArray>()), true),
        ("start_key", Arc::new(starts.finish()), false),
        ("end_key", Arc::new(ends.finish()), false),
        ("start_fields", fields(|region| &region.start), true),
        ("end_fields", fields(|region| &region.end), true),
        ("reads", number(|load| load.read_requests), false),
        ("writes", number(|load| load.write_requests), false),
        ("rows_examined", number(|load| load.rows_examined), false),
        ("rows_returned", number(|load| load.rows_returned), false),
        ("filtered", number(|load| load.filtered_read_requests), false),
        ("store_files", number(|load| load.store_files), false),
        ("bytes", number(|load| load.store_file_bytes), false),
        ("memstore_bytes", number(|load| load.memstore_bytes), false),
        ("locality", Arc::new(locality.collect::<Float64Array>()), true),
        ("state", text(names.iter().map(state)), false),
    ])
}

async fn known_tables(
    cluster: &Arc<dyn Cluster>,
    regions: &[RegionLoad],
) -> Result<HashMap<TableName, Known>> {
    let admin = cluster.admin();
    let tables = admin.list_tables().await.map_err(SqlError::from)?;
    let mut known = HashMap::with_capacity(tables.len());
    for table in &tables {
        let name = table.name();
        if !regions.iter().any(|load| load.region.table == *name) {
            continue;
        }
        let labels = labels(cluster, table).await;
        // A table that is dropped meanwhile is shown as it was.
        let is_enabled = admin.is_enabled(name).await.unwrap_or(true);
        known.insert(name.clone(), Known { labels, is_enabled });
    }
    Ok(known)
}

/// Returns the declared key of a table with its dictionaries; `None` if it declares none that can be
/// read.
pub(super) async fn labels(
    cluster: &Arc<dyn Cluster>,
    table: &TableDescriptor,
) -> Option<KeyLabels> {
    let key = KeySchema::from_descriptor(table)?.ok()?;
    let labels = KeyLabels::new(key);
    if !Dictionary::is_needed(&labels.schema) {
        return Some(labels);
    }
    let opened = Dictionary::open_existing(cluster.as_ref(), table.name(), &labels.schema).await;
    let resolver = opened.ok().map(|dictionary| Arc::new(dictionary) as _);
    Some(KeyLabels { resolver, ..labels })
}
