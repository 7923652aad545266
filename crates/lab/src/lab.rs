//! What a page writes itself with: text, tables, figures, claims and what lint says.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use halite::rowkey::language::{Statement, TableDeclaration};
use halite::rowkey::lint::{Finding, Subject, lint, lint_declaration, lint_scan};
use halite::rowkey::{Dictionary, KeyQuery, KeySchema, Plan, PlanOptions, SaltDrawer, Splits};
use halite::{Blocking, ErrorKind, FamilyDescriptor, Row, Table, TableDescriptor, TableName, block_on, print_bytes};

use crate::page::{Element, Kind, Page, Part, Written};
use crate::read::Read;
use crate::statement;
use crate::table::{LabTable, first_rows};

/// Where the tables of all pages lie.
const NAMESPACE: &str = "lab";

/// A page as it is being written.
pub struct Lab {
    cluster: Blocking,
    page: &'static Page,
    elements: Vec<Element>,
    tables: Vec<TableName>,
    /// Rules that lint was seen to say.
    said: Vec<String>,
    /// The same random numbers in every run.
    chance: fastrand::Rng,
}

impl Lab {
    pub(crate) fn new(cluster: &Blocking, page: &'static Page) -> anyhow::Result<Self> {
        let admin = cluster.cluster().admin();
        match block_on(admin.create_namespace(NAMESPACE, halite::Attributes::default())) {
            Err(error) if error.kind() != ErrorKind::NamespaceExists => return Err(error).context(format!("namespace {NAMESPACE}")),
            _ => {}
        }
        let seed = page.id.bytes().fold(0, |seed: u64, byte| seed * 256 + u64::from(byte));
        let (elements, tables, said) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { cluster: cluster.clone(), page, elements, tables, said, chance: fastrand::Rng::with_seed(seed) })
    }

    /// The cluster the page runs on.
    pub fn cluster(&self) -> &Blocking {
        &self.cluster
    }

    /// Random numbers, the same in every run of this page.
    pub fn chance(&mut self) -> &mut fastrand::Rng {
        &mut self.chance
    }

    /// Begins a part.
    pub fn part(&mut self, part: Part) {
        self.elements.push(Element::Part(part));
    }

    /// A paragraph.
    pub fn say(&mut self, text: impl Into<String>) {
        self.elements.push(Element::Text(text.into()));
    }

    /// Whether a paragraph stands on the page already.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.elements.iter().any(|element| matches!(element, Element::Text(said) if said == text))
    }

    /// Something that has to hold: the page fails if it does not, and says it if it does.
    ///
    /// # Errors
    /// It does not hold.
    pub fn claim(&mut self, holds: bool, claim: impl Into<String>) -> anyhow::Result<()> {
        let claim = claim.into();
        ensure!(holds, "this does not hold: {claim}");
        self.elements.push(Element::Claim(claim));
        Ok(())
    }

    /// A table of figures; a heading that begins with `>` is of a column of numbers.
    pub fn figures<S: Into<String>>(&mut self, headings: &[&str], rows: impl IntoIterator<Item = impl IntoIterator<Item = S>>) {
        let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        let rows = rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect();
        self.elements.push(Element::Figures { headings, rows });
    }

    /// Shares of a whole as bars, each with its label.
    pub fn bars(&mut self, shares: impl IntoIterator<Item = (String, f64)>) {
        self.elements.push(Element::Bars(shares.into_iter().collect()));
    }

    /// Figures of this run, such as times, which no other run will repeat: they are shown at the terminal only.
    pub fn measured(&mut self, text: impl Into<String>) {
        self.elements.push(Element::Measured(text.into()));
    }

    /// Something done in other ways than the operations of this type, in the words of the shell or of a program, with its answer.
    pub fn done(&mut self, statement: impl Into<String>, answer: Vec<String>) {
        self.elements.push(Element::Done { statement: statement.into(), answer });
    }

    /// Makes a table in the namespace of the lab, as `create` does.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn create(&mut self, name: &str, families: &[&str], splits: &[&str]) -> anyhow::Result<LabTable> {
        let splits: Vec<Bytes> = splits.iter().map(|split| Bytes::from(halite::parse_bytes(split))).collect();
        self.create_with(name, families, splits)
    }

    /// As [`Self::create`], with borders that are bytes.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn create_with(&mut self, name: &str, families: &[&str], splits: Vec<Bytes>) -> anyhow::Result<LabTable> {
        let words = statement::create(name, families, &splits);
        let families = families.iter().map(|&family| FamilyDescriptor::new(family.to_owned()));
        let table = self.make(name, families, splits)?;
        self.done(words, Vec::new());
        Ok(table)
    }

    /// Makes a table of families with attributes, shown as `create` has them.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn create_of(&mut self, name: &str, families: &[FamilyDescriptor]) -> anyhow::Result<LabTable> {
        let table = self.make(name, families.iter().cloned(), Vec::new())?;
        self.done(statement::create_families(name, families), Vec::new());
        Ok(table)
    }

    /// Makes a table of these families without showing it.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn make(&mut self, name: &str, families: impl IntoIterator<Item = FamilyDescriptor>, splits: Vec<Bytes>) -> anyhow::Result<LabTable> {
        let descriptor = TableDescriptor::new(self.name_of(name)?);
        self.make_of(name, families.into_iter().fold(descriptor, TableDescriptor::family), splits)
    }

    /// Shows a `CREATE TABLE` and does it, with the splits it declares.
    ///
    /// # Errors
    /// A mistake in it, and as the cluster's.
    pub fn declare(&mut self, text: &str) -> anyhow::Result<(LabTable, KeySchema)> {
        let declaration = declaration(text)?;
        let splits = match &declaration.split {
            Some(clause) => Splits::declared(clause, &declaration.key)?.map(|splits| splits.keys),
            None => None,
        };
        self.elements.push(Element::Declaration(text.to_owned()));
        let name = declaration.descriptor.name().qualifier().to_owned();
        let descriptor = declaration.described().renamed(self.name_of(&name)?);
        let table = self.make_of(&name, descriptor, splits.unwrap_or_default())?;
        Ok((table, declaration.key))
    }

    /// The dictionary of a table of this page, empty.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn dictionary(&mut self, table: &LabTable, key: &KeySchema) -> anyhow::Result<Arc<Dictionary>> {
        let of = table.calls().descriptor()?.name().clone();
        let name = Dictionary::table_of(&of)?;
        self.drop_table(&name)?;
        self.tables.push(name);
        self.dictionary_of(table, key)
    }

    /// The dictionary of a table of this page as another program finds it.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn dictionary_of(&self, table: &LabTable, key: &KeySchema) -> anyhow::Result<Arc<Dictionary>> {
        let cluster = self.cluster.cluster();
        Ok(Arc::new(block_on(Dictionary::open(&**cluster, table.calls().descriptor()?.name(), key))?))
    }

    /// Shows the declaration of a key.
    ///
    /// # Errors
    /// A mistake in it.
    pub fn key(&mut self, text: &str) -> anyhow::Result<KeySchema> {
        let key = text.parse::<KeySchema>().map_err(|error| anyhow::anyhow!(error.render(text)))?;
        self.elements.push(Element::Declaration(text.to_owned()));
        Ok(key)
    }

    /// Shows a declaration that is only looked at.
    pub fn declaration(&mut self, text: impl Into<String>) {
        self.elements.push(Element::Declaration(text.into()));
    }

    /// Shows a mistake in a declaration, as the parser says it.
    ///
    /// # Errors
    /// There is none.
    pub fn refused(&mut self, text: &str) -> anyhow::Result<()> {
        let error = match text.parse::<KeySchema>() {
            Ok(_) => bail!("this declaration is not refused: {text}"),
            Err(error) => error.render(text),
        };
        self.done(text, error.lines().map(str::to_owned).collect());
        Ok(())
    }

    /// The key of values given as `FIELD=VALUE`, as `halite key encode` shows it.
    ///
    /// # Errors
    /// Values that do not fit.
    pub fn encode(&mut self, key: &KeySchema, given: &[&str]) -> anyhow::Result<Bytes> {
        let values = key.parse_values(given.iter().copied()).map_err(anyhow::Error::msg)?;
        let bytes = Bytes::copy_from_slice(&key.encode_with(&values, &SaltDrawer::default())?);
        self.done(format!("halite key encode {}", given.join(" ")), vec![format!("{}  {} bytes", print_bytes(&bytes), bytes.len())]);
        Ok(bytes)
    }

    /// What a key says, as `halite key decode` shows it.
    ///
    /// # Errors
    /// It is no such key.
    pub fn decode(&mut self, key: &KeySchema, bytes: &[u8]) -> anyhow::Result<String> {
        let shown = key.show(&key.decode(bytes)?);
        self.done(format!("halite key decode {}", statement::quoted(bytes)), vec![shown.clone()]);
        Ok(shown)
    }

    /// Which ranges a question reads, as `halite key explain` shows it. Conditions are those of that command.
    ///
    /// # Errors
    /// Conditions that are none; a question that cannot be planned.
    pub fn explain(&mut self, key: &KeySchema, conditions: &[&str], limit: Option<usize>) -> anyhow::Result<Arc<Plan>> {
        let plan = self.plan(key, conditions, limit)?;
        self.done(question("explain", conditions, limit), plan.explain(&[]).lines().map(str::to_owned).collect());
        Ok(plan)
    }

    /// The rows a question asks for, merged across salts, as `halite key scan` shows them. Conditions are those of that command.
    ///
    /// # Errors
    /// As [`Self::explain`], and as the table's.
    pub fn ask(&mut self, table: &LabTable, key: &KeySchema, conditions: &[&str], limit: Option<usize>) -> anyhow::Result<Vec<Row>> {
        let rows = self.answers(table, key, conditions, limit)?;
        let shown = |row: &Row| vec![key.decode(row.key()).map_or_else(|_| print_bytes(row.key()), |decoded| key.show(&decoded))];
        self.done(question(&format!("scan {}", table.name), conditions, limit), first_rows(&rows, shown));
        Ok(rows)
    }

    /// As [`Self::ask`], without showing it.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn answers(&self, table: &LabTable, key: &KeySchema, conditions: &[&str], limit: Option<usize>) -> anyhow::Result<Vec<Row>> {
        self.carry_out(self.seam(table)?, &self.plan(key, conditions, limit)?)
    }

    /// A table as the seam has it, for what takes a `dyn Table`.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn seam(&self, table: &LabTable) -> anyhow::Result<Arc<dyn Table>> {
        Ok(self.cluster.cluster().table(table.calls().descriptor()?.name()))
    }

    /// Shows that lint catches the mistake in `wrong` by `rule`, and that it is silent about `right`. Both are `CREATE TABLE` statements, or keys.
    ///
    /// # Errors
    /// It does not; a mistake in either.
    pub fn caught(&mut self, rule: &str, wrong: &str, right: &str) -> anyhow::Result<()> {
        self.caught_by(rule, &findings(wrong)?, &findings(right)?)
    }

    /// As [`Self::caught`], for rules that look at more than declarations: at samples, splits, loads.
    ///
    /// # Errors
    /// As [`Self::caught`].
    pub fn caught_in(&mut self, rule: &str, wrong: &Subject<'_>, right: &Subject<'_>) -> anyhow::Result<()> {
        self.caught_by(rule, &lint(wrong), &lint(right))
    }

    /// As [`Self::caught`], for the bounds of scans.
    ///
    /// # Errors
    /// As [`Self::caught`].
    pub fn caught_scan(&mut self, rule: &str, key: &KeySchema, wrong: &Read, right: &Read) -> anyhow::Result<()> {
        self.caught_by(rule, &lint_scan(Some(key), &wrong.scan()), &lint_scan(Some(key), &right.scan()))
    }

    /// What was found of the mistake has the rule in it, and what was found of the right way has not.
    fn caught_by(&mut self, rule: &str, of_wrong: &[Finding], of_right: &[Finding]) -> anyhow::Result<()> {
        let by = |found: &&Finding| found.rule.id == rule;
        let finding = of_wrong.iter().find(by).with_context(|| format!("lint does not say {rule} of the mistake"))?;
        self.finding(finding);
        match of_right.iter().find(by) {
            None => Ok(()),
            Some(finding) => bail!("lint says {rule} of what is said to be right: {}", finding.message),
        }
    }

    fn finding(&mut self, finding: &Finding) {
        if !self.elements.contains(&Element::Part(Part::Caught)) {
            self.part(Part::Caught);
        }
        self.said.push(finding.rule.id.to_owned());
        let mut text = format!("{} {}: {}", finding.severity.name(), finding.rule.id, finding.message);
        for (name, more) in [("seen", &finding.evidence), ("mend", &finding.fix)] {
            if let Some(more) = more {
                // Writing to a string does not fail.
                let _ = write!(text, "\n{name}: {more}");
            }
        }
        self.elements.push(Element::Finding { rule: finding.rule.id, text });
    }

    fn name_of(&self, name: &str) -> anyhow::Result<TableName> {
        Ok(TableName::new(NAMESPACE, format!("{}_{name}", self.page.id.to_lowercase()))?)
    }

    fn make_of(&mut self, name: &str, descriptor: TableDescriptor, splits: Vec<Bytes>) -> anyhow::Result<LabTable> {
        let full = descriptor.name().clone();
        self.drop_table(&full)?;
        block_on(self.cluster.cluster().admin().create_table(descriptor, splits.clone()))?;
        let table = self.cluster.table(&full.to_string())?;
        self.tables.push(full);
        Ok(LabTable { name: name.to_owned(), table, splits })
    }

    /// Takes a table away, if it is there.
    fn drop_table(&self, name: &TableName) -> anyhow::Result<()> {
        let admin = self.cluster.cluster().admin();
        match block_on(admin.disable_table(name)) {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return Ok(()),
            Err(error) if error.kind() != ErrorKind::TableDisabled => return Err(error.into()),
            _ => {}
        }
        Ok(block_on(admin.drop_table(name))?)
    }

    /// Takes the tables of the page away.
    pub(crate) fn clear(&mut self) -> anyhow::Result<()> {
        for table in std::mem::take(&mut self.tables) {
            self.drop_table(&table).with_context(|| format!("table {table}, which page {} leaves behind", self.page.id))?;
        }
        Ok(())
    }

    /// The page, if it has all its parts and showed all its rules.
    pub(crate) fn finish(self) -> anyhow::Result<Written> {
        let parts: Vec<_> = self.elements.iter().filter_map(|element| if let Element::Part(part) = element { Some(*part) } else { None }).collect();
        ensure!(parts.windows(2).all(|pair| pair[0] < pair[1]), "its parts are not in their order: {parts:?}");
        if let Some(missing) = self.page.kind().parts().iter().find(|part| !parts.contains(part)) {
            bail!("it has no part {missing:?}");
        }
        if let Some(silent) = self.page.rules.iter().find(|rule| !self.said.iter().any(|said| said == *rule)) {
            bail!("it does not show that lint says {silent}");
        }
        let claims = self.elements.iter().filter(|element| matches!(element, Element::Claim(_))).count();
        ensure!(claims > 0, "it claims nothing, so nothing of it is tested");
        ensure!(self.page.kind() != Kind::Mistake || claims > 1, "a mistake claims what goes wrong, and that it is mended");
        let title = |id: &&'static str| {
            crate::find_page(id).map(|page| (page.id, page.title)).with_context(|| format!("it names page {id}, which there is not"))
        };
        let see = self.page.see.iter().map(title).collect::<anyhow::Result<_>>()?;
        Ok(Written { id: self.page.id, title: self.page.title, elements: self.elements, see })
    }
}

/// The plan of conditions as `halite key explain` takes them, and of what the planner knows besides.
pub(crate) fn plan_with(key: &KeySchema, conditions: &[&str], limit: Option<usize>, options: &PlanOptions) -> anyhow::Result<Arc<Plan>> {
    let query = KeyQuery { limit, ..KeyQuery::all() };
    let query = conditions.iter().try_fold(query, |query, text| query.with_condition(key, text)).map_err(anyhow::Error::msg)?;
    Ok(Arc::new(Plan::new(&Arc::new(key.clone()), &query, options)?))
}

/// `halite key explain device_id=s1 --limit 3`.
pub(crate) fn question(what: &str, conditions: &[&str], limit: Option<usize>) -> String {
    let words = conditions.iter().map(|&condition| condition.to_owned()).chain(limit.map(|rows| format!("--limit {rows}")));
    std::iter::once(format!("halite key {what}")).chain(words).collect::<Vec<_>>().join(" ")
}

/// The one `CREATE TABLE` of a text.
fn declaration(text: &str) -> anyhow::Result<TableDeclaration> {
    match text.parse() {
        Ok(Statement::CreateTable(declaration)) => Ok(declaration),
        Ok(_) => bail!("this is no CREATE TABLE: {text}"),
        Err(error) => bail!("{}", error.render(text)),
    }
}

/// What lint says of a `CREATE TABLE`, or of a key.
fn findings(text: &str) -> anyhow::Result<Vec<Finding>> {
    if text.trim_start().to_ascii_uppercase().starts_with("CREATE") {
        return Ok(lint_declaration(&declaration(text)?, &Subject::default()));
    }
    let key = text.parse::<KeySchema>().map_err(|error| anyhow::anyhow!(error.render(text)))?;
    Ok(lint(&Subject { key: Some(&key), ..Subject::default() }))
}
