//! Messages: the tables equal the model wherever their writer stops.

use std::sync::Arc;

use halite::TableName;
use halite::rowkey::plan::PlanNote;
use halite::rowkey::{KeyQuery, KeySchema, Plan, PlanOptions};
use halite_recipes::messages::MESSAGES;
use halite_recipes::{InProcessTarget, Load, Site, check, explain, recipes};
use messages::{Mailbox, Message, PageRequest};

use crate::backends;

/// Batches of an item: its outbox, its inbox, its conversation.
const BATCHES: u64 = 3;

#[test]
fn p02_messages_are_in_all_boxes_after_crash_at_each_write() {
    let load = Load { seed: 5, items: 120 };
    for batches in 60..=60 + 2 * BATCHES {
        let report = backends::check_embedded(&MESSAGES, load, batches).unwrap();
        // A message that is only in the outbox lacks two cells, one that is also in the inbox one.
        let missing = [0, 2, 1][usize::try_from(batches % BATCHES).unwrap()];
        assert_eq!((report.acknowledged, report.repaired), (batches / BATCHES, missing));
    }
}

#[test]
fn p09_pages_continue_after_last_row_while_messages_are_written() {
    let load = Load { seed: 6, items: 400 };
    let report = backends::check_embedded(&MESSAGES, load, 400).unwrap();
    assert!(report.at_end.queries > 400 && report.at_end.rows > 2_500, "{report:?}");
    // The rows of every page are those it returns.
    assert_eq!(report.at_end.rows, report.at_end.examined);
}

#[test]
fn c15_recipe_runs_through_client_and_server() {
    let load = Load { seed: 7, items: 100 };
    let mut target = InProcessTarget::new(|| Ok(backends::connect()), 100);
    let report = check(&MESSAGES, load, &mut target).unwrap();
    assert_eq!((report.acknowledged, report.repaired), (33, 2));
    let name: TableName = "messages_check:inbox".parse().unwrap();
    let cluster = backends::connect();
    let left = halite::block_on(cluster.cluster().table(&name).descriptor());
    assert!(left.is_err(), "the tables of a check are dropped");
}

#[test]
fn c10_each_query_reads_one_range_of_one_region() {
    let recipe = recipes().iter().find(|recipe| recipe.about().name == "messages").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let load = Load { seed: 1, items: 10 };
    let site = Site { cluster: backends::open(&directory), namespace: "messages".to_owned() };
    let application = recipe.open(&site, load).unwrap();
    let mut out = Vec::new();
    explain(&*application, &site, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for plan in text.split("\n\n").filter(|plan| !plan.trim().is_empty()) {
        for line in
            ["ranges   1", "fan-out  1", "regions  1 of 16", "check    nothing", "limit    50"]
        {
            assert!(plan.contains(line), "{line}: {plan}");
        }
    }
}

#[test]
fn c10_newest_100_received_examine_100_rows_and_the_id_of_the_message_serves_none() {
    let directory = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(&backends::open(&directory), "messages").unwrap();
    let message = |id: u64| Message {
        sender: "user_002".to_owned(),
        receiver: format!("user_{:03}", id % 2),
        sent_ms: 1_710_460_800_000 + id.cast_signed(),
        id,
        body: "text".to_owned(),
        edited_ms: None,
    };
    mailbox.send(&(0..300).map(message).collect::<Vec<_>>()).unwrap();
    let page = mailbox.received("user_001", &PageRequest::newest(100)).unwrap();
    let ids: Vec<u64> = page.items.iter().map(|message| message.id).collect();
    assert_eq!(ids, (0..100).map(|place| 299 - 2 * place).collect::<Vec<_>>());
    assert_eq!(page.examined, 100);

    // The key of the tutorial's statement: no part of it is known from the receiver.
    let by_id: Arc<KeySchema> = Arc::new("ROW KEY (msg_id STRING)".parse().unwrap());
    assert!(by_id.field_id("receiver_id").is_none());
    let plan = Plan::new(&by_id, &KeyQuery::all().limit(100), &PlanOptions::default()).unwrap();
    assert!(plan.notes().contains(&PlanNote::FullScan), "{plan:?}");
}
