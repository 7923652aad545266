//! Recipe whose design can be replaced: the frame that all recipes share.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};

use crate::recipe::{About, Application, Load, Recipe, Site};

/// Real data of a recipe.
pub trait DataFile: Send + Sync + Sized + 'static {
    /// Namespace of the tables with its items; `None` if the recipe has generated items only.
    const NAMESPACE: Option<&'static str>;

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or has another format, with the line.
    fn read(path: &Path) -> Result<Self>;

    /// Returns the number of items, at least 1.
    fn items(&self) -> u64;

    /// Returns a digest of the text.
    fn digest(&self) -> u64;
}

/// Data of a recipe that has generated items only: there is no value of this type.
#[derive(Clone, Copy, Debug)]
pub enum NoFile {}

/// Recipe with a design of type `D`, an interface to the application that its check uses, and the
/// items of a file `F` or generated ones.
///
/// Tests replace the design by one with a mistake ([`Self::with_design`]), to see the check fail.
pub struct DesignedRecipe<D: ?Sized, F = NoFile> {
    pub(crate) about: About,
    pub(crate) tables: &'static [&'static str],
    pub(crate) design: fn(&Site) -> Result<Box<D>>,
    pub(crate) application: fn(Box<D>, Opened<F>) -> Box<dyn Application>,
    pub(crate) file: Option<Arc<F>>,
}

/// What an application has been opened with.
pub(crate) struct Opened<F> {
    pub(crate) site: Site,
    pub(crate) load: Load,
    pub(crate) file: Option<Arc<F>>,
}

impl DataFile for NoFile {
    const NAMESPACE: Option<&'static str> = None;

    fn read(path: &Path) -> Result<Self> {
        bail!("{} is of no use: there are generated items only", path.display())
    }

    fn items(&self) -> u64 {
        match *self {}
    }

    fn digest(&self) -> u64 {
        match *self {}
    }
}

impl<D: ?Sized, F> DesignedRecipe<D, F> {
    /// Returns the recipe with another design.
    #[must_use]
    pub fn with_design(&self, design: fn(&Site) -> Result<Box<D>>) -> Self {
        let Self { about, tables, application, ref file, .. } = *self;
        Self { about, tables, design, application, file: file.clone() }
    }

    /// Opens the design on the tables of a namespace, and creates those that do not exist.
    ///
    /// # Errors
    /// As [`Recipe::open`].
    pub fn open_design(&self, site: &Site) -> Result<Box<D>> {
        (self.design)(site)
    }
}

impl<D: ?Sized + 'static, F: DataFile> Recipe for DesignedRecipe<D, F> {
    fn about(&self) -> &About {
        &self.about
    }

    fn default_items(&self) -> u64 {
        self.file_items().unwrap_or(self.about.default_items)
    }

    fn file_items(&self) -> Option<u64> {
        self.file.as_ref().map(|file| file.items())
    }

    fn with_data(&self, path: &Path) -> Result<Box<dyn Recipe>> {
        let Some(namespace) = F::NAMESPACE else {
            bail!(
                "{} has generated {} only, so {} is of no use; leave it out",
                self.about.name,
                self.about.items,
                path.display()
            )
        };
        let about = About { namespace, ..self.about };
        let Self { tables, design, application, .. } = *self;
        let file = Some(Arc::new(F::read(path)?));
        Ok(Box::new(Self { about, tables, design, application, file }))
    }

    fn data_digest(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.digest())
    }

    fn statements(&self) -> String {
        self.tables.concat()
    }

    fn open(&self, site: &Site, load: Load) -> Result<Box<dyn Application>> {
        let opened = Opened { site: site.clone(), load, file: self.file.clone() };
        Ok((self.application)(self.open_design(site)?, opened))
    }
}
