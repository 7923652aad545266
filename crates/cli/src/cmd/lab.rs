//! `halite lab`: executes the pages about row-key mistakes and techniques.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context as _, anyhow, bail};
use halite::BlockingCluster;
use halite::suggest::{closest_match, did_you_mean};
use halite_lab::{Page, RenderedPage, find_page, pages, render, run_page};

use crate::backend::Backend;

/// Run the row-key lab: mistakes with their corrections, and techniques
///
/// Each page writes rows, reads them and verifies its claims. Without a page, all pages are listed.
/// Without --data or --connect, a temporary store is used. On another store or a cluster the tables
/// are in the namespace `lab` and are dropped at the end.
#[derive(clap::Args)]
pub(crate) struct LabArgs {
    /// Page ids, such as E07 or K13; `all` selects every page that this program has been built for
    #[arg(value_name = "PAGE")]
    pages: Vec<String>,
    /// Directory of the store to use
    #[arg(long, value_name = "DIR", conflicts_with = "connect")]
    data: Option<String>,
    /// HBase cluster or Halite server to use: zk://HOST:PORT,...[/ZNODE],
    /// rpc://HOST:PORT,... or site:HBASE-SITE.XML
    #[arg(long, value_name = "URI")]
    connect: Option<String>,
    /// Number of pages that run concurrently; more than 1 helps on a cluster
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Write the pages and an index as Markdown files, and pictures as SVG files, into this
    /// directory instead
    #[arg(long, value_name = "DIR")]
    markdown: Option<PathBuf>,
}

impl LabArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut out = std::io::stdout().lock();
        if self.pages.is_empty() {
            write!(out, "{}", render::list(pages()))?;
            writeln!(out, "Read one with: halite lab E01")?;
            return Ok(ExitCode::SUCCESS);
        }
        let selected = select_pages(&self.pages)?;
        let scratch = tempfile::tempdir().context("temporary directory")?;
        let place = match self.connect.as_ref().or(self.data.as_ref()) {
            Some(text) => Backend::open(text)?,
            None => Backend::open(&scratch.path().to_string_lossy())?,
        };
        let count = selected.len();
        let mut failed = Vec::new();
        for outcome in run_all(&place, &selected, self.jobs.into()) {
            match outcome {
                Ok(written) => self.write_page(&mut out, &written)?,
                Err(error) => failed.push(format!("{error:#}")),
            }
        }
        if count > 1 {
            writeln!(out, "{count} pages ran; in {} of them something did not hold", failed.len())?;
        }
        if let Some(folder) = &self.markdown {
            write_file(&folder.join("README.md"), &render::index(pages()))?;
        }
        place.close()?;
        if !failed.is_empty() {
            bail!("{}", failed.join("\n"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write_page(&self, out: &mut impl std::io::Write, page: &RenderedPage) -> anyhow::Result<()> {
        match &self.markdown {
            Some(folder) => {
                for (name, image) in page.images() {
                    write_file(&folder.join(name), &image)?;
                }
                write_file(&folder.join(format!("{}.md", page.id)), &render::markdown(page))
            }
            None => Ok(writeln!(out, "{}", render::text(page))?),
        }
    }
}

/// Runs pages, at most `jobs` at a time. Returns their results in page order.
fn run_all(
    cluster: &BlockingCluster,
    pages: &[&'static Page],
    jobs: usize,
) -> Vec<anyhow::Result<RenderedPage>> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<_> = pages.iter().map(|_| OnceLock::new()).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(pages.len()) {
            scope.spawn(|| {
                while let Some((page, outcome)) =
                    pages.iter().zip(&outcomes).nth(next.fetch_add(1, Relaxed))
                {
                    let _ = outcome.set(run_page(cluster, page));
                }
            });
        }
    });
    outcomes
        .into_iter()
        .map(|outcome| outcome.into_inner().unwrap_or_else(|| Err(anyhow!("a page did not run"))))
        .collect()
}

/// Returns the pages with these ids.
fn select_pages(ids: &[String]) -> anyhow::Result<Vec<&'static Page>> {
    let mut selected = Vec::new();
    for id in ids {
        if id.eq_ignore_ascii_case("all") {
            selected.extend(pages().filter(|page| page.is_built()));
        } else if let Some(page) = find_page(id) {
            selected.push(page);
        } else {
            let hint = did_you_mean(closest_match(&id.to_uppercase(), pages().map(|page| page.id)));
            bail!("there is no page {id}{hint}; `halite lab` lists them");
        }
    }
    Ok(selected)
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("directory {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("file {}", path.display()))
}
