//! Interface of a design of users: what the generator writes and what the check reads.

use anyhow::Result;
use wide_user::{Order, User, Users};

use crate::recipe::Site;

/// Design of users with their last orders.
pub trait Design: Send + Sync {
    /// Sets the name of a user.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn rename(&self, user: &str, name: &str) -> Result<()>;

    /// Adds an order. Returns `false` if it was added before.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn add_order(&self, user: &str, order: &Order) -> Result<bool>;

    /// Returns a user with their last orders, the newest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn page(&self, user: &str) -> Result<User>;
}

/// Opens the design of `examples/wide-user`.
pub(super) fn users(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Users::open(&site.cluster, &site.namespace)?))
}

impl Design for Users {
    fn rename(&self, user: &str, name: &str) -> Result<()> {
        Ok(Self::rename(self, user, name)?)
    }

    fn add_order(&self, user: &str, order: &Order) -> Result<bool> {
        Ok(Self::add_order(self, user, order)?)
    }

    fn page(&self, user: &str) -> Result<User> {
        Ok(Self::page(self, user)?)
    }
}
