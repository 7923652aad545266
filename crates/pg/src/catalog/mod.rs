//! What clients ask about tables: the schema `pg_catalog`, and the functions and forms of queries
//! that go with it.
//!
//! `names.rs` has the names of the database and the schema, `columns.rs` lists the tables and their columns, `rows.rs` computes the rows of those that have
//! any (`keywords.rs`: the words of the dialect), `table.rs` shows them to DataFusion, `functions.rs`, `expand.rs`,
//! `current_setting.rs` and `signals.rs` have functions, and
//! `rewrite/` brings queries into a form that DataFusion plans.

mod columns;
mod current_setting;
mod expand;
mod functions;
mod keywords;
mod names;
mod oids;
mod rewrite;
mod rows;
mod signals;
mod table;

use std::sync::{Arc, RwLock};

use halite_sql::SqlContext;
use halite_types::Cluster;

use crate::session::settings::Settings;
use names::{DATABASE, SCHEMA};
pub(crate) use signals::Caller;
use table::CatalogTable;

/// Registers the tables with a session and all that are made from it.
pub(crate) fn register(sql: &SqlContext, cluster: &Arc<dyn Cluster>) {
    let catalog = sql.session().catalog(DATABASE);
    let Some(schema) = catalog.and_then(|catalog| catalog.schema(SCHEMA)) else { return };
    for (name, columns) in columns::TABLES.iter().chain(columns::TABLE_FUNCTIONS) {
        let table = CatalogTable::new(Arc::clone(cluster), name, columns);
        // The schema takes every table.
        let _ = schema.register_table((*name).to_owned(), Arc::new(table));
    }
}

/// Gives a session the functions, and the change of its queries.
pub(crate) fn with_functions(
    sql: SqlContext,
    caller: &Caller,
    connection: u32,
    settings: &Arc<RwLock<Settings>>,
) -> SqlContext {
    for function in functions::all(&caller.user, connection) {
        sql.session().register_udf(function);
    }
    for function in signals::all(caller) {
        sql.session().register_udf(function);
    }
    sql.session().register_udf(expand::expand());
    sql.session().register_udf(current_setting::current_setting(settings));
    sql.with_rewrite(Arc::new(rewrite::rewrite))
}
