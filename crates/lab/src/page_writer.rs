//! Operations that write a page: text, tables, measurements, claims and lint findings.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use halite::rowkey::language::{Statement, TableDeclaration};
use halite::rowkey::{Dictionary, KeyQuery, KeySchema, Plan, PlanOptions, SaltGenerator, Splits};
use halite::{
    BlockingCluster, Cluster, ErrorKind, FamilyDescriptor, Row, Table, TableDescriptor, TableName,
    block_on, to_string_binary,
};
use halite_rowkey_tools::lint::{Finding, LintInput, lint, lint_declaration, lint_scan};
use halite_rowkey_tools::picture::{Panel, Picture};

use crate::page::{Element, Page, PageKind, RenderedPage, Section};
use crate::scan_spec::ScanSpec;
use crate::statement;
use crate::table::{LabTable, first_rows};

/// Namespace of the tables of all pages.
const NAMESPACE: &str = "lab";

/// Page under construction.
pub struct PageWriter {
    cluster: BlockingCluster,
    page: &'static Page,
    elements: Vec<Element>,
    tables: Vec<TableName>,
    /// Rules that lint has reported on this page.
    shown_rules: Vec<String>,
    /// Random numbers, the same in every run.
    rng: fastrand::Rng,
}

impl PageWriter {
    pub(crate) fn new(cluster: &BlockingCluster, page: &'static Page) -> anyhow::Result<Self> {
        match cluster.create_namespace(NAMESPACE, halite::Attributes::default()) {
            Err(error) if error.kind() != ErrorKind::NamespaceExists => {
                return Err(error).context(format!("namespace {NAMESPACE}"));
            }
            _ => {}
        }
        let seed = page.id.bytes().fold(0, |seed: u64, byte| seed * 256 + u64::from(byte));
        let (elements, tables, shown_rules) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self {
            cluster: cluster.clone(),
            page,
            elements,
            tables,
            shown_rules,
            rng: fastrand::Rng::with_seed(seed),
        })
    }

    /// Returns the id of the page.
    #[cfg(feature = "sql")]
    pub(crate) fn page_id(&self) -> &'static str {
        self.page.id
    }

    /// Returns the cluster on which the page runs.
    pub fn cluster(&self) -> &BlockingCluster {
        &self.cluster
    }

    /// Returns the same cluster for calls of futures.
    pub fn async_cluster(&self) -> &Arc<dyn Cluster> {
        self.cluster.cluster()
    }

    /// Returns the random number generator, with the same seed in every run of this page.
    pub fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// Begins a section.
    pub fn section(&mut self, part: Section) {
        self.elements.push(Element::Section(part));
    }

    /// Appends a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.elements.push(Element::Paragraph(text.into()));
    }

    /// Returns `true` if the page already contains a paragraph.
    pub(crate) fn has_paragraph(&self, text: &str) -> bool {
        self.elements
            .iter()
            .any(|element| matches!(element, Element::Paragraph(paragraph) if paragraph == text))
    }

    /// Verifies a claim: appends it to the page if it holds, and fails the page if it does not.
    ///
    /// # Errors
    /// Returns an error if the claim does not hold.
    pub fn assert_claim(&mut self, holds: bool, claim: impl Into<String>) -> anyhow::Result<()> {
        let claim = claim.into();
        ensure!(holds, "this does not hold: {claim}");
        self.elements.push(Element::Claim(claim));
        Ok(())
    }

    /// Appends a data table; a heading that begins with `>` marks a column of numbers.
    pub fn data_table<S: Into<String>>(
        &mut self,
        headings: &[&str],
        rows: impl IntoIterator<Item = impl IntoIterator<Item = S>>,
    ) {
        let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        let rows = rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect();
        self.elements.push(Element::DataTable { headings, rows });
    }

    /// Appends shares of a whole as bars, each with a label.
    pub fn bars(&mut self, shares: impl IntoIterator<Item = (String, f64)>) {
        self.elements.push(Element::Bars(shares.into_iter().collect()));
    }

    /// Appends a picture of writes by key and time, with a panel for each key and one scale for
    /// all.
    pub fn picture(&mut self, title: &str, panels: Vec<Panel>) {
        let (title, metric) = (title.to_owned(), "writes".to_owned());
        self.elements.push(Element::Picture(Picture { title, metric, panels }));
    }

    /// Appends measurements of this run, such as times, which are not reproducible: they are shown
    /// only in the terminal.
    pub fn measurement(&mut self, text: impl Into<String>) {
        self.elements.push(Element::Measurement(text.into()));
    }

    /// Appends an operation that this type does not provide, in shell syntax or as program code,
    /// with its reply.
    pub fn statement(&mut self, statement: impl Into<String>, answer: Vec<String>) {
        self.elements.push(Element::Statement { statement: statement.into(), answer });
    }

    /// Creates a table in the namespace of the lab, as `create` does.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn create(
        &mut self,
        name: &str,
        families: &[&str],
        splits: &[&str],
    ) -> anyhow::Result<LabTable> {
        let splits: Vec<Bytes> =
            splits.iter().map(|split| Bytes::from(halite::to_bytes_binary(split))).collect();
        self.create_with_splits(name, families, splits)
    }

    /// Like [`Self::create`], with split keys as bytes.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn create_with_splits(
        &mut self,
        name: &str,
        families: &[&str],
        splits: Vec<Bytes>,
    ) -> anyhow::Result<LabTable> {
        let words = statement::create(name, families, &splits);
        let families = families.iter().map(|&family| FamilyDescriptor::new(family.to_owned()));
        let table = self.make(name, families, splits)?;
        self.statement(words, Vec::new());
        Ok(table)
    }

    /// Creates a table of families with attributes, shown in the syntax of `create`.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn create_with_families(
        &mut self,
        name: &str,
        families: &[FamilyDescriptor],
    ) -> anyhow::Result<LabTable> {
        let table = self.make(name, families.iter().cloned(), Vec::new())?;
        self.statement(statement::create_families(name, families), Vec::new());
        Ok(table)
    }

    /// Creates a table of these families without showing it.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn make(
        &mut self,
        name: &str,
        families: impl IntoIterator<Item = FamilyDescriptor>,
        splits: Vec<Bytes>,
    ) -> anyhow::Result<LabTable> {
        let descriptor = TableDescriptor::new(self.qualified_name(name)?);
        self.make_from_descriptor(
            name,
            families.into_iter().fold(descriptor, TableDescriptor::family),
            splits,
        )
    }

    /// Shows and runs a `CREATE TABLE`, with the splits it declares.
    ///
    /// # Errors
    /// Returns an error if the statement is invalid, and the errors of the cluster.
    pub fn declare(&mut self, text: &str) -> anyhow::Result<(LabTable, KeySchema)> {
        let declaration = declaration(text)?;
        let splits = match &declaration.split {
            Some(clause) => Splits::declared(clause, &declaration.key)?.map(|splits| splits.keys),
            None => None,
        };
        self.elements.push(Element::Declaration(text.to_owned()));
        let name = declaration.descriptor.name().qualifier().to_owned();
        let descriptor = declaration.described().renamed(self.qualified_name(&name)?);
        let table = self.make_from_descriptor(&name, descriptor, splits.unwrap_or_default())?;
        Ok((table, declaration.key))
    }

    /// Returns the dictionary of a table of this page, empty.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn dictionary(
        &mut self,
        table: &LabTable,
        key: &KeySchema,
    ) -> anyhow::Result<Arc<Dictionary>> {
        let of = table.inner().descriptor()?.name().clone();
        let name = Dictionary::table_for(&of)?;
        self.drop_table(&name)?;
        self.tables.push(name);
        self.open_dictionary(table, key)
    }

    /// Returns the dictionary of a table of this page as another program reads it.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn open_dictionary(
        &self,
        table: &LabTable,
        key: &KeySchema,
    ) -> anyhow::Result<Arc<Dictionary>> {
        let cluster = self.cluster.cluster();
        Ok(Arc::new(block_on(Dictionary::open(
            &**cluster,
            table.inner().descriptor()?.name(),
            key,
        ))?))
    }

    /// Shows the declaration of a key.
    ///
    /// # Errors
    /// Returns an error if the declaration is invalid.
    pub fn key(&mut self, text: &str) -> anyhow::Result<KeySchema> {
        let key = text.parse::<KeySchema>().map_err(|error| anyhow::anyhow!(error.render(text)))?;
        self.elements.push(Element::Declaration(text.to_owned()));
        Ok(key)
    }

    /// Shows a declaration without running it.
    pub fn declaration(&mut self, text: impl Into<String>) {
        self.elements.push(Element::Declaration(text.into()));
    }

    /// Shows a mistake in a declaration, with the message of the parser.
    ///
    /// # Errors
    /// Returns an error if the declaration is valid.
    pub fn expect_error(&mut self, text: &str) -> anyhow::Result<()> {
        let error = match text.parse::<KeySchema>() {
            Ok(_) => bail!("this declaration is not refused: {text}"),
            Err(error) => error.render(text),
        };
        self.statement(text, error.lines().map(str::to_owned).collect());
        Ok(())
    }

    /// Returns the key of values given as `FIELD=VALUE`, shown as by `halite key encode`.
    ///
    /// # Errors
    /// Returns an error if the values do not fit the key.
    pub fn encode(&mut self, key: &KeySchema, given: &[&str]) -> anyhow::Result<Bytes> {
        let values = key.parse_values(given.iter().copied()).map_err(anyhow::Error::msg)?;
        let bytes = Bytes::copy_from_slice(&key.encode_with(&values, &SaltGenerator::default())?);
        self.statement(
            format!("halite key encode {}", given.join(" ")),
            vec![format!("{}  {} bytes", to_string_binary(&bytes), bytes.len())],
        );
        Ok(bytes)
    }

    /// Shows the fields of a key, as `halite key decode` does.
    ///
    /// # Errors
    /// Returns an error if the key does not match the declaration.
    pub fn decode(&mut self, key: &KeySchema, bytes: &[u8]) -> anyhow::Result<String> {
        let shown = key.format_values(&key.decode(bytes)?);
        self.statement(
            format!("halite key decode {}", statement::quoted(bytes)),
            vec![shown.clone()],
        );
        Ok(shown)
    }

    /// Shows the ranges that a query reads, as `halite key explain` does. Conditions are those of
    /// that command.
    ///
    /// # Errors
    /// Returns an error if a condition is invalid or the query cannot be planned.
    pub fn explain(
        &mut self,
        key: &KeySchema,
        conditions: &[&str],
        limit: Option<usize>,
    ) -> anyhow::Result<Arc<Plan>> {
        let plan = self.plan(key, conditions, limit)?;
        self.statement(
            key_command("explain", conditions, limit),
            plan.explain(&[]).lines().map(str::to_owned).collect(),
        );
        Ok(plan)
    }

    /// Returns the rows of a query, merged across salts, shown as by `halite key scan`. Conditions
    /// are those of that command.
    ///
    /// # Errors
    /// Returns the errors of [`Self::explain`] and of the table.
    pub fn query(
        &mut self,
        table: &LabTable,
        key: &KeySchema,
        conditions: &[&str],
        limit: Option<usize>,
    ) -> anyhow::Result<Vec<Row>> {
        let rows = self.query_rows(table, key, conditions, limit)?;
        let shown = |row: &Row| {
            vec![key.decode(row.key()).map_or_else(
                |_| to_string_binary(row.key()),
                |decoded| key.format_values(&decoded),
            )]
        };
        self.statement(
            key_command(&format!("scan {}", table.name), conditions, limit),
            first_rows(&rows, shown),
        );
        Ok(rows)
    }

    /// Like [`Self::query`], without showing it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::query`].
    pub fn query_rows(
        &self,
        table: &LabTable,
        key: &KeySchema,
        conditions: &[&str],
        limit: Option<usize>,
    ) -> anyhow::Result<Vec<Row>> {
        self.execute_plan(self.dyn_table(table)?, &self.plan(key, conditions, limit)?)
    }

    /// Returns a table of the `Cluster` API, for functions that take a `dyn Table`.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn dyn_table(&self, table: &LabTable) -> anyhow::Result<Arc<dyn Table>> {
        Ok(self.cluster.cluster().table(table.inner().descriptor()?.name()))
    }

    /// Shows that lint reports the mistake in `wrong` by `rule`, and does not report `right`. Both
    /// are `CREATE TABLE` statements, or keys.
    ///
    /// # Errors
    /// Returns an error if lint does otherwise, or if either declaration is invalid.
    pub fn expect_finding(&mut self, rule: &str, wrong: &str, right: &str) -> anyhow::Result<()> {
        self.compare_findings(rule, &findings(wrong)?, &findings(right)?)
    }

    /// Like [`Self::expect_finding`], for rules that examine more than declarations: samples,
    /// splits, loads.
    ///
    /// # Errors
    /// Returns the errors of [`Self::expect_finding`].
    pub fn expect_finding_in(
        &mut self,
        rule: &str,
        wrong: &LintInput<'_>,
        right: &LintInput<'_>,
    ) -> anyhow::Result<()> {
        self.compare_findings(rule, &lint(wrong), &lint(right))
    }

    /// Like [`Self::expect_finding`], for the bounds of scans.
    ///
    /// # Errors
    /// Returns the errors of [`Self::expect_finding`].
    pub fn expect_finding_in_scan(
        &mut self,
        rule: &str,
        key: &KeySchema,
        wrong: &ScanSpec,
        right: &ScanSpec,
    ) -> anyhow::Result<()> {
        self.compare_findings(
            rule,
            &lint_scan(Some(key), &wrong.scan()),
            &lint_scan(Some(key), &right.scan()),
        )
    }

    /// Verifies that the findings of the mistake contain the rule, and that those of the correct
    /// way do not.
    fn compare_findings(
        &mut self,
        rule: &str,
        of_wrong: &[Finding],
        of_right: &[Finding],
    ) -> anyhow::Result<()> {
        let by = |found: &&Finding| found.rule.id == rule;
        let finding = of_wrong
            .iter()
            .find(by)
            .with_context(|| format!("lint does not say {rule} of the mistake"))?;
        self.add_finding(finding);
        match of_right.iter().find(by) {
            None => Ok(()),
            Some(finding) => {
                bail!("lint says {rule} of a right key or query: {}", finding.message)
            }
        }
    }

    fn add_finding(&mut self, finding: &Finding) {
        if !self.elements.contains(&Element::Section(Section::Findings)) {
            self.section(Section::Findings);
        }
        self.shown_rules.push(finding.rule.id.to_owned());
        let mut text =
            format!("{} {}: {}", finding.severity.name(), finding.rule.id, finding.message);
        for (name, more) in [("seen", &finding.evidence), ("fix", &finding.fix)] {
            if let Some(more) = more {
                // Writing to a string does not fail.
                let _ = write!(text, "\n{name}: {more}");
            }
        }
        self.elements.push(Element::Finding { rule: finding.rule.id, text });
    }

    fn qualified_name(&self, name: &str) -> anyhow::Result<TableName> {
        Ok(TableName::new(NAMESPACE, format!("{}_{name}", self.page.id.to_lowercase()))?)
    }

    fn make_from_descriptor(
        &mut self,
        name: &str,
        descriptor: TableDescriptor,
        splits: Vec<Bytes>,
    ) -> anyhow::Result<LabTable> {
        let full = descriptor.name().clone();
        self.drop_table(&full)?;
        let keys: Vec<&[u8]> = splits.iter().map(|split| &split[..]).collect();
        self.cluster.create_table(descriptor, &keys)?;
        let table = self.cluster.table(&full)?;
        self.tables.push(full);
        Ok(LabTable { name: name.to_owned(), table, splits })
    }

    /// Drops a table, if it exists.
    fn drop_table(&self, name: &TableName) -> anyhow::Result<()> {
        match self.cluster.disable_table(name) {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return Ok(()),
            Err(error) if error.kind() != ErrorKind::TableDisabled => return Err(error.into()),
            _ => {}
        }
        Ok(self.cluster.drop_table(name)?)
    }

    /// Drops the tables of the page.
    pub(crate) fn clear(&mut self) -> anyhow::Result<()> {
        for table in std::mem::take(&mut self.tables) {
            self.drop_table(&table).with_context(|| {
                format!("table {table}, which page {} does not drop", self.page.id)
            })?;
        }
        Ok(())
    }

    /// Returns the page if it has all its sections and demonstrated all its rules. `find_page` looks
    /// up the pages that it refers to.
    pub(crate) fn finish(
        self,
        find_page: impl Fn(&str) -> Option<&'static Page>,
    ) -> anyhow::Result<RenderedPage> {
        let parts: Vec<_> = self
            .elements
            .iter()
            .filter_map(
                |element| if let Element::Section(part) = element { Some(*part) } else { None },
            )
            .collect();
        ensure!(
            parts.windows(2).all(|pair| pair[0] < pair[1]),
            "its parts are not in their order: {parts:?}"
        );
        if let Some(missing) = self.page.kind().sections().iter().find(|part| !parts.contains(part))
        {
            bail!("it has no part {missing:?}");
        }
        if let Some(silent) =
            self.page.rules.iter().find(|rule| !self.shown_rules.iter().any(|shown| shown == *rule))
        {
            bail!("it does not show that lint says {silent}");
        }
        let claims =
            self.elements.iter().filter(|element| matches!(element, Element::Claim(_))).count();
        ensure!(claims > 0, "it claims nothing, so nothing of it is tested");
        ensure!(
            self.page.kind() != PageKind::Mistake || claims > 1,
            "a mistake claims what goes wrong, and that it is fixed"
        );
        let title = |id: &&'static str| {
            find_page(id)
                .map(|page| (page.id, page.title))
                .with_context(|| format!("it names page {id}, which there is not"))
        };
        let see = self.page.see.iter().map(title).collect::<anyhow::Result<_>>()?;
        Ok(RenderedPage { id: self.page.id, title: self.page.title, elements: self.elements, see })
    }
}

/// Returns the plan of conditions in the syntax of `halite key explain`, with further planner
/// options.
pub(crate) fn plan_with(
    key: &KeySchema,
    conditions: &[&str],
    limit: Option<usize>,
    options: &PlanOptions,
) -> anyhow::Result<Arc<Plan>> {
    let query = KeyQuery { limit, ..KeyQuery::all() };
    let query = conditions
        .iter()
        .try_fold(query, |query, text| query.with_condition(key, text))
        .map_err(anyhow::Error::msg)?;
    Ok(Arc::new(Plan::new(&Arc::new(key.clone()), &query, options)?))
}

/// Returns `halite key explain device_id=s1 --limit 3`.
pub(crate) fn key_command(subcommand: &str, conditions: &[&str], limit: Option<usize>) -> String {
    let words = conditions
        .iter()
        .map(|&condition| condition.to_owned())
        .chain(limit.map(|rows| format!("--limit {rows}")));
    std::iter::once(format!("halite key {subcommand}")).chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns the only `CREATE TABLE` of a text.
fn declaration(text: &str) -> anyhow::Result<TableDeclaration> {
    match text.parse() {
        Ok(Statement::CreateTable(declaration)) => Ok(declaration),
        Ok(_) => bail!("not a CREATE TABLE statement: {text}"),
        Err(error) => bail!("{}", error.render(text)),
    }
}

/// Returns lint's findings for a `CREATE TABLE`, or for a key.
fn findings(text: &str) -> anyhow::Result<Vec<Finding>> {
    if text.trim_start().to_ascii_uppercase().starts_with("CREATE") {
        return Ok(lint_declaration(&declaration(text)?, &LintInput::default()));
    }
    let key = text.parse::<KeySchema>().map_err(|error| anyhow::anyhow!(error.render(text)))?;
    Ok(lint(&LintInput { key: Some(&key), ..LintInput::default() }))
}
