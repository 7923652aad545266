//! Metadata of an object storage: a tree of directories, and the files of users.
//!
//! The application is `examples/files`; `design.rs` is the interface that the check uses.

mod application;
mod contention;
mod design;
mod generator;
mod load;
mod oracle;
mod verify;

pub use design::{Design, List};
pub use generator::{Generator, Item};

use crate::designed::DesignedRecipe;
use crate::recipe::About;
use application::FilesApplication;

/// Recipe of files.
pub type FilesRecipe = DesignedRecipe<dyn Design>;

/// The recipe with the design of `examples/files`.
pub static FILES: FilesRecipe = DesignedRecipe {
    about: About {
        name: "files",
        namespace: "files",
        shows: "a tree of directories and the files of users: ids instead of paths, so a \
                directory moves with all that is in it, also while other directories move and \
                writers stop",
        items: "operations",
        default_items: 20_000,
        default_rate: 1_000,
        batch_items: 1,
        operations: &["create", "change", "list of 1000", "node", "path", "files of user"],
    },
    tables: files::TABLES,
    design: design::files,
    application: |design, opened| Box::new(FilesApplication::new(design, opened.load)),
    file: None,
};
