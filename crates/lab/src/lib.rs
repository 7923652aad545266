//! The lab: mistakes and techniques of row keys, each a page that does what it says on a store
//! while it is written.
//!
//! A [`Page`] is a function. It writes rows, reads them, counts, and claims what comes of it;
//! whoever runs it gets the page as it came out, [`RenderedPage`], or the claim that did not hold.
//! So every page is a test as well, of an embedded store, of a server and of an HBase cluster
//! alike: it knows the store only as a [`Cluster`](halite::Cluster).
//!
//! ```
//! # fn main() -> anyhow::Result<()> {
//! # let directory = tempfile::tempdir()?;
//! let store = halite::open(directory.path())?;
//! let cluster = halite::BlockingCluster::new(std::sync::Arc::new(store));
//! let page = halite_lab::find_page("e01").expect("E01 is a page");
//! let written = halite_lab::run_page(&cluster, page)?;
//! println!("{}", halite_lab::render::text(&written));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod basics;
mod counting_table;
mod declared_keys;
mod distribution;
mod fast_diff;
mod manual_keys;
mod mistakes;
mod page;
mod page_writer;
mod parallel;
pub mod render;
pub mod samples;
mod scan_spec;
mod statement;
mod table;
mod techniques;

pub use page::{Element, Page, PageKind, RenderedPage, Section};
pub use page_writer::PageWriter;
pub use scan_spec::ScanSpec;
pub use table::LabTable;

use halite::BlockingCluster;

/// All pages: mistakes, techniques, and what both rest on.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    mistakes::PAGES.iter().chain(techniques::PAGES).chain(basics::PAGES)
}

/// A page by its id, in capital or small letters.
pub fn find_page(id: &str) -> Option<&'static Page> {
    pages().find(|page| page.id.eq_ignore_ascii_case(id))
}

/// Runs a page on a cluster. Its tables lie in the namespace `lab` and are taken away at the end,
/// whatever comes.
///
/// # Errors
/// A claim that did not hold, and whatever the cluster says.
pub fn run_page(cluster: &BlockingCluster, page: &'static Page) -> anyhow::Result<RenderedPage> {
    let mut lab = PageWriter::new(cluster, page)?;
    let outcome = (page.run)(&mut lab);
    let cleared = lab.clear();
    let written = outcome
        .and_then(|()| lab.finish())
        .map_err(|error| error.context(format!("page {}", page.id)))?;
    cleared?;
    Ok(written)
}
