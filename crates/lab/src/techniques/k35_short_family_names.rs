//! K35: a family of one letter, short qualifiers, and long names in statements.

use crate::samples::key_value_bytes;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K35",
    title: "Families of one letter, and long names for readers",
    rules: &["F-LONGCF", "F-LONGQ"],
    see: &["K34", "K33"],
    run,
};

const SHORT: &str = "CREATE TABLE weather (\n  temperature DOUBLE FAMILY w QUALIFIER t,\n  \
                     humidity DOUBLE FAMILY w QUALIFIER h,\n  ROW KEY (station U32, ts TIMESTAMP)\n\
                     )";
const LONG: &str = "CREATE TABLE weather (temperature DOUBLE FAMILY weather, humidity DOUBLE \
                    FAMILY weather, ROW KEY (station U32, ts TIMESTAMP))";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Every cell contains family and qualifier, so they are as short as can be. People and \
         programs still want to read temperature, not w:t. The declaration keeps both: the name \
         used in queries, and the letters that are stored.",
    );
    lab.section(Section::Declaration);
    let (table, key) = lab.declare(SHORT)?;

    lab.section(Section::Demonstration);
    let row =
        lab.write(&table, &key, &["station=3", "ts=2024-03-15"], "w:t", 20.5_f64.to_be_bytes())?;
    lab.load(&table, "w:h", [(row, 0.61_f64.to_be_bytes())])?;
    let long = lab.create("spelled_out", &["weather"], &[])?;
    let row = lab.encode_key(&key, &["station=3", "ts=2024-03-15"])?;
    lab.load(&long, "weather:temperature", [(row.clone(), 20.5_f64.to_be_bytes())])?;
    lab.load(&long, "weather:humidity", [(row, 0.61_f64.to_be_bytes())])?;
    let bytes = |lab: &PageWriter, table| -> anyhow::Result<Vec<usize>> {
        Ok(lab
            .rows(table, &ScanSpec::all())?
            .iter()
            .flat_map(halite::Row::iter)
            .map(|cell| key_value_bytes(&cell))
            .collect())
    };
    let (of_short, of_long) = (bytes(lab, &table)?, bytes(lab, &long)?);
    lab.data_table(
        &["columns", ">bytes of a row"],
        [
            ["w:t, w:h".to_owned(), of_short.iter().sum::<usize>().to_string()],
            [
                "weather:temperature, weather:humidity".to_owned(),
                of_long.iter().sum::<usize>().to_string(),
            ],
        ],
    );
    let (short_sum, long_sum) = (of_short.iter().sum::<usize>(), of_long.iter().sum::<usize>());
    lab.assert_claim(
        long_sum - short_sum == 2 * 6 + 10 + 7,
        "Spelled out, the row has 29 bytes more: six for the family in each cell, ten and seven \
         for the qualifiers.",
    )?;
    let kept = table.inner().descriptor()?;
    let described =
        kept.attributes.get(halite::rowkey::language::ROW_SCHEMA).cloned().unwrap_or_default();
    lab.paragraph("The long names are kept once, in an attribute of the table:");
    lab.statement(
        "describe 'weather'",
        described.lines().map(|line| format!("ROW_SCHEMA => {line}")).collect(),
    );
    lab.assert_claim(
        described.contains("temperature") && described.contains("humidity"),
        "Every program that opens the table reads the names from it.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Tools that know nothing of the declaration, such as HBase's own shell, show w:t. Under a \
         block encoding a name that every cell repeats is written once a block, so on disk little \
         is gained; in the log, in memory and on the wire all of it.",
    );
    lab.expect_finding("F-LONGCF", LONG, SHORT)?;
    lab.expect_finding("F-LONGQ", LONG, SHORT)
}
