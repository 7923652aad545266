//! Recorded operations under another row key, chosen by mouse and written by keyboard.

use serde_json::Value;

use crate::lab::{COLUMN_MS, Lab, tab};
use crate::map::{Picture, mean, variation};
use crate::tab::Tab;

const PATH: &str = "/t/traffic_frontier/what-if";

/// Returns the answer that the page shows.
fn shown_answer(lab: &Lab, tab: &Tab) -> Value {
    let is_answer = |path: &&String| path.contains("/what-if?") && path.contains("row_key=");
    lab.json(tab.requests().iter().rev().find(is_answer).unwrap())
}

/// Waits for the metrics under a key, which is named above the second map.
fn await_key(tab: &mut Tab, ddl: &str) {
    let shown = format!(
        "!document.querySelector('.wi.waits') && document.querySelector('.deltas') && \
         document.querySelectorAll('.wihead code')[1]?.textContent === {}",
        Value::from(ddl)
    );
    tab.await_value(&format!("metrics of {ddl}"), &shown);
    tab.settle();
}

/// Asserts that the metrics of the page are those of the answer.
#[track_caller]
fn assert_figures(tab: &mut Tab, answer: &Value) {
    let shown = tab.eval(
        "(() => { const at = id => [...document.querySelectorAll('.delta')].find(delta => \
         delta.querySelector('.note').textContent.includes(id)); \
         const texts = id => [...at(id).querySelectorAll('dd span, dd b')].map(it => \
         it.textContent); return { d1: texts('D1,'), d2: texts('D2,') }; })()",
    );
    for id in ["d1", "d2"] {
        let mut text = |which: &str| {
            let value = answer["metrics"][id][which].as_f64().unwrap();
            tab.eval(&format!("(async () => (await import('/js/format.js')).factor({value}))()"))
        };
        let (now, then) = (text("now"), text("then"));
        assert_eq!(shown[id][0], format!("{} \u{2192} ", now.as_str().unwrap()), "{id}");
        assert_eq!(shown[id][1], then, "{id}");
    }
}

#[test]
fn frontier_is_spread_by_other_keys() {
    let Some((lab, mut tab)) = tab() else { return };
    let (from, to) = lab.span_of("frontier");
    let steady = lab.steady_columns("frontier", (from, to));
    let columns = u64::try_from((to - from) / COLUMN_MS).unwrap();
    // High enough for the last one of 256 ranges to have pixels that are not at a border.
    tab.resize(1366, 2000);
    tab.goto(&format!("{PATH}?from={from}&to={to}&metric=writes&theme=light"));
    let asked = lab.json("/api/tables/traffic_frontier/what-if");
    let keys: Vec<&str> = asked["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ddl"].as_str().unwrap())
        .collect();
    assert!(keys.len() >= 2, "{asked}");
    tab.click(".cands .cand");
    await_key(&mut tab, keys[0]);
    let answer = shown_answer(lab, &tab);
    assert_figures(&mut tab, &answer);
    let now = Picture::of_map(&mut tab, columns, 0).with_columns(&steady);
    let dark: Vec<f64> = now.dark(9).iter().map(|places| mean(places)).collect();
    assert!(dark.iter().all(|center| *center > 0.8), "it is at the end: {dark:?}");
    let then = Picture::of_map(&mut tab, columns, 1).with_columns(&steady);
    let bands = then.band_means(8);
    assert!(bands.iter().all(|step| *step > 0.0) && variation(&bands) < 0.5, "{bands:?}");
    tab.screenshot("what-if-mouse");

    tab.eval("document.querySelector('[data-filter]').focus()");
    for character in keys[1].chars() {
        tab.press(&character.to_string());
    }
    tab.press("Enter");
    await_key(&mut tab, keys[1]);
    let answer = shown_answer(lab, &tab);
    assert_figures(&mut tab, &answer);
    tab.screenshot("what-if-keyboard");
    assert_eq!(tab.take_problems(), [""; 0]);
}
