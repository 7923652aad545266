//! Time from the navigation to the painted regions of a table with 100,000 regions, in a browser,
//! and of drawing its heat map of 886 columns, each of which has the load of all regions.
//!
//! Prints one line per load; the first has nothing in the browser's cache. The goals are 200 ms to
//! the regions, and 100 ms to draw the heat map.
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

use halite::{Result, TableName};
use halite_heat::{BASE_MS, Column, HeatMap, HeatQuery, History, Load, Region};
use halite_web::{Extension, WebConfig, WebSources, router};
use serde_json::json;
use tokio::net::TcpListener;

const REGIONS: u64 = 100_000;
const LOADS: usize = 10;
/// Columns of a minute in the heat map, and columns of ten seconds in each of them.
const COLUMNS: i64 = 886;
const BASES: i64 = 6;
/// Time at the end of the heat map.
const NOW_MS: i64 = 1_700_000_040_000;

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

/// Notes how long each drawing of the heat map takes.
const TIME: &str = "
    import('/js/heatview.js').then(({ HeatView }) => {
      const { draw } = HeatView.prototype;
      window.drawn = [];
      HeatView.prototype.draw = function () {
        const began = performance.now();
        draw.call(this);
        window.drawn.push(performance.now() - began);
      };
    });";

/// Recorded load of the table.
struct Recorded {
    history: History,
    times: History,
}

impl Recorded {
    /// Records a load that moves over the keys, with a little everywhere.
    fn new(regions: u64, columns: i64) -> Self {
        let (mut history, mut times) = (History::default(), History::default());
        let bases = columns * BASES;
        for base in 0..bases {
            let from_ms = NOW_MS - (bases - base) * BASE_MS;
            // One of a minute has all regions: to make a column takes as long as a query.
            if base % BASES == 0 {
                let hot = base.unsigned_abs() * 37 % regions;
                let region = |at: u64| {
                    let near = at.abs_diff(hot) < regions / 200 + 1;
                    let amount = at * 7919 % 20 + if near { 500 } else { 0 };
                    let start = if at == 0 { Box::default() } else { at.to_be_bytes().into() };
                    let loads = vec![Load::new([amount, amount * 2, 0, amount, 9, 9])];
                    Region { start, boundaries: Vec::new(), loads }
                };
                let regions: Vec<Region> = (0..regions).map(region).collect();
                history.push(&Column::of_regions(from_ms, from_ms + BASE_MS, &regions));
            }
            times.push(&Column::of_time(from_ms, from_ms + BASE_MS));
        }
        Self { history, times }
    }
}

impl Extension for Recorded {
    fn now_ms(&self) -> u64 {
        NOW_MS.unsigned_abs()
    }

    fn heat_maps(&self, _: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        let map = |query| HeatMap::new(&self.history, &self.times, query);
        Ok(queries.iter().map(map).collect())
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    // `cargo test --benches` runs this too, to see that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (loads, columns) = if is_bench { (LOADS, COLUMNS) } else { (1, 10) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let cluster = Arc::new(fake::Fake::new(REGIONS));
    let extension = Arc::new(Recorded::new(REGIONS, columns));
    let sources = WebSources { cluster, extension };
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
    tab.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": TIME}));
    println!("heat map of {REGIONS} regions and {columns} columns: milliseconds to draw it");
    let from = NOW_MS - columns * BASES * BASE_MS;
    for load in 1..=loads {
        tab.goto(&format!("/t/big/heat?from={from}&to={NOW_MS}"));
        let times = tab.await_value(
            "drawn heat map",
            // The first drawing may be before it is timed; one of another size is a whole one, too.
            "window.drawn?.length ? Math.round(Math.max(...window.drawn)) \
             : (document.body.style.padding = `${Math.random() * 20}px`, null)",
        );
        println!("load {load:2}: {times}");
    }
}
