//! Time from the navigation to the painted regions of a table with 100,000 regions, in a browser.
//!
//! Prints one line per load; the first has nothing in the browser's cache. The goal is 200 ms.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should stop")]

#[allow(dead_code, reason = "the tests of the page need more of it")]
#[path = "../../cli/tests/browser/chromium.rs"]
mod chromium;
#[allow(dead_code, reason = "the tests of the API need more of it")]
#[path = "../src/tests/fake.rs"]
mod fake;
#[allow(dead_code, reason = "the tests of the page need more of it")]
#[path = "../../cli/tests/browser/guarded.rs"]
mod guarded;
#[allow(dead_code, reason = "the tests of the page need more of it")]
#[path = "../../cli/tests/browser/tab.rs"]
mod tab;

use std::sync::Arc;

use halite_web::{NoExtension, WebConfig, WebSources, router};
use serde_json::json;
use tokio::net::TcpListener;

const REGIONS: u64 = 100_000;
const LOADS: usize = 10;

/// Notes when rows are in the document and when the frame after that begins.
const WATCH: &str = "
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.row .c-name')) return;
      observer.disconnect();
      window.listed = performance.now();
      requestAnimationFrame(() => requestAnimationFrame(() => {
        window.painted = performance.now();
      }));
    }).observe(document, { childList: true, subtree: true });";

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    // `cargo test --benches` runs this too, to see that it works.
    let loads = if std::env::args().any(|argument| argument == "--bench") { LOADS } else { 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let cluster = Arc::new(fake::Fake::new(REGIONS));
    let sources = WebSources { cluster, extension: Arc::new(NoExtension) };
    let router = router(sources, WebConfig::default());
    runtime.spawn(async move { axum::serve(listener, router).await });

    let Some(browser) = chromium::browser() else { return };
    let mut tab = tab::Tab::open(browser, &origin);
    tab.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH}));
    println!("{REGIONS} regions: milliseconds to the document, to the rows, to their frame");
    for load in 1..=loads {
        tab.goto("/t/big/regions");
        let times = tab.await_value(
            "painted rows",
            "window.painted && [performance.getEntriesByType('navigation')[0].responseEnd, \
             window.listed, window.painted].map(Math.round)",
        );
        println!("load {load:2}: {times}");
    }
}
