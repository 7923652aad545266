//! E11: fields joined by a delimiter that they may contain, and that sorts after digits.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E11",
    title: "A delimiter alone neither separates nor sorts",
    rules: &["K-DELIM", "K-SEPORD"],
    see: &["E12", "E25"],
    run,
};

const WRONG: &str = "ROW KEY TEXT '{folder}_{name}'";
const RIGHT: &str = "ROW KEY (folder STRING, name STRING)";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph("Files are stored under their folder and their name, joined by an underscore.");
    let table = lab.create("files", &["f"], &[])?;
    let files = [
        ("tax", "2023_draft", "draft"),
        ("tax_2023", "draft", "another"),
        ("user_1", "a", "of 1"),
        ("user_2", "a", "of 2"),
        ("user_10", "a", "of 10"),
    ];
    for (folder, name, text) in files {
        lab.put(&table, format!("{folder}_{name}"), "f:text", text)?;
    }

    lab.section(Section::Outcome);
    let found = lab.scan(&table, &ScanSpec::all())?;
    lab.assert_claim(
        found.len() == 4 && found[0].value("f", "text") == Some(b"another"),
        "Five files were written, and four are there: tax with 2023_draft and tax_2023 with draft \
         are one key, and the second replaced the first.",
    )?;
    let keys: Vec<_> =
        found.iter().skip(1).map(|row| String::from_utf8_lossy(row.key()).into_owned()).collect();
    lab.assert_claim(
        keys == ["user_10_a", "user_1_a", "user_2_a"],
        "user_10 comes before user_1.",
    )?;
    let of_tax = lab.scan(&table, &ScanSpec::prefix("tax_"))?;
    lab.assert_claim(
        of_tax.len() == 1 && of_tax[0].value("f", "text") == Some(b"another"),
        "A scan for the folder tax gives a file of the folder tax_2023.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "The bytes do not show which underscore ends the folder. And where two folders differ in \
         length, the delimiter of the shorter is compared with a character of the longer: _ is 5F \
         and digits are 30 to 39, so user_1_ sorts after user_10. Any delimiter has one of the two \
         faults as long as fields are free to contain everything.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "A declared field ends with two bytes, 00 01, and a byte 00 inside it is written as 00 FF: \
         no text contains its own end, and a text sorts before every longer one.",
    );
    let (table, key) =
        lab.declare(&format!("CREATE TABLE files_2 (text STRING FAMILY f, {RIGHT})"))?;
    for (folder, name, text) in files {
        lab.put(&table, key.encode(&[folder.into(), name.into()])?, "f:text", text)?;
    }
    let found = lab.query(&table, &key, &[], None)?;
    let texts: Vec<_> = found.iter().filter_map(|row| row.value("f", "text")).collect();
    lab.assert_claim(
        texts == [&b"draft"[..], b"another", b"of 1", b"of 10", b"of 2"],
        "All five files are there, in the order of folders and then names.",
    )?;
    let of_tax = lab.query(&table, &key, &["folder=tax"], None)?;
    lab.assert_claim(
        of_tax.len() == 1 && of_tax[0].value("f", "text") == Some(b"draft"),
        "The folder tax has its own file.",
    )?;
    lab.paragraph(
        "Where keys are text already, the declaration says what a field may consist of, and a \
         value that does not fit is refused.",
    );
    let text = lab.key("ROW KEY TEXT '{folder}_{name}' WHERE folder MATCHES '[^_]+'")?;
    let refused = text.encode(&["tax_2023".into(), "draft".into()]);
    let Err(error) = refused else { anyhow::bail!("a folder with a delimiter is not refused") };
    lab.statement("halite key encode folder=tax_2023 name=draft", vec![format!("ERROR: {error}")]);
    lab.expect_finding("K-DELIM", WRONG, RIGHT)?;
    lab.expect_finding("K-SEPORD", WRONG, RIGHT)
}
