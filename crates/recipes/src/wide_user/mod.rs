//! Users with their last orders in one row: a ring of ten columns, changed on a condition.
//!
//! The application is `examples/wide-user`; `design.rs` is the interface that the check uses.

mod application;
mod contention;
mod design;
mod generator;

pub use design::Design;
pub use generator::Generator;

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::WideUserApplication;

/// Recipe of users with their last orders.
pub type WideUserRecipe = DesignedRecipe<dyn Design>;

/// The recipe with the design of `examples/wide-user`.
pub static WIDE_USER: WideUserRecipe = DesignedRecipe {
    about: About {
        name: "wide-user",
        namespace: "wide_user",
        shows: "a user and their last ten orders in one row, read by one get: a ring of \
                columns that concurrent writers change on a condition",
        items: "orders",
        default_items: 100_000,
        default_rate: 2_000,
        batch_items: 1000,
        operations: &["order", "page"],
    },
    tables: wide_user::TABLES,
    design: design::users,
    application: |design, opened| Box::new(WideUserApplication::new(design, opened.load)),
    file: None,
};
