//! The web page in a real browser: Debian's Chromium, driven through its `DevTools` protocol.
//!
//! ```text
//! actions.rs    actions on a region
//! guarded.rs    child processes that end with the tests
//! chromium.rs   the browser, one for all tests
//! tab.rs        one tab: addresses, input, questions, what went wrong
//! lab.rs        the server, its tables, and traffic of known shapes
//! pages.rs      every page: errors, layout, contrast, names of controls
//! tutorials.rs  what the tutorials show
//! drawing.rs    the script's scale, colors and words against those of pictures in files
//! spike.rs      a minute of load in a picture of five weeks
//! shapes.rs     where the pixels of the heat map are dark
//! map.rs        the heat map in a tab: its requests and its pixels
//! heat.rs       the heat map by mouse and by keyboard
//! whatif.rs     recorded operations under another key
//! lists.rs      long lists
//! hostile.rs    keys and values that would be markup
//! ../it/        requests without the browser, and what the heat map's API answers
//! ```
//!
//! Pictures of the pages are written to `target/browser`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod actions;
mod chromium;
mod drawing;
mod guarded;
mod heat;
#[path = "../it/heat_answer.rs"]
mod heat_answer;
mod hostile;
#[path = "../it/http.rs"]
mod http;
mod lab;
mod lists;
mod map;
mod pages;
#[allow(dead_code, reason = "the other tests need more of it")]
#[path = "../it/program.rs"]
mod program;
mod shapes;
mod spike;
mod tab;
mod tutorials;
mod whatif;
