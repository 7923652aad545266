//! Real-time analytics: aggregates that the store merges while events arrive.
//!
//! The application is `examples/analytics`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod generator;
mod load;
mod oracle;
mod verify;

pub use design::Design;
pub use generator::Generator;

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::AnalyticsApplication;

/// Recipe of real-time analytics.
pub type AnalyticsRecipe = DesignedRecipe<dyn Design>;

/// The recipe with the design of `examples/analytics`.
pub static ANALYTICS: AnalyticsRecipe = DesignedRecipe {
    about: About {
        name: "analytics",
        namespace: "analytics",
        shows: "active users, retention, funnels and a live board: sums, sketches and sets \
                that the store merges, in shards; events that arrive twice count once",
        items: "events",
        default_items: 500_000,
        default_rate: 1_000,
        batch_items: 1000,
        operations: &["record of 100", "board", "users of day", "retention", "funnel", "logins"],
    },
    tables: analytics::TABLES,
    design: design::analytics,
    application: |design, opened| Box::new(AnalyticsApplication::new(design, opened.load)),
    file: None,
};
