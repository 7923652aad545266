//! Keys, qualifiers and values that would be markup, control a terminal, or are no text.

use crate::lab::{HOSTILE, tab};

/// Elements that no page makes, and the mark that a script of a row would leave.
const FOREIGN: &str = "[...document.querySelectorAll('img, iframe, object, embed, main script, \
                       main svg[onload], main [onerror]')].map(it => it.outerHTML)";

#[test]
fn hostile_rows_are_shown_as_text() {
    let Some((_, mut tab)) = tab() else { return };
    for form in ["decoded", "escaped", "hex"] {
        tab.goto(&format!("/t/hostile/rows?by=key&keys={form}"));
        tab.await_value("eight rows", "document.querySelectorAll('.row').length === 8");
        let text = tab.text("main");
        if form == "decoded" {
            assert!(text.contains(HOSTILE[0]) && text.contains(HOSTILE[1]), "{text}");
        }
        assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{1b}', '\0']), "{text:?}");
        // Each row in the card beside the list, where keys and values are whole.
        for row in 0..8 {
            tab.eval(&format!("document.querySelectorAll('.row')[{row}].click()"));
            let card = tab.text(".rowside");
            assert!(!card.contains(['\u{202e}', '\u{200b}', '\u{1b}', '\0']), "{card:?}");
        }
        tab.screenshot(&format!("hostile-{form}"));
        assert_eq!(tab.eval(FOREIGN), serde_json::json!([]));
        assert!(tab.eval("window.ran").is_null());
        assert_eq!(tab.take_problems(), [""; 0]);
    }
}

#[test]
fn hostile_address_is_shown_as_text() {
    let Some((_, mut tab)) = tab() else { return };
    let hostile = "%3Cscript%3Ewindow.ran=1%3C%2Fscript%3E%3Cimg%20src=x%20onerror=window.ran=1%3E";
    for path in [
        format!("/t/{hostile}/regions"),
        format!("/t/users/rows?by=key&prefix={hostile}"),
        format!("/t/users/heat?metric={hostile}&order=pivot:{hostile}&cell={hostile}"),
        format!("/t/users/schema?plan={hostile}"),
        format!("/tables?q={hostile}&sort={hostile}"),
        format!("/activity?show={hostile}&table={hostile}"),
    ] {
        tab.goto(&path);
        assert_eq!(tab.eval(FOREIGN), serde_json::json!([]), "{path}");
        assert!(tab.eval("window.ran").is_null(), "{path}");
        // Refused requests are problems of the address, exceptions and violations of the page.
        let problems = tab.take_problems();
        let own = problems.iter().filter(|it| {
            !it.starts_with("answer ") && !it.starts_with("log: Failed to load resource")
        });
        assert_eq!(own.collect::<Vec<_>>(), [""; 0], "{path}");
    }
}
