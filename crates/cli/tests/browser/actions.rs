//! The actions on a region: what they offer, and why not.

use serde_json::json;

use crate::lab::tab;

/// Adds a server to what the API says of the cluster.
const SECOND_SERVER: &str = "
    const ask = window.fetch;
    window.fetch = async (...request) => {
      const answer = await ask(...request);
      if (!answer.ok || !String(request[0]).includes('/api/cluster')) return answer;
      const cluster = await answer.json();
      const [first] = cluster.servers;
      cluster.servers.push({ ...first, name: 'second.test,16020,1', regions: 0 });
      return Response.json(cluster);
    };";

/// The button that moves a region.
const MOVE: &str = "[...document.querySelectorAll('.drawer .acts button')]\
                    .find(button => button.textContent.includes('Move'))";

#[test]
fn region_is_moved_to_one_of_the_other_servers() {
    let Some((lab, mut tab)) = tab() else { return };
    let regions = lab.json("/api/tables/testtable/regions");
    let name = regions["regions"][1]["encoded_name"].as_str().unwrap();
    let path = format!("/t/testtable/regions?region={name}");
    tab.goto(&path);
    tab.await_value("the actions", MOVE);
    assert_eq!(tab.eval(&format!("{MOVE}.disabled")), true);
    let why = tab.eval(&format!("{MOVE}.title"));
    assert_eq!(why, "The cluster has no other region server");

    tab.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": SECOND_SERVER}));
    tab.goto(&path);
    tab.await_value("the actions", &format!("{MOVE} && !{MOVE}.disabled"));
    tab.eval(&format!("{MOVE}.click()"));
    let servers = "[...document.querySelectorAll('dialog option')].map(one => one.value).join()";
    assert_eq!(tab.await_value("the servers", servers), "second.test,16020,1");
    // The dry run asks the server, which knows of no second one.
    let said = "document.querySelector('dialog .would').textContent.includes('one region server')";
    tab.await_value("the reason", said);
    assert_eq!(tab.eval("document.querySelector('dialog .btn.pri').disabled"), true);
    tab.screenshot("region-move");
}
