//! The lab: executable pages about row-key mistakes and techniques. A page runs its operations on a
//! store while it is written.
//!
//! A [`Page`] is a function. It writes rows, reads them, counts them, and makes claims about the
//! results. The caller receives a [`RenderedPage`], or the claim that failed. So every page is also
//! a test of an embedded store, a server and an HBase cluster: it accesses the store only as a
//! [`Cluster`](halite::Cluster).
//!
//! ```
//! # fn main() -> anyhow::Result<()> {
//! # let directory = tempfile::tempdir()?;
//! let store = halite::open(directory.path())?;
//! let page = halite_lab::find_page("e01").expect("E01 is a page");
//! let written = halite_lab::run_page(&store, page)?;
//! println!("{}", halite_lab::render::text(&written));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod basics;
mod cell_bytes;
mod counting_table;
mod declared_keys;
mod distribution;
mod manual_keys;
mod mistakes;
mod page;
mod page_writer;
mod parallel;
pub mod render;
pub mod samples;
mod scan_spec;
mod sql;
mod statement;
mod table;
mod techniques;

pub use page::{Element, Page, PageKind, RenderedPage, Section};
pub use page_writer::PageWriter;
pub use scan_spec::ScanSpec;
pub use table::LabTable;

use halite::BlockingCluster;

/// Returns all pages: mistakes, techniques, basics and SQL. Those of [`Page::is_built`] run.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    mistakes::PAGES.iter().chain(techniques::PAGES).chain(basics::PAGES).chain(sql::PAGES)
}

/// Returns a page by its id, in upper or lower case.
pub fn find_page(id: &str) -> Option<&'static Page> {
    pages().find(|page| page.id.eq_ignore_ascii_case(id))
}

/// Runs a page on a cluster. Its tables are created in the namespace `lab` and are dropped at the
/// end, even on failure.
///
/// # Errors
/// Returns the claim that failed, and the errors of the cluster; a page that is not built.
pub fn run_page(cluster: &BlockingCluster, page: &'static Page) -> anyhow::Result<RenderedPage> {
    let mut lab = PageWriter::new(cluster, page)?;
    let outcome = (page.run)(&mut lab);
    let cleared = lab.clear();
    let written = outcome
        .and_then(|()| lab.finish(find_page))
        .map_err(|error| error.context(format!("page {}", page.id)))?;
    cleared?;
    Ok(written)
}
