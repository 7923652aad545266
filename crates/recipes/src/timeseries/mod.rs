//! Sensors: readings of devices, the points of an hour packed into one cell.
//!
//! The application is `examples/timeseries`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod generator;
mod load;
mod sizes;
mod values;
mod verify;
mod weather;

pub use design::Design;
pub use generator::Generator;
pub use values::{VALUE_MODELS, ValueModel};
pub use weather::Weather;

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::TimeseriesApplication;

/// Recipe of sensors.
pub type TimeseriesRecipe = DesignedRecipe<dyn Design, Weather>;

/// The recipe with the design of `examples/timeseries`.
pub static TIMESERIES: TimeseriesRecipe = DesignedRecipe {
    about: About {
        name: "timeseries",
        namespace: "timeseries",
        shows: "sensors: a row for each device and hour, newest first, its points packed into \
                one cell that takes about a byte for each; late and corrected points, and \
                queries of all devices",
        items: "readings",
        default_items: 1_000_000,
        default_rate: 1_030,
        batch_items: 1000,
        operations: &["write of 100", "latest", "day", "averages", "all devices"],
    },
    tables: timeseries::TABLES,
    design: design::sensors,
    application: |design, opened| {
        let generator = Generator::new(opened.load, opened.file);
        Box::new(TimeseriesApplication::new(design, generator, opened.site))
    },
    file: None,
};
