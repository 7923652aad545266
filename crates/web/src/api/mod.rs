//! Paths of the API.
//!
//! ```text
//! cluster.rs  servers and totals           rows.rs     rows, and single cells
//! tables.rs   all tables                   keys.rs     plans and lint
//! table.rs    one table                    actions.rs  split, merge, move, flush, compact
//! regions.rs  the regions of a table       activity.rs tasks, events, slow calls
//! region.rs   one region                   what_if/    load under another row key
//! heat.rs     load by key and time         hot_keys.rs rows with the most requests
//! diagnosis.rs  the shape of a load        operations.rs  log of sampled operations
//! causes.rs   clients and statements of a cell     key_clients.rs  clients of frequent rows
//! ```

mod actions;
mod activity;
mod causes;
mod cell_keys;
mod cluster;
mod csv;
mod diagnosis;
mod heat;
mod heat_answer;
mod heat_pivot;
mod heat_sizes;
mod hot_keys;
mod key_clients;
mod keys;
mod openapi;
mod operations;
mod region;
mod region_list;
mod regions;
mod row_query;
mod rows;
mod table;
mod tables;
mod what_if;

use std::sync::Arc;

use axum::routing::{MethodRouter, get, post};

use crate::site::Site;

/// Returns all paths with their handlers. `openapi.rs` describes the same ones; a test compares
/// them.
pub(crate) fn routes() -> Vec<(&'static str, MethodRouter<Arc<Site>>)> {
    vec![
        ("/api/openapi.json", get(openapi::document)),
        ("/api/cluster", get(cluster::cluster)),
        ("/api/tables", get(tables::tables)),
        ("/api/tables/{t}", get(table::table)),
        ("/api/tables/{t}/regions", get(regions::regions)),
        ("/api/tables/{t}/regions.csv", get(regions::regions_csv)),
        ("/api/tables/{t}/regions/{encoded}", get(region::region)),
        ("/api/tables/{t}/regions/{encoded}/split", post(actions::split)),
        ("/api/tables/{t}/regions/{encoded}/merge", post(actions::merge)),
        ("/api/tables/{t}/regions/{encoded}/move", post(actions::move_region)),
        ("/api/tables/{t}/regions/{encoded}/flush", post(actions::flush_region)),
        ("/api/tables/{t}/regions/{encoded}/compact", post(actions::compact_region)),
        ("/api/tables/{t}/flush", post(actions::flush_table)),
        ("/api/tables/{t}/compact", post(actions::compact_table)),
        ("/api/tables/{t}/rows", get(rows::rows)),
        ("/api/tables/{t}/cell", get(rows::cell)),
        ("/api/tables/{t}/lint", get(keys::lint_table)),
        ("/api/lint", post(keys::lint_text)),
        ("/api/plan", get(keys::plan)),
        ("/api/tasks", get(activity::tasks)),
        ("/api/tasks/{id}", get(activity::task)),
        ("/api/events", get(activity::events).post(activity::mark_deploy)),
        ("/api/slow-log", get(activity::slow_log)),
        ("/api/tables/{t}/heat", get(heat::heat)),
        ("/api/tables/{t}/heat/cell", get(heat::heat_cell)),
        ("/api/tables/{t}/hot-keys", get(hot_keys::hot_keys)),
        ("/api/tables/{t}/diagnosis", get(diagnosis::table_diagnosis)),
        ("/api/diagnosis", get(diagnosis::diagnosis)),
        ("/api/tables/{t}/operations", get(operations::operations)),
        ("/api/tables/{t}/what-if", get(what_if::what_if)),
    ]
}
