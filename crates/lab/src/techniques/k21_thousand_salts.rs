//! K21: a thousand salts of three digits, and the splits for them.

use halite::rowkey::Splits;
use halite::to_string_binary;

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K21",
    title: "Splits for a thousand salts of three digits",
    rules: &["P-MANY"],
    see: &["K20", "K17", "K22"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Where keys begin with one of a thousand salts, 000 to 999, each salt can be a region of \
         its own. A thousand regions have 999 split keys: the first region begins with the empty \
         key, so 000 is none.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY TEXT '{salt(1000 by id using java):3}{id}'")?;

    lab.section(Section::Demonstration);
    let splits = Splits::by_salt(&key, 1, None)?;
    let names: Vec<String> = splits.keys.iter().map(|key| to_string_binary(key)).collect();
    lab.statement(
        "halite key split \"BY SALT\"",
        vec![format!(
            "{}, {}, {} ... {}: {} keys, {} regions",
            names[0],
            names[1],
            names[2],
            names[998],
            names.len(),
            splits.regions()
        )],
    );
    let all: Vec<String> = (1..1000).map(|salt| format!("{salt:03}")).collect();
    lab.assert_claim(names == all, "The keys are 001 to 999, each once.")?;
    let shares = splits.shares.clone().unwrap_or_default();
    let even = shares.len() == 1000 && shares.iter().all(|share| (share - 0.001).abs() < 1e-9);
    lab.assert_claim(even, "Each of the 1000 regions is expected to get one row in a thousand.")?;

    lab.paragraph("The same with 16 salts of two digits, on a store:");
    let text = "CREATE TABLE orders (\n  n STRING FAMILY o,\n  ROW KEY TEXT \
                '{salt(16 by id using java):2}{id}'\n) SPLIT BY SALT";
    let (table, _) = lab.declare(text)?;
    let regions = table.inner().regions()?;
    let (first, last) = (&regions[0], &regions[regions.len() - 1]);
    lab.data_table(
        &["region", "from", "to, not included"],
        [
            ["first", "(open)", &to_string_binary(&first.end)],
            ["second", &to_string_binary(&regions[1].start), &to_string_binary(&regions[1].end)],
            ["last", &to_string_binary(&last.start), "(open)"],
        ],
    );
    let touch = regions.windows(2).all(|pair| pair[0].end == pair[1].start);
    lab.assert_claim(
        regions.len() == 16 && touch,
        "There are 16 regions, and each begins where the one before it ends.",
    )?;
    lab.assert_claim(
        first.start.is_empty() && last.end.is_empty() && last.start == "15",
        "The first begins with nothing, and the last, from 15 on, has no end.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Each region has memstores of its own on its server, and they share one memory: with many \
         regions on a server each flushes little and often. At 200 regions a server, a thousand of \
         them want five servers for this table alone. On fewer, several salts share a region: \
         SPLIT INTO 100 puts ten of them in each.",
    );
    let subject = |splits, servers| halite_rowkey_tools::lint::LintInput {
        key: Some(&key),
        splits: Some(splits),
        load: halite_rowkey_tools::lint::LoadEstimate {
            servers: Some(servers),
            ..Default::default()
        },
        ..Default::default()
    };
    lab.expect_finding_in("P-MANY", &subject(&splits.keys, 3), &subject(&splits.keys, 20))
}
