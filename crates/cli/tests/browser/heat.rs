//! The heat map by mouse and by keyboard.

use crate::heat_answer::{column_sums, means};
use crate::lab::tab;
use crate::map::{await_map, heat_of, heat_request, open_map, place, value_text};

const TABLE: &str = "traffic_hot_row";

#[test]
fn tooltip_has_value_of_answer() {
    let Some((lab, mut tab)) = tab() else { return };
    open_map(&mut tab, TABLE, lab.span_of("hot-row"), "&metric=reads");
    let heat = heat_of(lab, &tab);
    let (means, [x, y, w, h]) = (means(&heat), place(&mut tab));
    let columns = means[0].len();
    for (column, height) in [(0, 0.02), (1, 0.3), (2, 0.5), (columns - 1, 0.77)] {
        let columns = u32::try_from(columns).unwrap();
        let at = x + w * (f64::from(u32::try_from(column).unwrap()) + 0.5) / f64::from(columns);
        tab.mouse("mouseMoved", (at, y + h * height), false);
        tab.await_value("the tooltip", "!document.querySelector('.tip').hidden");
        let from = tab.eval("document.querySelector('.tip dd.raw')?.textContent || ''");
        let from = from.as_str().unwrap();
        let row = heat["row"].as_array().unwrap().iter().position(|row| {
            let escaped = row["start"]["escaped"].as_str().unwrap_or_default();
            escaped == from || (from == "(last)" && escaped.is_empty())
        });
        let row = row.unwrap_or_else(|| panic!("no row begins with {from}: {heat}"));
        let expected = value_text(&mut tab, "reads", means[row][column]);
        assert_eq!(tab.text(".tip .cellhead b"), expected, "{column}, {height}");
    }
    tab.screenshot("heat-tooltip");
    tab.mouse("mouseMoved", (5.0, 5.0), false);
    tab.await_value("no tooltip", "document.querySelector('.tip').hidden");
    assert_eq!(tab.take_problems(), [""; 0]);
}

#[test]
fn address_that_is_not_valid_is_told_and_replaced() {
    let Some((_, mut tab)) = tab() else { return };
    let path = format!("/t/{TABLE}/");
    for (bad, told) in [
        ("heat?order=pivot:nope", "nope"),
        ("heat?k0=zz", "k0"),
        ("heat?from=5&to=1", "times"),
        ("regions?sort=%3Cx%3E", "sort"),
    ] {
        tab.goto(&format!("{path}{bad}"));
        let is_told = format!("document.getElementById('toast').textContent.includes('{told}')");
        tab.await_value("a word on the address", &is_told);
        let shown = "document.querySelector('.hm-over')?.dataset.box || \
                     document.querySelector('[role=row][aria-rowindex]')";
        tab.await_value("the page", &format!("Boolean({shown})"));
        tab.await_value("no alert", "!document.querySelector('.empty[role=alert]')");
        if bad.starts_with("heat") {
            assert_eq!(tab.eval("location.search"), "", "{bad}");
        }
        tab.take_problems();
    }
}

#[test]
fn brush_zooms_and_back_restores() {
    let Some((lab, mut tab)) = tab() else { return };
    open_map(&mut tab, TABLE, lab.span_of("hot-row"), "&metric=reads");
    let (before, request) = (tab.eval("location.search"), heat_request(&tab));
    let [x, y, w, h] = place(&mut tab);
    tab.mouse("mouseMoved", (x + 0.3 * w, y + 0.2 * h), false);
    tab.mouse("mousePressed", (x + 0.3 * w, y + 0.2 * h), true);
    for part in [0.4, 0.5, 0.6] {
        tab.mouse("mouseMoved", (x + part * w, y + part * h), true);
    }
    tab.mouse("mouseReleased", (x + 0.6 * w, y + 0.6 * h), true);
    tab.await_value("a key in the address", "location.search.includes('k0=')");
    await_map(&mut tab);
    let zoomed = tab.eval("location.search");
    assert_ne!(zoomed, before);
    let (narrow, wide) = (heat_of(lab, &tab), lab.json(&request));
    let span =
        |heat: &serde_json::Value| heat["to"].as_i64().unwrap() - heat["from"].as_i64().unwrap();
    assert!(span(&narrow) < span(&wide), "{narrow}");
    let start = narrow["row"][0]["start"]["hex"].as_str().unwrap();
    assert!(zoomed.as_str().unwrap().contains(&format!("k0={start}")), "{zoomed} {start}");
    tab.eval("history.back()");
    let back = format!("location.search === {before}");
    tab.await_value("the address of before", &back);
    await_map(&mut tab);
    // A row of controls may have made the map lower meanwhile.
    let span = |path: &str| path[path.find("&from=").unwrap()..].to_owned();
    assert_eq!(span(&heat_request(&tab)), span(&request));
    assert_eq!(tab.take_problems(), [""; 0]);
}

#[test]
fn unsalted_order_has_sums_of_physical_order() {
    let Some((lab, mut tab)) = tab() else { return };
    let span = lab.span_of("salt-imbalance");
    open_map(&mut tab, "traffic_salt_imbalance", span, "&metric=reads");
    let physical = heat_of(lab, &tab);
    tab.click(".seg [data-id=unsalted]");
    tab.await_value("the order in the address", "location.search.includes('order=unsalted')");
    await_map(&mut tab);
    let unsalted = heat_of(lab, &tab);
    assert_eq!(unsalted["order"].as_str().unwrap_or("unsalted"), "unsalted");
    assert_equal_sums(&physical, &unsalted);
    tab.screenshot("heat-unsalted");
    assert_eq!(tab.take_problems(), [""; 0]);
}

/// Asserts that the columns of two answers have the same sums, and that there was load.
#[track_caller]
fn assert_equal_sums(one: &serde_json::Value, other: &serde_json::Value) {
    let (one, other) = (column_sums(one), column_sums(other));
    assert_eq!(one.len(), other.len());
    for (a, b) in one.iter().zip(&other) {
        assert!((a - b).abs() <= 0.01 * a.max(1.0), "{one:?} {other:?}");
    }
    assert!(one.iter().sum::<f64>() > 0.0);
}

/// Orders are salted by eight countries, so the ranges of a salt without load belong to none.
#[test]
fn pivot_by_keyboard_has_a_row_for_each_value() {
    let Some((lab, mut tab)) = tab() else { return };
    let span = lab.span_of("salt-imbalance");
    open_map(&mut tab, "traffic_salt_imbalance", span, "&metric=reads");
    let physical = heat_of(lab, &tab);
    tab.eval("document.querySelector('select[aria-label=Pivot]').focus()");
    tab.press("ArrowDown");
    tab.await_value("the pivot in the address", "location.search.includes('pivot%3Acountry')");
    await_map(&mut tab);
    let pivoted = heat_of(lab, &tab);
    assert_equal_sums(&physical, &pivoted);
    let loads: Vec<f64> = means(&pivoted).iter().map(|row| row.iter().sum()).collect();
    let rows = pivoted["row"].as_array().unwrap().iter().zip(loads);
    let mut countries: Vec<&str> = rows
        .filter(|(row, load)| *load > 0.0 && row["other"] != true)
        .map(|(row, _)| row["label"][0].as_str().unwrap())
        .collect();
    countries.sort_unstable();
    countries.dedup();
    assert_eq!(countries.len(), 8, "{pivoted}");
    tab.screenshot("heat-pivot");
    tab.eval("document.querySelector('select[aria-label=Pivot]').focus()");
    tab.press("ArrowUp");
    tab.await_value("no pivot in the address", "!location.search.includes('pivot')");
    await_map(&mut tab);
    assert_eq!(tab.take_problems(), [""; 0]);
}

#[test]
fn keyboard_reaches_and_reads_loudest_cell() {
    let Some((lab, mut tab)) = tab() else { return };
    open_map(&mut tab, TABLE, lab.span_of("hot-row"), "&metric=reads");
    let mut presses = 0;
    while tab.eval("document.activeElement.matches('.hm-over')") != true {
        presses += 1;
        assert!(presses < 80, "the map is not reached by Tab");
        tab.press("Tab");
    }
    tab.press("ArrowRight");
    let loudest = means(&heat_of(lab, &tab)).concat().into_iter().fold(0.0, f64::max);
    let expected = value_text(&mut tab, "reads", loudest);
    let said = tab.await_value("words", "document.getElementById('live').textContent");
    assert!(said.as_str().unwrap().contains(&expected), "{said} has no {expected}");
    tab.press("Enter");
    tab.await_value("a pinned cell", "!document.querySelector('.side').hidden");
    tab.await_value("the cell in the address", "location.search.includes('cell=')");
    assert_eq!(tab.text(".side .cellhead b"), expected);
    tab.screenshot("heat-pinned");
    tab.press("t");
    tab.await_value("the values as a table", "document.querySelector('dialog[open] table')");
    tab.press("Escape");
    tab.await_value("no dialog", "!document.querySelector('dialog[open]')");
    tab.eval("document.querySelector('.hm-over').focus()");
    tab.press("Escape");
    tab.await_value("no pinned cell", "document.querySelector('.side').hidden");
    tab.press("m");
    tab.await_value("the next metric", "location.search.includes('metric=examined')");
    await_map(&mut tab);
    assert_eq!(tab.take_problems(), [""; 0]);
}

#[test]
fn difference_of_period_with_itself_is_neutral() {
    let Some((lab, mut tab)) = tab() else { return };
    open_map(&mut tab, TABLE, lab.span_of("hot-row"), "&metric=reads");
    let path = heat_request(&tab);
    let colors = tab.eval(&format!(
        "(async () => {{
           const data = await import('/js/heatdata.js');
           const {{ HeatView }} = await import('/js/heatview.js');
           const {{ css, steps }} = await import('/js/ramp.js');
           const url = new URL('{path}', location.origin);
           const params = Object.fromEntries(url.searchParams);
           const ask = () => data.loadHeat('{TABLE}', params, new AbortController().signal)
             .catch(error => error.status === 503 ? ask() : Promise.reject(error));
           const heat = await ask();
           const look = {{ scale: 'region', unit: 's', brightness: 0, lock: null, before: heat }};
           const view = new HeatView(document.querySelector('.map'), {{ names: () => '' }});
           view.show(new data.HeatModel(heat, look));
           const {{ width, height }} = view.cells;
           const pixels = view.cells.getContext('2d').getImageData(0, 0, width, height).data;
           const found = new Set();
           for (let k = 0; k < pixels.length; k += 4)
             found.add(css([pixels[k], pixels[k + 1], pixels[k + 2]]));
           return [[...found], css(steps(true)[128])];
         }})()"
    ));
    assert_eq!(colors[0], serde_json::json!([colors[1]]));
}
