//! Time to draw the heat map of a table with 100,000 regions and 886 columns, each of which has the
//! load of all regions, in a browser.
//!
//! Prints how long the first drawing took from the last byte of the answer, and one line per later
//! drawing: milliseconds of the page's own code, and until the browser has its pixels. The goal is
//! 100 ms.
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
use halite_heat::{BASE_MS, Column, ColumnTime, HeatMap, HeatQuery, History, Load, Region};
use halite_web::{Extension, WebConfig, WebSources, router};
use serde_json::json;
use tokio::net::TcpListener;

const REGIONS: u64 = 100_000;
/// Columns of a minute in the heat map, and columns of ten seconds in each of them.
const COLUMNS: i64 = 886;
const BASES: i64 = 6;
const DRAWINGS: u32 = 20;
/// Time at the end of the heat map.
const NOW_MS: i64 = 1_700_000_040_000;

/// Notes when the map is drawn first.
const WATCH: &str = "
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.hm-over')?.dataset.box) return;
      observer.disconnect();
      window.first = performance.now();
    }).observe(document, { attributes: true, childList: true, subtree: true });";

/// Milliseconds from the last byte of the heat map to its first drawing.
const FIRST: &str = "
    window.first && (window.first - performance.getEntriesByType('resource')
      .find(it => /heat.*order=/.test(it.name)).responseEnd).toFixed(1)";

/// Times each drawing of the heat map, and how long the browser takes to give a pixel of it back.
///
/// The page's own module is the one that it loaded: its address has the version of the assets.
const TIME: &str = "
    import(performance.getEntriesByType('resource').map(it => it.name)
      .find(it => it.endsWith('/js/heatview.js'))).then(({ HeatView }) => {
      const { draw } = HeatView.prototype;
      window.drawn = [];
      HeatView.prototype.draw = function () {
        const began = performance.now();
        draw.call(this);
        const code = performance.now() - began;
        this.base.getContext('2d').getImageData(0, 0, 1, 1);
        window.drawn.push([code, performance.now() - began].map(ms => ms.toFixed(1)).join(' '));
      };
      return true;
    })";

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
                history.push(&Column::of_regions(
                    ColumnTime::exact(from_ms, from_ms + BASE_MS),
                    &regions,
                ));
            }
            times.push(&Column::of_time(ColumnTime::exact(from_ms, from_ms + BASE_MS)));
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
    let (drawings, columns) = if is_bench { (DRAWINGS, COLUMNS) } else { (1, 10) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let cluster = Arc::new(fake::Fake::new(REGIONS));
    let extension = Arc::new(Recorded::new(REGIONS, columns));
    let router = router(WebSources { cluster, extension }, WebConfig::default());
    runtime.spawn(async move { axum::serve(listener, router).await });

    let Some(browser) = chromium::browser() else { return };
    let mut tab = tab::Tab::open(browser, &origin);
    tab.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH}));
    let from = NOW_MS - columns * BASES * BASE_MS;
    tab.goto(&format!("/t/big/heat?from={from}&to={NOW_MS}"));
    let first = tab.await_value("drawn heat map", FIRST);
    println!("{REGIONS} regions and {columns} columns: {first} ms from the answer to the map");
    tab.eval(TIME);
    for drawing in 1..=drawings {
        // A map of another size is drawn whole.
        tab.eval("window.drawn.length = 0");
        tab.resize(1366 + drawing, 900);
        let times = tab.await_value("drawing", "window.drawn.join()");
        println!("drawing {drawing:2}, and to its pixels: {times} ms");
    }
}
