//! Monitoring: samples of hosts, read by host and by metric, from two tables or from one.
//!
//! The application is `examples/monitor`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod flights;
mod generator;
mod verify;

pub use design::Design;
pub use flights::Flights;
pub use generator::Generator;

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::MonitorApplication;

/// Recipe of monitoring.
pub type MonitorRecipe = DesignedRecipe<dyn Design, Flights>;

/// The recipe with the design of `examples/monitor`.
pub static MONITOR: MonitorRecipe = DesignedRecipe {
    about: About {
        name: "monitor",
        namespace: "monitor",
        shows: "measurements by host and by metric: two tables that are written together and \
                repaired, beside a scan of the first one alone; a quarter of an hour is a row",
        items: "samples",
        default_items: 500_000,
        default_rate: 1_000,
        batch_items: 1000,
        operations: &["write of 20", "host", "metric", "metric by host"],
    },
    tables: monitor::TABLES,
    design: design::monitor,
    application: |design, opened| {
        let generator = Generator::new(opened.load, opened.file);
        Box::new(MonitorApplication::new(design, generator))
    },
    file: None,
};
