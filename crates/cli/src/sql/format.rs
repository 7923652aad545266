//! Rows as text.

use std::io::{self, Write};

use halite::sql::cell_text;
use halite::sql::datafusion::arrow::array::RecordBatch;
use halite::sql::datafusion::arrow::datatypes::{DataType, Schema};

use super::json::{json_text, member, object};

/// Format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns
    Table,
    /// Comma-separated values with a heading; NULL is empty
    Csv,
    /// Tab-separated values with a heading; NULL is \N
    Tsv,
    /// One array of objects
    Json,
    /// One object per line
    Jsonl,
    /// Stream of Arrow's IPC format, one for each statement
    Arrow,
    /// File of Parquet, of one statement (in builds with --features sql-files)
    Parquet,
}

/// Rows of a table that are aligned together.
const TABLE_ROWS: usize = 1000;

/// Writer of the rows of one answer.
pub(super) struct RowWriter {
    format: Format,
    /// `true` to print tables as one line per value.
    expanded: bool,
    /// Rows of a table that are printed; the others are counted.
    most: usize,
    names: Vec<String>,
    /// `true` for columns of numbers.
    numbers: Vec<bool>,
    pending: Vec<Vec<Option<String>>>,
    widths: Vec<usize>,
    rows: usize,
    has_heading: bool,
}

impl RowWriter {
    pub(super) fn new(format: Format, expanded: bool, most: usize, schema: &Schema) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let is_number = |data_type: &DataType| data_type.is_numeric();
        Self {
            format,
            expanded,
            most,
            numbers: schema.fields().iter().map(|field| is_number(field.data_type())).collect(),
            widths: names.iter().map(|name| name.chars().count()).collect(),
            names,
            pending: Vec::new(),
            rows: 0,
            has_heading: false,
        }
    }

    /// Writes the rows of a batch, or keeps them to align them with others.
    pub(super) fn write(
        &mut self,
        out: &mut impl Write,
        batch: &RecordBatch,
    ) -> anyhow::Result<()> {
        let schema = batch.schema();
        for row in 0..batch.num_rows() {
            self.rows += 1;
            if self.format == Format::Table && self.rows > self.most {
                continue;
            }
            let values = schema.fields().iter().zip(batch.columns());
            if matches!(self.format, Format::Json | Format::Jsonl) {
                let values = values.map(|(field, column)| json_text(field, column.as_ref(), row));
                self.write_json(out, &values.collect::<Result<Vec<_>, _>>()?)?;
                continue;
            }
            let values: Vec<Option<String>> = values
                .map(|(field, column)| cell_text(field, column.as_ref(), row))
                .collect::<Result<_, _>>()?;
            match self.format {
                Format::Table if self.expanded => self.write_expanded(out, &values)?,
                Format::Table => {
                    self.pending.push(values);
                    if self.pending.len() == TABLE_ROWS {
                        self.write_pending(out)?;
                    }
                }
                Format::Csv => self.write_csv(out, &values)?,
                Format::Tsv => self.write_tsv(out, &values)?,
                // Written above, or with a writer of its own.
                Format::Json | Format::Jsonl | Format::Arrow | Format::Parquet => {}
            }
        }
        Ok(())
    }

    /// Writes what is kept, and the end of the format. Returns the number of rows.
    pub(super) fn finish(&mut self, out: &mut impl Write) -> io::Result<usize> {
        match self.format {
            Format::Table if self.expanded => {}
            Format::Table => self.write_pending(out)?,
            Format::Csv => self.csv_heading(out)?,
            Format::Tsv => self.tsv_heading(out)?,
            Format::Json if self.rows == 0 => writeln!(out, "[]")?,
            Format::Json => writeln!(out, "\n]")?,
            Format::Jsonl | Format::Arrow | Format::Parquet => {}
        }
        if self.format == Format::Table {
            let rows = if self.rows == 1 { "row" } else { "rows" };
            let shown = self.rows.min(self.most);
            if shown < self.rows {
                writeln!(out, "({} {rows}, {shown} shown)", self.rows)?;
            } else {
                writeln!(out, "({} {rows})", self.rows)?;
            }
        }
        out.flush()?;
        Ok(self.rows)
    }

    fn write_pending(&mut self, out: &mut impl Write) -> io::Result<()> {
        for row in &self.pending {
            for (width, value) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(value.as_deref().map_or(4, |text| text.chars().count()));
            }
        }
        if !self.has_heading {
            self.has_heading = true;
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            self.write_line(out, &names)?;
            let dashes: Vec<String> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
            writeln!(out, "{}", dashes.join("  "))?;
        }
        for row in std::mem::take(&mut self.pending) {
            let values: Vec<&str> =
                row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
            self.write_line(out, &values)?;
        }
        Ok(())
    }

    fn write_line(&self, out: &mut impl Write, values: &[&str]) -> io::Result<()> {
        let mut line = String::new();
        for ((value, width), is_number) in values.iter().zip(&self.widths).zip(&self.numbers) {
            let blanks = " ".repeat(width.saturating_sub(value.chars().count()));
            // Values of several lines stay one line of the table.
            let value = value.replace('\n', "\\n");
            if *is_number {
                line.extend([blanks.as_str(), &value, "  "]);
            } else {
                line.extend([value.as_str(), &blanks, "  "]);
            }
        }
        writeln!(out, "{}", line.trim_end())
    }

    fn write_expanded(&self, out: &mut impl Write, row: &[Option<String>]) -> io::Result<()> {
        writeln!(out, "-[ row {} ]-", self.rows)?;
        let width = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, value) in self.names.iter().zip(row) {
            let blanks = " ".repeat(width - name.chars().count());
            writeln!(out, "{name}{blanks} | {}", value.as_deref().unwrap_or("NULL"))?;
        }
        Ok(())
    }

    fn csv_heading(&mut self, out: &mut impl Write) -> io::Result<()> {
        if std::mem::replace(&mut self.has_heading, true) {
            return Ok(());
        }
        csv_line(out, self.names.iter().map(String::as_str))
    }

    fn write_csv(&mut self, out: &mut impl Write, row: &[Option<String>]) -> io::Result<()> {
        self.csv_heading(out)?;
        csv_line(out, row.iter().map(|value| value.as_deref().unwrap_or("")))
    }

    fn tsv_heading(&mut self, out: &mut impl Write) -> io::Result<()> {
        if std::mem::replace(&mut self.has_heading, true) {
            return Ok(());
        }
        writeln!(out, "{}", self.names.join("\t"))
    }

    fn write_tsv(&mut self, out: &mut impl Write, row: &[Option<String>]) -> io::Result<()> {
        self.tsv_heading(out)?;
        let escaped =
            |text: &str| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
        let values: Vec<String> = row
            .iter()
            .map(|value| value.as_deref().map_or_else(|| "\\N".to_owned(), escaped))
            .collect();
        writeln!(out, "{}", values.join("\t"))
    }

    fn write_json(&mut self, out: &mut impl Write, row: &[String]) -> anyhow::Result<()> {
        let members = self.names.iter().zip(row).map(|(name, value)| member(name, value));
        let members = members.collect::<anyhow::Result<Vec<_>>>()?;
        let object = object(&members);
        match (self.format, self.rows) {
            (Format::Jsonl, _) => writeln!(out, "{object}")?,
            (_, 1) => write!(out, "[\n{object}")?,
            _ => write!(out, ",\n{object}")?,
        }
        Ok(())
    }
}

fn csv_line<'v>(out: &mut impl Write, values: impl Iterator<Item = &'v str>) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().from_writer(out);
    writer.write_record(values)?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite::sql::datafusion::arrow::array::{ArrayRef, Float64Array, StringArray};

    use super::*;

    fn text(format: Format, expanded: bool, most: usize) -> String {
        let names: ArrayRef =
            Arc::new(StringArray::from(vec![Some("a,\"b\""), None, Some("c\td")]));
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), None]));
        let batch = RecordBatch::try_from_iter_with_nullable(vec![
            ("name", names, true),
            ("x", numbers, true),
        ])
        .unwrap();
        let mut writer = RowWriter::new(format, expanded, most, &batch.schema());
        let mut out = Vec::new();
        writer.write(&mut out, &batch).unwrap();
        assert_eq!(writer.finish(&mut out).unwrap(), 3);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_are_written_in_every_format() {
        assert_eq!(
            text(Format::Table, false, 2),
            "name     x\n-----  ---\na,\"b\"  1.5\nNULL   NaN\n(3 rows, 2 shown)\n"
        );
        assert!(
            text(Format::Table, true, 9).starts_with("-[ row 1 ]-\nname | a,\"b\"\nx    | 1.5\n")
        );
        assert_eq!(text(Format::Csv, false, 0), "name,x\n\"a,\"\"b\"\"\",1.5\n,NaN\nc\td,\n");
        assert_eq!(text(Format::Tsv, false, 0), "name\tx\na,\"b\"\t1.5\n\\N\tNaN\nc\\td\t\\N\n");
        assert_eq!(
            text(Format::Jsonl, false, 0),
            "{\"name\":\"a,\\\"b\\\"\",\"x\":1.5}\n{\"name\":null,\"x\":\"NaN\"}\n\
             {\"name\":\"c\\td\",\"x\":null}\n"
        );
        let json = text(Format::Json, false, 0);
        let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(parsed.as_array().map(Vec::len), Some(3));
    }
}
