//! Users with their last orders in one row: a ring of ten columns, changed on a condition.
//!
//! The application is `examples/wide-user`; `design.rs` is the interface that the check uses.

mod application;
mod contention;
mod design;
mod generator;

use anyhow::Result;

pub use design::Design;
pub use generator::Generator;

use crate::recipe::{About, Application, Load, Recipe, Site};
use application::WideUserApplication;

/// Recipe of users with their last orders.
pub struct WideUserRecipe {
    /// Opens the design on the tables of a namespace.
    pub design: fn(&Site) -> Result<Box<dyn Design>>,
}

/// The recipe with the design of `examples/wide-user`.
pub static WIDE_USER: WideUserRecipe = WideUserRecipe { design: design::users };

static ABOUT: About = About {
    name: "wide-user",
    namespace: "wide_user",
    shows: "a user and their last ten orders in one row, read by one get: a ring of columns that \
            concurrent writers change on a condition",
    items: "orders",
    default_items: 100_000,
    default_rate: 2_000,
    operations: &["order", "page"],
};

impl Recipe for WideUserRecipe {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn statements(&self) -> &'static str {
        wide_user::TABLES
    }

    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>> {
        Ok(Box::new(WideUserApplication::new((self.design)(site)?, load)))
    }
}
