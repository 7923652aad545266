//! What the tutorials show of a web page, by the numbers of their list.

use serde_json::Value;

use crate::lab::{REQUESTS, tab};

/// W01: the regions of `testtable`, whose requests are 21, 22, 31 and 23.
#[test]
fn w01_regions_have_keys_requests_and_locality() {
    let Some((lab, mut tab)) = tab() else { return };
    let starts = ["", "1", "2", "3"];
    let ends = ["1", "2", "3", ""];

    let answer = lab.json("/api/tables/testtable/regions?keys=escaped");
    let regions = answer["regions"].as_array().unwrap();
    let keys = |name: &str| -> Vec<String> {
        let key = |region: &Value| region[name]["escaped"].as_str().unwrap_or_default().to_owned();
        regions.iter().map(key).collect()
    };
    assert_eq!(
        (keys("start_key"), keys("end_key")),
        (starts.map(Into::into).into(), ends.map(Into::into).into())
    );
    let requests: Vec<u64> =
        regions.iter().map(|region| region["requests_total"].as_u64().unwrap()).collect();
    assert_eq!((requests.as_slice(), requests.iter().sum()), (&REQUESTS[..], 97_u64));
    assert!(regions.iter().all(|region| region["locality"] == 1.0), "{regions:?}");

    let text = lab.get("/api/tables/testtable/regions.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let column = |name: &str| -> Vec<&str> {
        let at = heads.iter().position(|head| head == name).unwrap();
        rows.iter().map(|row| &row[at]).collect()
    };
    assert_eq!((column("Start key"), column("End key")), (starts.into(), ends.into()));
    assert_eq!(column("Requests"), ["21", "22", "31", "23"]);
    assert_eq!(column("Locality"), ["1"; 4]);

    tab.goto("/t/testtable/regions");
    tab.await_value("four regions", "document.querySelectorAll('.row .c-requests').length === 4");
    let heads =
        tab.eval("[...document.querySelectorAll('.th')].slice(0, 6).map(it => it.textContent)");
    let tutorial = ["Name", "Region server", "Start key", "End key", "Locality", "Requests"];
    assert_eq!(heads, serde_json::json!(tutorial));
    let shown = tab.eval(
        "[...document.querySelectorAll('.row.tr')].map(row => ['start', 'end', 'locality', \
         'requests'].map(id => row.querySelector(`.c-${id}`).textContent))",
    );
    let expected: Vec<Value> = (0..4)
        .map(|at| {
            let start = if at == 0 { "(first)" } else { starts[at] };
            let end = if at == 3 { "(last)" } else { ends[at] };
            serde_json::json!([start, end, "100\u{a0}%", REQUESTS[at].to_string()])
        })
        .collect();
    let shown: Value =
        serde_json::from_str(&shown.to_string().replace("100 %", "100\u{a0}%")).unwrap();
    assert_eq!(shown, Value::from(expected));
}

/// W03: the row card, with the fields of the key and the cells.
#[test]
fn w03_row_has_decoded_key_fields_and_cells() {
    let Some((_, mut tab)) = tab() else { return };
    tab.goto("/t/users/rows?by=fields&user_id=12345");
    let card = tab.text(".rowside .kv");
    assert!(card.contains("user_id12345"), "{card}");
    let cells = tab.await_value(
        "three cells",
        "(() => { const rows = [...document.querySelectorAll('.rowside table.cells tr')]; \
         return rows.length === 3 && rows.map(row => [row.querySelector('th').textContent, \
         row.querySelector('.val').textContent]); })()",
    );
    let expected = serde_json::json!([
        ["info:age", "25"],
        ["info:email", "zhangsan@example.com"],
        ["info:name", "\u{5f20}\u{4e09}"],
    ]);
    assert_eq!(cells, expected);
    let listed = tab.eval("[...document.querySelectorAll('.row .c-k')].map(it => it.textContent)");
    assert_eq!(listed, serde_json::json!(["user_", "12345"]));
    assert_eq!(tab.take_problems(), [""; 0]);
}
