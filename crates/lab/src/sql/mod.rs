//! SQL over declared keys. The pages are listed in every program and run in those that are built
//! with the feature `sql`.

use crate::page::Page;

mod s01_one_question_two_keys;
#[cfg(feature = "sql")]
mod session;

/// Pages in the order of their ids.
pub(crate) static PAGES: &[Page] = &[s01_one_question_two_keys::PAGE];

/// Writes nothing: this program has no SQL.
///
/// # Errors
/// Always, with how to build one that has.
#[cfg(not(feature = "sql"))]
fn run_without_sql(_: &mut crate::PageWriter) -> anyhow::Result<()> {
    anyhow::bail!(
        "it needs SQL, which this program is built without: build it with --features sql, or read \
         docs/lab"
    )
}
