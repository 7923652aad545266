//! K29: long names in few bytes: dictionary ids, addresses as numbers, digests, prefixes.

use std::collections::BTreeSet;

use halite::key::to_hex;
use halite::rowkey::{KeySchema, PlanOptions};
use halite::{block_on, to_string_binary};

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K29",
    title: "Long names in few bytes",
    rules: &["K-TRUNC"],
    see: &["K14", "K32"],
    run,
};

const HOSTS: u32 = 10_000;
const EVENTS: [&str; 3] = ["user.login.succeeded", "user.login.failed", "user.password.changed"];

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Host names and event names are long and of different lengths, and every key contains \
         them. Four ways make them short and of one length: a dictionary gives them numbers, an \
         address already is a number, a digest replaces them, or only their beginning is kept.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY (DICT(event, 2), IPV4(client), ts TIMESTAMP)")?;
    let hashed = lab.key("ROW KEY (HASH(host STRING BYTES 8 USING sha256), ts TIMESTAMP)")?;
    let cut = lab.key("ROW KEY (TRUNC(host, 8), ts TIMESTAMP)")?;

    lab.section(Section::Demonstration);
    dictionary(lab, &key)?;
    digests(lab, &hashed)?;
    truncated_names(lab, &cut)?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A dictionary has to be kept, and read before keys can be; its numbers must never be given \
         to another name. Numbers do not sort as names do, so no range of events is one range of \
         keys. A digest instead of a name cannot be decoded. A beginning keeps the order, and \
         mixes names up.",
    );
    lab.expect_finding(
        "K-TRUNC",
        "ROW KEY (HASH(host STRING BYTES 2), ts TIMESTAMP)",
        "ROW KEY (HASH(host BYTES 2), host STRING, ts TIMESTAMP)",
    )
}

/// Encodes and decodes dictionary ids and addresses.
fn dictionary(lab: &mut PageWriter, key: &KeySchema) -> anyhow::Result<()> {
    lab.paragraph(
        "The dictionary is a table next to that of the events. The writer of an unknown event \
         assigns it the next number:",
    );
    let table = lab.create("events", &["e"], &[])?;
    let dictionary = lab.dictionary(&table, key)?;
    let mut rows = Vec::new();
    for event in EVENTS {
        let given = [&format!("event={event}"), "client=10.0.0.1", "ts=2024-03-15T00:00:00Z"];
        let values = key.parse_values(given).map_err(anyhow::Error::msg)?;
        block_on(dictionary.assign(&values))?;
        let row = key.encode_with(&values, &*dictionary)?;
        lab.statement(
            format!("halite key encode --table events --assign {}", given.join(" ")),
            vec![to_string_binary(&row)],
        );
        lab.put(&table, &row, "e:v", "x")?;
        rows.push(row);
    }
    lab.assert_claim(
        to_hex(&rows[1]) == "00020a0000018000018e3f688c00",
        "The second event is 00 02, the address 0a 00 00 01: six bytes instead of 25.",
    )?;
    let again = lab.open_dictionary(&table, key)?;
    let back = key.format_values(&key.decode_with(&rows[1], &*again)?);
    lab.assert_claim(
        back == "event = 'user.login.failed', client = '10.0.0.1', ts = 2024-03-15T00:00:00Z",
        format!("Another program reads the dictionary, and the key is: {back}."),
    )?;
    let options = PlanOptions { resolver: Some(again), ..PlanOptions::default() };
    let plan = lab.explain_with(
        key,
        &["event=user.login.failed", "client=10.0.0.1"],
        "the dictionary",
        &options,
    )?;
    let found = lab.execute_plan(lab.dyn_table(&table)?, &plan)?;
    lab.assert_claim(found.len() == 1, "Queried by name and address, the row is in one range.")
}

/// Compares digests of two and of eight bytes over many names.
fn digests(lab: &mut PageWriter, key: &KeySchema) -> anyhow::Result<()> {
    lab.paragraph(format!("{HOSTS} host names as digests:"));
    let codes = |bytes: usize| -> anyhow::Result<usize> {
        let mut codes = BTreeSet::new();
        for host in 0..HOSTS {
            codes.insert(
                lab.encode_key(key, &[&format!("host=host-{host}.example.org"), "ts=0"])?[..bytes]
                    .to_vec(),
            );
        }
        Ok(codes.len())
    };
    let (two, eight) = (codes(2)?, codes(8)?);
    let hosts = HOSTS as usize;
    lab.data_table(
        &["bytes", ">different digests", ">hosts without one of their own"],
        [
            ["2".to_owned(), two.to_string(), (hosts - two).to_string()],
            ["8".to_owned(), eight.to_string(), (hosts - eight).to_string()],
        ],
    );
    lab.assert_claim(
        (600..850).contains(&(hosts - two)),
        "Two bytes have 65,536 values, and yet hundreds of 10,000 hosts meet another one in them.",
    )?;
    lab.assert_claim(eight == hosts, "In eight bytes no two of them meet.")
}

/// Shows names of which only a prefix is stored.
fn truncated_names(lab: &mut PageWriter, key: &KeySchema) -> anyhow::Result<()> {
    lab.paragraph("Of these names the first eight bytes are kept:");
    let hosts = ["web-north-01", "web-north-02", "web-south-01", "db-1"];
    let mut kept = BTreeSet::new();
    let mut rows = Vec::new();
    for host in hosts {
        let bytes = lab.encode_key(key, &[&format!("host={host}"), "ts=0"])?;
        kept.insert(bytes[..8].to_vec());
        rows.push([host.to_owned(), to_string_binary(&bytes[..8])]);
    }
    lab.data_table(&["host", "in the key"], rows);
    lab.assert_claim(
        kept.len() == 3,
        "Two of four hosts share a beginning, and with it their rows.",
    )
}
