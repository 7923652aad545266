//! Paths of what nothing records here: heat, hot keys, diagnosis and what-if. They answer which
//! source is missing, so that a page can say so in place.

use crate::call::Call;
use crate::problem::Problem;

fn missing(call: &Call, what: &str) -> Problem {
    let table = call.path("t");
    let of = if table.is_empty() { String::new() } else { format!(" of table {table}") };
    Problem::missing_source(format!("{what}{of} is not recorded here"))
        .detail("the statistics of regions are at /api/tables/{t}/regions")
}

macro_rules! missing_sources {
    ($($(#[$doc:meta])* $name:ident, $path:literal, $what:literal;)*) => {
        $(
            $(#[$doc])*
            #[utoipa::path(
                get,
                path = $path,
                tag = "load",
                responses((status = 501, body = Problem, description = "Not recorded here"))
            )]
            pub(crate) async fn $name(call: Call) -> Problem {
                missing(&call, $what)
            }
        )*
    };
}

missing_sources! {
    /// Load by key range and time.
    heat, "/api/tables/{t}/heat", "the load by key range and time";
    /// One key range at one time.
    heat_cell, "/api/tables/{t}/heat/cell", "the load by key range and time";
    /// Keys with the most requests.
    hot_keys, "/api/tables/{t}/hot-keys", "the load by key";
    /// Shape of the load of a table, its cause and its fix.
    table_diagnosis, "/api/tables/{t}/diagnosis", "the shape of the load";
    /// Shapes of the load of all tables.
    diagnosis, "/api/diagnosis", "the shape of the load";
    /// Load under another row key.
    what_if, "/api/tables/{t}/what-if", "the load under another row key";
}
