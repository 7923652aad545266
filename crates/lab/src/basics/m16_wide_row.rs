//! M16: a user and the ten latest orders in one row.

use halite::{FamilyDescriptor, Get};

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "M16",
    title: "A wide row: the user and ten orders",
    rules: &[],
    see: &["M17", "M15", "K30"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "What is shown together is best read together: a user's name and mail, and summaries of \
         the ten latest orders, in one row, in one get. The columns are of one family; qualifiers \
         are made up as they are needed, and need not be declared.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("users", &["user"], &[])?;
    lab.put(&table, "user_1", "user:info:name", "Ada")?;
    lab.put(&table, "user_1", "user:info:mail", "ada@example.org")?;
    lab.paragraph("And ten orders, user:order_0 to user:order_9.");
    lab.load(&table, "user:order_0", [("user_1", "12.50, shipped")])?;
    for order in 1..10 {
        lab.load(
            &table,
            &format!("user:order_{order}"),
            [("user_1", format!("{order}.00, paid"))],
        )?;
    }
    let row = table.inner().get(Get::new("user_1"))?;
    lab.statement(
        "get 'users', 'user_1'",
        row.iter()
            .take(3)
            .map(|cell| format!("column=user:{}", halite::to_string_binary(cell.qualifier())))
            .chain(["... 9 more".to_owned()])
            .collect(),
    );
    lab.assert_claim(row.len() == 12, "One get brings all twelve cells.")?;
    lab.assert_claim(
        row.value("user", "info:name") == Some(b"Ada"),
        "In user:info:name the family ends at the first colon: the qualifier is info:name. \
         Qualifiers may hold colons.",
    )?;
    let refused = lab
        .make("wrong", [FamilyDescriptor::new("user:info")], Vec::new())
        .err()
        .map(|error| format!("{error:#}"))
        .unwrap_or_default();
    lab.assert_claim(
        refused.contains("user:info"),
        "The name of a family may not: a table with the family user:info is refused, and the error \
         names it.",
    )?;
    lab.paragraph(
        "The eleventh order goes into the place of the first: order_0 again, its number by ten. A \
         list that only grows does not belong into a row, because a row cannot be split between \
         regions; orders get rows of their own then, under the user's key.",
    );
    Ok(())
}
