//! History of users: all operations of a user, or those between two times, newest first.
//!
//! The application is `examples/user-ops`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod generator;

use anyhow::Result;

pub use design::Design;
pub use generator::Generator;

use crate::recipe::{About, Application, Load, Recipe, Site};
use application::UserOpsApplication;

/// Recipe of user operations.
pub struct UserOpsRecipe {
    /// Opens the design on the tables of a namespace.
    pub design: fn(&Site) -> Result<Box<dyn Design>>,
}

/// The recipe with the design of `examples/user-ops`.
pub static USER_OPS: UserOpsRecipe = UserOpsRecipe { design: design::history };

static ABOUT: About = About {
    name: "user-ops",
    namespace: "user_ops",
    shows: "history of users: numbered ids reversed, so that new users are in all regions, and times \
            newest first, with ranges in their natural order",
    items: "operations",
    default_items: 100_000,
    default_rate: 4_000,
    operations: &["record", "history", "between"],
};

impl Recipe for UserOpsRecipe {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn statements(&self) -> &'static str {
        user_ops::TABLES
    }

    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>> {
        Ok(Box::new(UserOpsApplication::new((self.design)(site)?, load)))
    }
}
