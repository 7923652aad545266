//! HBase's beans under their own names, with the attributes that Halite has values for.
//!
//! Names and order were read from `/jmx` of HBase 2.6.4. Attributes that Halite does not count are
//! omitted: a dashboard then shows a gap instead of a false 0.

mod jvm;
mod master;
mod region_server;
mod regions;

use super::json::Value;
use super::snapshot::MetricsSnapshot;

/// Bean: a name such as `Hadoop:service=HBase,name=Master,sub=Server`, and attributes.
pub(super) struct Bean {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, Value)>,
}

impl Bean {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), attributes: Vec::new() }
    }

    /// Returns an HBase bean, such as `RegionServer,sub=Server`.
    fn hbase(name: &str, context: &str, figures: &MetricsSnapshot<'_>) -> Self {
        let bean = Self::new(&format!("Hadoop:service=HBase,name={name}"))
            .with("modelerType", name)
            .with("tag.Context", context);
        bean.with("tag.Hostname", figures.machine.host.as_str())
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// Adds an attribute if its value is known.
    fn with_known(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn with_all(mut self, attributes: Vec<(String, Value)>) -> Self {
        self.attributes.extend(attributes);
        self
    }

    /// Returns the bean as JSON, with the attributes that `wanted` selects.
    pub(super) fn value(&self, wanted: impl Fn(&str) -> bool) -> Value {
        let name = ("name".to_owned(), self.name.as_str().into());
        Value::Group(
            std::iter::once(name)
                .chain(self.attributes.iter().filter(|(name, _)| wanted(name)).cloned())
                .collect(),
        )
    }
}

/// Returns all beans.
pub(super) fn all(figures: &MetricsSnapshot<'_>) -> Vec<Bean> {
    let mut beans = vec![
        region_server::server(figures),
        region_server::ipc(figures),
        region_server::wal(figures),
        regions::regions(figures),
        regions::tables(figures),
        master::server(figures),
        master::assignment_manager(figures),
        master::ipc(figures),
    ];
    beans.extend(jvm::all(figures));
    beans
}

/// Returns a fraction of a whole in percent; 0 if the whole is 0.
fn percent(part: u64, rest: u64) -> f64 {
    share(part, rest) * 100.0
}

/// Returns a fraction of a whole, from 0 to 1; 0 if the whole is 0.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
fn share(part: u64, rest: u64) -> f64 {
    let whole = part.saturating_add(rest);
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
