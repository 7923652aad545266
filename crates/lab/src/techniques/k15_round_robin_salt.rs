//! K15: round-robin salts: the best spread of writes, but a get becomes a query of all salts.

use halite::rowkey::{SaltGenerator, Value};

use crate::counting_table::CountingTable;
use crate::declared_keys::{encode_keys, skew_for_keys};
use crate::samples::T0;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K15",
    title: "Salts in turn: even writes, and gets that ask every region",
    rules: &["K-RNDSALT"],
    see: &["K16", "K18"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A log is written all the time and read by intervals. Its key is the time, so writes would \
         all go to the end. The writer puts something in front that changes with each row: the \
         next salt of 16, and after the last the first again. No hash is as even.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE log (\n  line STRING FAMILY l QUALIFIER t,\n  ROW KEY (SALT(16 USING \
                round_robin), ts TIMESTAMP, seq U32)\n) SPLIT BY SALT";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    lab.paragraph(
        "20,000 lines of one writer, one each millisecond, in windows of 2000, next to a salt that \
         is computed from the time and the number:",
    );
    let lines = || {
        (0..20_000_u64).map(|line| {
            [Value::Signed(T0 + i64::try_from(line).unwrap_or(0)), Value::Unsigned(line)]
        })
    };
    let computed = "ROW KEY (SALT(16 BY ts, seq), ts TIMESTAMP, seq U32)".parse()?;
    let in_turn = skew_for_keys(&encode_keys(&key, lines())?, table.splits(), 2_000);
    let hashed = skew_for_keys(&encode_keys(&computed, lines())?, table.splits(), 2_000);
    lab.skews(&[("in turn", &in_turn), ("computed", &hashed)]);
    lab.assert_claim(
        (in_turn.window_mean - 1.0).abs() < 0.001,
        "In turn, every region gets the same number of rows in every window.",
    )?;
    lab.assert_claim(hashed.window_mean > 1.05, "Computed, it is even up to random differences.")?;

    let drawer = SaltGenerator::seeded(0);
    let mut keys = Vec::new();
    for [ts, seq] in lines().take(100) {
        keys.push(key.encode_with(&[ts, seq], &drawer)?.to_vec());
    }
    lab.load(&table, "l:t", keys.into_iter().map(|key| (key, "x")))?;
    lab.paragraph(
        "The first hundred of these lines are in the table. One of them, with all that the reader \
         can know of it:",
    );
    let question = ["ts=2024-03-15T00:00:00.042Z", "seq=42"];
    let plan = lab.explain(&key, &question, None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    let found = lab.execute_plan(counted, &plan)?;
    lab.assert_claim(
        found.len() == 1 && reads.gets() == 16,
        "To find one row, 16 keys are read: the salt under which it was written is unknown.",
    )?;
    let all = lab.query_rows(
        &table,
        &key,
        &["ts>=2024-03-15T00:00:00.010Z", "ts<2024-03-15T00:00:00.020Z"],
        None,
    )?;
    let numbers: Vec<_> = all
        .iter()
        .filter_map(|row| key.decode(row.key()).ok()?.get(1).cloned().map(Value::into_owned))
        .collect();
    lab.assert_claim(
        numbers == (10..20).map(Value::Unsigned).collect::<Vec<_>>(),
        "An interval is 16 ranges, and the lines come in the order of time all the same.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Every lookup costs 16 times as much, and a line that is written again, after a failure, \
         becomes a second row. Several writers are not in turn with each other, which does little \
         harm. Take it for rows that are written once and read by intervals.",
    );
    lab.expect_finding(
        "K-RNDSALT",
        "ROW KEY (SALT(16 USING round_robin), ts TIMESTAMP, seq U32)",
        "ROW KEY (SALT(16 BY seq), ts TIMESTAMP, seq U32)",
    )
}
