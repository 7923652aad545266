//! Picture of loads by key and time: one model for the terminal, SVG files and the web page.
//!
//! A [`Picture`] has a panel for each key. All panels share one [`Scale`], so that they can be
//! compared; its knee is a third of the fair share, so that an even load is pale however busy it
//! is.
//!
//! ```text
//! model.rs    pictures, panels and counts       page.rs       constants for the page's script
//! scale.rs    amounts to steps of the ramp      labels.rs     keys as fields, by the schema
//! ramp.rs     steps to colors                   gutter.rs     runs of rows with equal fields
//! text.rs     numbers, times and ticks          verdict.rs    the shape of a load, in words
//! diagnose.rs operations to the shape of their load
//! svg/        one file, light and dark          terminal.rs   lines, with colors or without
//! ```

mod diagnose;
mod gutter;
mod labels;
mod model;
mod page;
mod ramp;
mod scale;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod verdict;

pub use diagnose::{KeyedOperation, diagnose_operations};
pub use gutter::{Gutter, Level, Run};
pub use labels::{KeyLabels, segment_name};
pub(crate) use model::bounds_of;
pub use model::{Axis, Counts, Panel, Picture};
pub use page::page_module;
pub use ramp::{Color, Theme, ramp};
pub use scale::{COARSE_MS, FIRST_STEP, LoadLevel, Scale};
pub use svg::svg;
pub use terminal::{TerminalStyle, terminal, terminal_panel, terminal_scale};
pub use text::{number, short_field, tick_step, tick_text};
pub use verdict::{LoadSpread, Verdict};
