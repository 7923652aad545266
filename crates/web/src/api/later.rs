//! Paths of what nothing records here: what-if. They answer which source is missing, so that a page
//! can say so in place.

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
    /// Load under another row key.
    what_if, "/api/tables/{t}/what-if", "the load under another row key";
}
