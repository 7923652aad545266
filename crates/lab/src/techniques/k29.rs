//! K29: long names in few bytes: numbers of a dictionary, addresses as numbers, digests, beginnings.

use std::collections::BTreeSet;

use halite::key::hexadecimal;
use halite::rowkey::{KeySchema, PlanOptions};
use halite::{block_on, print_bytes};

use crate::{Lab, Page, Part};

pub(super) const PAGE: Page = Page { id: "K29", title: "Long names in few bytes", rules: &["K-TRUNC"], see: &["K14", "K32"], run };

const HOSTS: u32 = 10_000;
const EVENTS: [&str; 3] = ["user.login.succeeded", "user.login.failed", "user.password.changed"];

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "Host names and event names are long and of different lengths, and stand in every key. Four ways make them short and of one length: a dictionary \
         gives them numbers, an address is a number already, a digest stands for them, or only their beginning is kept.",
    );
    lab.part(Part::Declared);
    let key = lab.key("ROW KEY (DICT(event, 2), IPV4(client), ts TIMESTAMP)")?;
    let hashed = lab.key("ROW KEY (HASH(host STRING BYTES 8 USING sha256), ts TIMESTAMP)")?;
    let cut = lab.key("ROW KEY (TRUNC(host, 8), ts TIMESTAMP)")?;

    lab.part(Part::Shown);
    dictionary(lab, &key)?;
    digests(lab, &hashed)?;
    beginnings(lab, &cut)?;

    lab.part(Part::Costs);
    lab.say(
        "A dictionary has to be kept, and read before keys can be; its numbers must never be given to another name. Numbers do not sort as names do, so \
         no range of events is one range of keys. A digest in the place of a name is not read back. A beginning keeps the order, and mixes names up.",
    );
    lab.caught("K-TRUNC", "ROW KEY (HASH(host STRING BYTES 2), ts TIMESTAMP)", "ROW KEY (HASH(host BYTES 2), host STRING, ts TIMESTAMP)")
}

/// Numbers of a dictionary and addresses, there and back.
fn dictionary(lab: &mut Lab, key: &KeySchema) -> anyhow::Result<()> {
    lab.say("The dictionary stands in a table beside that of the events. Who writes an event that it does not have gives it the next number:");
    let table = lab.create("events", &["e"], &[])?;
    let dictionary = lab.dictionary(&table, key)?;
    let mut rows = Vec::new();
    for event in EVENTS {
        let given = [&format!("event={event}"), "client=10.0.0.1", "ts=2024-03-15T00:00:00Z"];
        let values = key.parse_values(given).map_err(anyhow::Error::msg)?;
        block_on(dictionary.assign(&values))?;
        let row = key.encode_with(&values, &*dictionary)?;
        lab.done(format!("halite key encode --table events --assign {}", given.join(" ")), vec![print_bytes(&row)]);
        lab.put(&table, &row, "e:v", "x")?;
        rows.push(row);
    }
    lab.claim(
        hexadecimal(&rows[1]) == "00020a0000018000018e3f688c00",
        "The second event is 00 02, the address 0a 00 00 01: six bytes instead of 25.",
    )?;
    let again = lab.dictionary_of(&table, key)?;
    let back = key.show(&key.decode_with(&rows[1], &*again)?);
    lab.claim(
        back == "event = 'user.login.failed', client = '10.0.0.1', ts = 2024-03-15T00:00:00Z",
        format!("Another program reads the dictionary, and the key is: {back}."),
    )?;
    let options = PlanOptions { helper: Some(again), ..PlanOptions::default() };
    let plan = lab.explain_with(key, &["event=user.login.failed", "client=10.0.0.1"], "the dictionary", &options)?;
    let found = lab.carry_out(lab.seam(&table)?, &plan)?;
    lab.claim(found.len() == 1, "Asked for by name and address, the row is one range away.")
}

/// Digests of two and of eight bytes, over many names.
fn digests(lab: &mut Lab, key: &KeySchema) -> anyhow::Result<()> {
    lab.say(format!("{HOSTS} host names as digests:"));
    let codes = |bytes: usize| -> anyhow::Result<usize> {
        let mut codes = BTreeSet::new();
        for host in 0..HOSTS {
            codes.insert(lab.key_of(key, &[&format!("host=host-{host}.example.org"), "ts=0"])?[..bytes].to_vec());
        }
        Ok(codes.len())
    };
    let (two, eight) = (codes(2)?, codes(8)?);
    let hosts = HOSTS as usize;
    lab.figures(
        &["bytes", ">different digests", ">hosts without one of their own"],
        [["2".to_owned(), two.to_string(), (hosts - two).to_string()], ["8".to_owned(), eight.to_string(), (hosts - eight).to_string()]],
    );
    lab.claim((600..850).contains(&(hosts - two)), "Two bytes have 65,536 values, and yet hundreds of 10,000 hosts meet another one in them.")?;
    lab.claim(eight == hosts, "In eight bytes no two of them meet.")
}

/// Names of which only the beginning is kept.
fn beginnings(lab: &mut Lab, key: &KeySchema) -> anyhow::Result<()> {
    lab.say("Of these names the first eight bytes are kept:");
    let hosts = ["web-north-01", "web-north-02", "web-south-01", "db-1"];
    let mut kept = BTreeSet::new();
    let mut rows = Vec::new();
    for host in hosts {
        let bytes = lab.key_of(key, &[&format!("host={host}"), "ts=0"])?;
        kept.insert(bytes[..8].to_vec());
        rows.push([host.to_owned(), print_bytes(&bytes[..8])]);
    }
    lab.figures(&["host", "in the key"], rows);
    lab.claim(kept.len() == 3, "Two of four hosts share a beginning, and with it their rows.")
}
