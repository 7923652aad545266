//! History of users: all operations of a user, or those between two times, newest first.
//!
//! The application is `examples/user-ops`; `design.rs` is the interface that the check uses.

mod application;
mod design;
mod flights;
mod generator;

pub use design::Design;
pub use flights::Flights;
pub use generator::Generator;

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::UserOpsApplication;

/// Recipe of user operations.
pub type UserOpsRecipe = DesignedRecipe<dyn Design, Flights>;

/// The recipe with the design of `examples/user-ops`.
pub static USER_OPS: UserOpsRecipe = DesignedRecipe {
    about: About {
        name: "user-ops",
        namespace: "user_ops",
        shows: "history of users: numbered ids reversed, so that new users are in all regions, \
                and times newest first, with ranges in their natural order",
        items: "operations",
        default_items: 100_000,
        default_rate: 4_000,
        batch_items: 1000,
        operations: &["record", "history", "between"],
    },
    tables: &[user_ops::OperationKey::CREATE_TABLE],
    design: design::history,
    application: |design, opened| {
        let generator = Generator::new(opened.load, opened.file);
        Box::new(UserOpsApplication::new(design, generator))
    },
    file: None,
};
