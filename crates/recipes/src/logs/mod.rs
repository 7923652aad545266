//! Logs: the same lines under the five keys of the tutorial, under one load.
//!
//! The application is `examples/logs`; `design.rs` is the interface that the check uses. The check
//! compares every table with the model, and `comparison.rs` measures them side by side.

mod application;
mod comparison;
mod design;
mod generator;
mod verify;

pub use design::Design;
pub use generator::Generator;

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::LogsApplication;

/// Recipe of logs.
pub type LogsRecipe = DesignedRecipe<dyn Design>;

/// The recipe with the design of `examples/logs`.
pub static LOGS: LogsRecipe = DesignedRecipe {
    about: About {
        name: "logs",
        namespace: "logs",
        shows: "lines of programs under five keys at once: time first, salted, host first, numbers \
                for names, and a row for a quarter of an hour, with what each costs",
        items: "lines",
        default_items: 100_000,
        default_rate: 500,
        batch_items: 1000,
        operations: &["write of 20", "host", "time", "host by quarter", "host by time"],
    },
    tables: &[logs::TABLES],
    design: design::logs,
    application: |design, opened| {
        let generator = Generator::new(opened.load);
        Box::new(LogsApplication::new(design, generator, opened.site))
    },
    file: None,
};
