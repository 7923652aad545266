//! Pages about SQL, on an embedded store, whose output is docs/lab, and through client and server.

use std::path::Path;

use halite_lab::{PageKind, pages, render, run_page};

use crate::backends;

fn of_sql() -> impl Iterator<Item = &'static halite_lab::Page> {
    pages().filter(|page| page.kind() == PageKind::Sql)
}

#[test]
fn pages_hold_on_an_embedded_store_and_are_those_of_the_documentation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab");
    let backend = backends::Embedded::open();
    assert!(of_sql().count() > 0, "a page about SQL");
    for page in of_sql() {
        let written = run_page(&backend.cluster, page).unwrap_or_else(|error| panic!("{error:#}"));
        let name = format!("{}.md", page.id);
        if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
            std::fs::write(folder.join(&name), render::markdown(&written)).expect("docs/lab");
        }
        let there = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert_eq!(
            there,
            render::markdown(&written),
            "docs/lab/{name} is not what its page says now; write it again with: cargo run \
             --features sql -- lab all --markdown docs/lab"
        );
    }
}

#[test]
fn pages_hold_through_client_and_server() {
    for page in of_sql() {
        if let Err(error) = run_page(&backends::served().cluster, page) {
            panic!("{error:#}");
        }
    }
}
