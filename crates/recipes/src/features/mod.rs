//! Features of a recommender: vectors of one version, clicks and behavior.
//!
//! The application is `examples/features`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod generator;
mod load;
mod verify;

pub use design::Design;
pub use generator::{Generator, Item};

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::FeaturesApplication;

/// Recipe of features.
pub type FeaturesRecipe = DesignedRecipe<dyn Design>;

/// The recipe with the design of `examples/features`.
pub static FEATURES: FeaturesRecipe = DesignedRecipe {
    about: About {
        name: "features",
        namespace: "features",
        shows: "features of a recommender: five hundred items and a user in one request, \
                vectors that change all at once, clicks that count once, and the last behavior \
                of a user",
        items: "events",
        default_items: 100_000,
        default_rate: 500,
        batch_items: 1000,
        operations: &["record", "ranking of 500", "recent", "vectors of 100"],
    },
    tables: features::TABLES,
    design: design::features,
    application: |design, opened| Box::new(FeaturesApplication::new(design, opened.load)),
    file: None,
};
