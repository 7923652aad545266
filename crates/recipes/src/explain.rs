//! Queries of a recipe with their plans.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use halite::block_on;
use halite::rowkey::{Dictionary, KeyQuery, KeySchema, Plan, PlanOptions};

use crate::recipe::{Application, Site};

/// Query of a recipe, in the syntax of `halite key scan`.
#[derive(Clone, Debug)]
pub struct NamedQuery {
    /// Name.
    pub name: &'static str,
    /// Question that it answers, without a question mark.
    pub question: String,
    /// Table, without the namespace.
    pub table: &'static str,
    /// Conditions, as `receiver=user_1`.
    pub conditions: Vec<String>,
    /// Maximum rows.
    pub limit: Option<usize>,
}

impl NamedQuery {
    /// Creates a query of all rows that match.
    pub(crate) fn new(
        name: &'static str,
        question: impl Into<String>,
        table: &'static str,
        conditions: impl IntoIterator<Item = String>,
    ) -> Self {
        let (question, conditions) = (question.into(), conditions.into_iter().collect());
        Self { name, question, table, conditions, limit: None }
    }

    /// Returns the query of the first rows.
    pub(crate) fn limit(self, rows: usize) -> Self {
        Self { limit: Some(rows), ..self }
    }

    /// Returns the plan of the query on the key of its table in a namespace.
    ///
    /// # Errors
    /// A table that declares no key, conditions that are invalid for it, and errors of the cluster.
    pub fn plan(&self, site: &Site) -> Result<Plan> {
        let table = format!("{}:{}", site.namespace, self.table);
        let key = declared_key(site, &table)?;
        let mut options = PlanOptions::default();
        if Dictionary::is_needed(&key) {
            let cluster = &**site.cluster.cluster();
            let name = table.parse()?;
            let codes = block_on(Dictionary::open_existing(cluster, &name, &key))?;
            options.resolver = Some(Arc::new(codes));
        }
        let mut query = KeyQuery { limit: self.limit, ..KeyQuery::all() };
        for condition in &self.conditions {
            query = query.with_condition(&key, condition).map_err(|error| anyhow!(error))?;
        }
        Ok(Plan::new(&Arc::new(key), &query, &options)?)
    }

    /// Returns the command that runs the query.
    fn command(&self, namespace: &str) -> String {
        let quoted = |text: &String| {
            if text.chars().all(|c| c.is_ascii_alphanumeric() || "=_.:-".contains(c)) {
                text.clone()
            } else {
                format!("\"{text}\"")
            }
        };
        let conditions: Vec<String> = self.conditions.iter().map(quoted).collect();
        let limit = self.limit.map_or_else(String::new, |limit| format!(" --limit {limit}"));
        format!("halite key scan {namespace}:{} {}{limit}", self.table, conditions.join(" "))
    }
}

/// Prints each query of a recipe and its plan, as `halite key explain` does.
///
/// # Errors
/// Errors of the cluster and of the output.
pub fn explain(application: &dyn Application, site: &Site, out: &mut dyn Write) -> Result<()> {
    for query in application.queries() {
        let table = format!("{}:{}", site.namespace, query.table);
        let plan = query.plan(site).with_context(|| format!("query {}", query.name))?;
        writeln!(out, "{}: {}", query.name, query.question)?;
        writeln!(out, "{}", query.command(&site.namespace))?;
        writeln!(out, "{}", plan.explain(&site.cluster.regions(&table)?))?;
    }
    Ok(())
}

/// Returns the declared key of a table.
fn declared_key(site: &Site, table: &str) -> Result<KeySchema> {
    let descriptor = site.cluster.descriptor(table)?;
    let key = KeySchema::from_descriptor(&descriptor)
        .with_context(|| format!("table {table} declares no row key; drop it and run init"))?;
    key.map_err(|error| anyhow!("table {table}: {error}"))
}
