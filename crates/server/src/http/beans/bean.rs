//! Bean of a dashboard, and ratios among its attributes.

use super::super::json::Value;
use super::super::snapshot::MetricsSnapshot;

/// Bean: a name such as `Hadoop:service=HBase,name=Master,sub=Server`, and attributes.
pub(in super::super) struct Bean {
    pub(in super::super) name: String,
    pub(in super::super) attributes: Vec<(String, Value)>,
}

impl Bean {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), attributes: Vec::new() }
    }

    /// Returns an HBase bean, such as `RegionServer,sub=Server`.
    pub(super) fn hbase(name: &str, context: &str, snapshot: &MetricsSnapshot<'_>) -> Self {
        let bean = Self::new(&format!("Hadoop:service=HBase,name={name}"))
            .with("modelerType", name)
            .with("tag.Context", context);
        bean.with("tag.Hostname", snapshot.machine.host.as_str())
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// Adds an attribute if its value is known.
    pub(super) fn with_known(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn with_all(mut self, attributes: Vec<(String, Value)>) -> Self {
        self.attributes.extend(attributes);
        self
    }

    /// Returns the bean as JSON, with the attributes that `is_included` selects.
    pub(in super::super) fn value(&self, is_included: impl Fn(&str) -> bool) -> Value {
        let name = ("name".to_owned(), self.name.as_str().into());
        Value::Group(
            std::iter::once(name)
                .chain(self.attributes.iter().filter(|(name, _)| is_included(name)).cloned())
                .collect(),
        )
    }
}

/// Returns a fraction of a whole in percent; 0 if the whole is 0.
pub(super) fn percent(part: u64, rest: u64) -> f64 {
    share(part, rest) * 100.0
}

/// Returns a fraction of a whole, from 0 to 1; 0 if the whole is 0.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
pub(super) fn share(part: u64, rest: u64) -> f64 {
    let whole = part.saturating_add(rest);
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
