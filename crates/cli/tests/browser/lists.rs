//! Long lists: few rows in the document, whatever their length.

use crate::lab::{MANY, tab};

const ROWS: &str = "document.querySelectorAll('.row').length";

#[test]
fn many_regions_are_few_rows_in_document() {
    let Some((lab, mut tab)) = tab() else { return };
    tab.goto("/t/many/regions");
    let total = format!("document.querySelector('[role=grid]').ariaRowCount === '{}'", MANY + 1);
    tab.await_value("the number of all regions", &total);
    let check = |tab: &mut crate::tab::Tab| {
        let rows = tab.eval(ROWS).as_u64().unwrap();
        assert!((1..=60).contains(&rows), "{rows} rows in the document");
    };
    check(&mut tab);
    for part in [0.1, 0.5, 0.77, 1.0] {
        tab.eval(&format!(
            "(() => {{ const list = document.querySelector('.scroll'); list.scrollTop = \
             list.scrollHeight * {part}; }})()"
        ));
        tab.await_value("rows at the scrolled place", "!document.querySelector('.row .ghost')");
        check(&mut tab);
    }
    tab.press("Home");
    tab.eval("document.querySelector('.scroll').focus()");
    tab.press("End");
    let last = lab.json(&format!("/api/tables/many/regions?keys=escaped&offset={}", MANY - 1));
    let key = last["regions"][0]["start_key"]["escaped"].as_str().unwrap();
    let at_end =
        format!("document.querySelector('#row-{} .c-start')?.textContent === '{key}'", MANY - 1);
    tab.await_value("the last region after End", &at_end);
    let chosen = tab.eval(
        "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')) \
         .getBoundingClientRect().bottom <= innerHeight",
    );
    assert_eq!(chosen, true, "the last row is in view");
    check(&mut tab);
    tab.screenshot("many-end");
    assert_eq!(tab.take_problems(), [""; 0]);
}

#[test]
fn filter_keeps_regions_that_fit() {
    let Some((_, mut tab)) = tab() else { return };
    tab.goto("/t/testtable/regions");
    tab.press("f");
    tab.await_value("the filter", "document.activeElement.matches('[data-filter]')");
    for letter in "nowhere".chars() {
        tab.press(&letter.to_string());
    }
    let text = "document.querySelector('.over-state')?.textContent.includes('nowhere')";
    tab.await_value("words about no region", text);
    assert!(tab.eval("location.search").as_str().unwrap().contains("q=nowhere"));
    tab.click(".over-state button");
    tab.await_value("all regions", "document.querySelectorAll('.row').length === 4");
    assert_eq!(tab.take_problems(), [""; 0]);
}
