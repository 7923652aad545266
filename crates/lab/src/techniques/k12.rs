//! K12: a reversed time behind the key, so that the newest row of each comes first.

use crate::counted::Counted;
use crate::{Lab, Page, Part};

pub(super) const PAGE: Page = Page { id: "K12", title: "The newest row of each key first", rules: &[], see: &["K03", "K26"], run };

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "What is the last known position of this truck? With the time in ascending order the answer stands at the end of the truck's rows, \
         behind all of its past. With the time in descending order it is the first row that a scan of the truck meets.",
    );
    lab.part(Part::Declared);
    let text = "CREATE TABLE positions (\n  place STRING FAMILY p QUALIFIER at,\n  ROW KEY (truck STRING, ts TIMESTAMP DESC)\n)";
    let (table, key) = lab.declare(text)?;

    lab.part(Part::Shown);
    for (truck, time, place) in [("t7", "08:30", "depot"), ("t7", "11:45", "harbour"), ("t7", "10:00", "motorway"), ("t8", "12:00", "depot")] {
        lab.write(&table, &key, &[&format!("truck={truck}"), &format!("ts=2024-03-15T{time}:00Z")], "p:at", place)?;
    }
    lab.explain(&key, &["truck=t7"], Some(1))?;
    let newest = lab.ask(&table, &key, &["truck=t7"], Some(1))?;
    let place = newest.first().and_then(|row| row.value("p", "at"));
    lab.claim(newest.len() == 1 && place == Some(b"harbour"), "The one row is that of 11:45, though it was not the last one written.")?;
    let all = lab.ask(&table, &key, &["truck=t7"], None)?;
    lab.claim(all.len() == 3, "Without a limit all of the truck's rows come, from the newest to the oldest, and none of another truck.")?;

    lab.say("Truck t9 has a row for each of 100 minutes, and its newest is asked for in the same way.");
    let hundred = (0..100).map(|minute| key.encode(&["t9".into(), halite::rowkey::Value::Signed(crate::samples::T0 + minute * 60_000)]));
    let keys: Vec<Vec<u8>> = hundred.map(|key| key.map(|key| key.to_vec())).collect::<Result<_, _>>()?;
    lab.load(&table, "p:at", keys.into_iter().map(|key| (key, "road")))?;
    let (counted, reads) = Counted::around(lab.seam(&table)?);
    lab.carry_out(counted, &lab.plan(&key, &["truck=t9"], Some(1))?)?;
    lab.claim(reads.rows() == 1, "One row is read to find it.")?;

    lab.part(Part::Costs);
    lab.say(
        "A scan from old to new has to run in reverse, which costs more than a forward one. If the current state is all that anybody asks for, \
         one row for each truck that is overwritten is smaller still: VERSIONS keeps a short history of it (C04).",
    );
    Ok(())
}
