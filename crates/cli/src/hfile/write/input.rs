//! Lines of a file with separated values, and where they are.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use csv::{ByteRecord, ReaderBuilder};
use indicatif::ProgressBar;

use super::quotes::CheckedQuotes;
use crate::text_source::open_source;

/// Form of a file with separated values.
pub(crate) struct InputArgs {
    /// File; `-` is standard input.
    pub(crate) path: PathBuf,
    pub(crate) separator: u8,
    /// `None` if quotes are part of the values.
    pub(crate) quote: Option<u8>,
    /// Names of the columns of a file without a header line.
    pub(crate) names: Option<Vec<String>>,
}

type LineReader = csv::Reader<CheckedQuotes<Box<dyn Read>>>;

/// Reader of the lines of a file.
pub(super) struct Input {
    reader: LineReader,
    /// Names of the columns.
    pub(super) names: Vec<String>,
    pub(super) bar: ProgressBar,
    /// Name in messages.
    pub(super) name: String,
}

impl Input {
    /// Opens a file and reads its header line, if it has one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has no line where a header is expected.
    pub(super) fn open(form: &InputArgs) -> anyhow::Result<Self> {
        let (name, source, bar) = open_source(&form.path)?;
        let mut reader = ReaderBuilder::new()
            .delimiter(form.separator)
            .quoting(form.quote.is_some())
            .quote(form.quote.unwrap_or(b'"'))
            .has_headers(false)
            .flexible(true)
            .from_reader(CheckedQuotes::new(source, form.separator, form.quote));
        let names = match &form.names {
            Some(names) => names.clone(),
            None => header(&mut reader).with_context(|| name.clone())?,
        };
        Ok(Self { reader, names, bar, name })
    }

    /// Reads the next line that is not empty into `record`. Returns `false` at the end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(super) fn next(&mut self, record: &mut ByteRecord) -> anyhow::Result<bool> {
        self.reader.read_byte_record(record).with_context(|| self.name.clone())
    }
}

fn header(reader: &mut LineReader) -> anyhow::Result<Vec<String>> {
    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record)? {
        bail!("it is empty; the first line has to name the columns, or give --names");
    }
    let name = |field: &[u8]| {
        let text = std::str::from_utf8(field).context("the header line is not UTF-8")?;
        // A byte order mark written by an editor is not part of the first name.
        Ok(text.trim_start_matches('\u{feff}').trim().to_owned())
    };
    record.iter().map(name).collect()
}
