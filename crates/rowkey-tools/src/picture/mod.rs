//! Picture of loads by key and time: one model for the terminal, SVG files and the web page.
//!
//! A [`Picture`] has a panel for each key. All panels share one [`Scale`], so that they can be
//! compared; its knee is a third of the fair share, so that an even load is pale however busy it
//! is.
//!
//! ```text
//! model.rs    pictures, panels and counts       page.rs       constants for the page's script
//! scale.rs    amounts to steps of the ramp      gutter.rs     runs of rows with equal fields
//! ramp.rs     steps to colors
//! text.rs     numbers, times and ticks          verdict.rs    the shape of a load, in words
//! diagnose.rs operations to the shape of their load
//! svg/        one file, light and dark          terminal.rs   lines, with colors or without
//! ```

mod diagnose;
mod gutter;
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

pub use halite_rowkey::key_labels::{KeyLabels, segment_name};

pub use diagnose::{KeyedOperation, diagnose_operations};
pub use gutter::{Gutter, Level, Run};
pub(crate) use model::bounds_of;
pub use model::{Axis, Counts, Panel, Picture};
pub use page::page_module;
pub use ramp::{Color, Theme, ramp};
pub use scale::{COARSE_MS, FIRST_STEP, LoadLevel, Scale};
pub use svg::svg;
pub use terminal::{TerminalStyle, terminal, terminal_panel, terminal_scale};
pub use text::{number, short_field, tick_step, tick_text};
pub use verdict::{LoadSpread, Verdict};
