//! Runs every page on an embedded store and through client and server, and compares the pages with
//! docs/lab.

mod backends;
mod dictionary;
mod rolling;
mod series;
#[cfg(feature = "sql")]
mod sql;

use std::path::Path;
use std::time::Duration;

use halite_lab::{Page, PageKind, RenderedPage, find_page, pages, render, run_page};

/// Defines a test for each page on each backend, with the name of the page: `embedded::e01`,
/// `served::e01`.
macro_rules! pages {
    ($($id:ident)*) => {
        mod embedded {
            $(#[test] fn $id() { super::check(&super::backends::Embedded::open().cluster, stringify!($id)); })*
        }
        mod served {
            $(#[test] fn $id() { super::check(&super::backends::served().cluster, stringify!($id)); })*
        }
        const TESTED: &[&str] = &[$(stringify!($id)),*];
    };
}

pages! {
    c01 c02 c03 c04 c05 c06 c07 c08 c09 c16
    e01 e02 e03 e04 e05 e06 e07 e08 e09 e10 e11 e12 e13 e14 e15 e16
    e17 e19 e20 e21 e22 e23 e24 e25 e26 e27 e28 e29 e30 e31 e32 e33
    e34 e37 e38 e39 e41 e42 e43 e44 e45 e46 e47 e48
    k01 k02 k03 k04 k05 k06 k07 k08 k09 k10 k11 k12 k13 k14 k15 k16
    k17 k18 k19 k20 k21 k22 k23 k24 k25 k26 k27 k28 k29 k30 k31 k32
    k33 k34 k35
    m07 m08 m09 m10 m11 m12 m13 m14 m15 m16 m17
}

/// Pages that run concurrently when all are run.
const THREADS: usize = 4;

fn check(cluster: &halite::BlockingCluster, id: &str) {
    run(cluster, find_page(id).unwrap_or_else(|| panic!("there is no page {id}")));
}

/// Runs a page. One whose cells expired while a busy machine stopped all programs runs again.
fn run(cluster: &halite::BlockingCluster, page: &'static Page) -> RenderedPage {
    const STOP: Duration = Duration::from_millis(300);
    halite_patience::unless_stopped(4, STOP, || run_page(cluster, page))
        .unwrap_or_else(|error| panic!("{error:#}"))
}

#[test]
fn every_page_is_tested() {
    let missing: Vec<_> = pages()
        .filter(|page| page.kind() != PageKind::Sql)
        .filter(|page| !TESTED.contains(&page.id.to_lowercase().as_str()))
        .map(|page| page.id)
        .collect();
    assert!(missing.is_empty(), "name these in the list at the head of this file: {missing:?}");
}

#[test]
fn pages_are_ordered_by_unique_ids() {
    for kind in ["E", "K"] {
        let ids: Vec<_> = pages().map(|page| page.id).filter(|id| id.starts_with(kind)).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    }
}

/// Verifies that docs/lab equals the current output of the pages.
#[test]
fn documentation_matches_generated_pages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab");
    let backend = backends::Embedded::open();
    // Some pages wait for cells to expire; others run during that time.
    let every = |from: usize| {
        let chosen = pages().filter(|page| page.is_built()).skip(from).step_by(THREADS);
        chosen.map(|page| run(&backend.cluster, page))
    };
    let written: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..THREADS).map(|from| scope.spawn(move || every(from).collect::<Vec<_>>())).collect();
        running.into_iter().flat_map(|pages| pages.join().expect("pages that hold")).collect()
    });
    let mut files: Vec<_> =
        written.iter().map(|page| (format!("{}.md", page.id), render::markdown(page))).collect();
    files.extend(written.iter().flat_map(RenderedPage::images));
    files.push(("README.md".to_owned(), render::index(pages())));
    for (name, now) in files {
        if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
            std::fs::write(folder.join(&name), &now).expect("docs/lab");
        }
        let there = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert_eq!(
            there, now,
            "docs/lab/{name} is not what its page says now; write it again with: cargo run -- lab \
             all --markdown docs/lab"
        );
    }
}
