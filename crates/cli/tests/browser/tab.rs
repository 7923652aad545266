//! One tab of the browser, driven through the `DevTools` protocol: addresses, input, questions to the
//! page, and what went wrong in it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::chromium::Browser;

/// Longest wait for an answer, and for something to be so in the page.
const LIMIT: Duration = Duration::from_mins(1);
/// Time between two questions about something that is waited for.
const INTERVAL: Duration = Duration::from_millis(40);

/// Status of an answer that a busy server did not have in time. It is no problem: the page counts
/// down and asks again, and a test that waits for what it shows fails if it does not.
const BUSY: u64 = 503;

/// Noted in every page before its own scripts: violations of the content security policy.
const WATCH: &str = "window.violations = []; addEventListener('securitypolicyviolation', event => \
                     window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));";

/// Tab with a session of its own: nothing is shared with other tabs but the process.
pub(crate) struct Tab {
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    /// Scheme, host and port of the server.
    origin: String,
    last_id: u64,
    /// Requests without an answer yet, with their addresses and the loads of their documents.
    waiting: HashMap<String, (String, String)>,
    requests: Vec<String>,
    console: Vec<String>,
    problems: Vec<String>,
    has_busy_answer: bool,
}

impl Tab {
    /// Opens an empty tab for the pages of `origin`.
    pub(crate) fn open(browser: &Browser, origin: &str) -> Self {
        let stream = TcpStream::connect(browser.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let url = format!("ws://{}{}", browser.address, browser.path);
        let (socket, _) = tungstenite::client(url, stream).unwrap();
        let mut tab = Self {
            socket,
            session: None,
            origin: origin.to_owned(),
            last_id: 0,
            waiting: HashMap::new(),
            requests: Vec::new(),
            console: Vec::new(),
            problems: Vec::new(),
            has_busy_answer: false,
        };
        // Gone with the connection, the tab with it.
        let context = tab.call("Target.createBrowserContext", json!({"disposeOnDetach": true}));
        let target = tab.call(
            "Target.createTarget",
            json!({"url": "about:blank", "browserContextId": context["browserContextId"],
                   "newWindow": true}),
        );
        let attached = tab.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        tab.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.call("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        tab.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH}));
        tab.resize(1366, 900);
        tab
    }

    /// Sets the size of the page in pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1,
                             "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Opens a path of the server and waits until the page has all that it needs.
    pub(crate) fn goto(&mut self, path: &str) {
        let url = format!("{}{path}", self.origin);
        let navigation = self.call("Page.navigate", json!({"url": url}));
        if let Some(error) = navigation["errorText"].as_str() {
            self.fail(&format!("{url} did not load: {error}"));
        }
        // Of the requests of the document before it, the end is not always told.
        if let Some(load) = navigation["loaderId"].as_str() {
            self.waiting.retain(|_, (_, of)| of == load);
        }
        self.settle();
    }

    /// Waits until the page is loaded and no request is in progress.
    pub(crate) fn settle(&mut self) {
        let mut quiet = 0;
        let end = Instant::now() + LIMIT;
        // Work that waits for a moment without input begins within a few questions.
        while quiet < 4 {
            let ready = self.eval(
                "document.readyState === 'complete' && \
                 ![...document.querySelectorAll('[aria-busy=true]')].some(it => \
                 it.checkVisibility())",
            );
            let is_quiet = ready == true && self.waiting.is_empty();
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if Instant::now() > end {
                let waiting: Vec<&String> = self.waiting.values().map(|(url, _)| url).collect();
                let message = format!("the page still loads: {waiting:?}");
                self.fail(&message);
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Returns the value of an expression, after the promise that it may be.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let question = json!({"expression": expression, "awaitPromise": true,
                              "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", question);
        if let Some(exception) = answer.get("exceptionDetails") {
            let message = format!("{expression} threw {exception}");
            self.fail(&message);
        }
        answer["result"]["value"].take()
    }

    /// Waits until an expression is neither false, null, 0 nor empty; returns its value.
    pub(crate) fn await_value(&mut self, what: &str, expression: &str) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            let value = self.eval(expression);
            let is_missing = value.is_null() || value == false || value == 0 || value == "";
            if !is_missing {
                return value;
            }
            if Instant::now() > end {
                self.fail(&format!("waited {} s for: {what}", LIMIT.as_secs()));
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Returns the text of the first element that fits a selector.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let value = self.await_value(
            &format!("an element {selector}"),
            &format!(
                "document.querySelector({}) && {{text: document.querySelector({}).textContent}}",
                Value::from(selector),
                Value::from(selector)
            ),
        );
        value["text"].as_str().unwrap_or_default().to_owned()
    }

    /// Moves the mouse, or presses or releases its left button: `mouseMoved`, `mousePressed`,
    /// `mouseReleased`.
    pub(crate) fn mouse(&mut self, kind: &str, (x, y): (f64, f64), held: bool) {
        let button = if kind == "mouseMoved" && !held { "none" } else { "left" };
        let buttons = u32::from(held);
        self.call(
            "Input.dispatchMouseEvent",
            json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons,
                   "clickCount": u32::from(kind != "mouseMoved")}),
        );
    }

    /// Clicks on the middle of the first element that fits a selector.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.await_value(
            &format!("an element {selector} to click on"),
            &format!(
                "(() => {{ const box = document.querySelector({})?.getBoundingClientRect();
                 return box && box.width > 0 && [box.x + box.width / 2, box.y + box.height / 2];
                 }})()",
                Value::from(selector)
            ),
        );
        let at = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        self.mouse("mouseMoved", at, false);
        self.mouse("mousePressed", at, true);
        self.mouse("mouseReleased", at, false);
    }

    /// Presses a key: a character or a name as in `KeyboardEvent.key`.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "PageUp" => 33,
            "PageDown" => 34,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Backspace" => 8,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        let mut down = json!({"type": if text.is_empty() { "rawKeyDown" } else { "keyDown" },
                              "key": key, "code": key, "windowsVirtualKeyCode": code});
        if !text.is_empty() {
            down["text"] = text.into();
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code}),
        );
    }

    /// Stores a picture of the page as `target/browser/NAME.png`.
    pub(crate) fn screenshot(&mut self, name: &str) {
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("browser");
        fs::create_dir_all(&folder).unwrap();
        let bytes = from_base64(picture["data"].as_str().unwrap());
        fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }

    /// Returns the requests so far, without the origin.
    pub(crate) fn requests(&self) -> &[String] {
        &self.requests
    }

    /// Returns roles and names of what the accessibility tree shows.
    pub(crate) fn accessible(&mut self) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter();
        nodes
            .filter(|node| node["ignored"] != true)
            .map(|node| {
                let text = |name: &str| node[name]["value"].as_str().unwrap_or_default().to_owned();
                (text("role"), text("name").trim().to_owned())
            })
            .collect()
    }

    /// Returns what went wrong since the last call: exceptions, errors in the console, failed
    /// requests, requests to others, violations of the content security policy.
    pub(crate) fn take_problems(&mut self) -> Vec<String> {
        let violations = self.eval("window.violations.splice(0)");
        let violations = violations.as_array().unwrap().iter();
        let violations = violations.map(|text| format!("content security policy: {text}"));
        self.problems.extend(violations);
        std::mem::take(&mut self.problems)
    }

    /// Returns `true` if an answer since the last call was that the server is busy.
    pub(crate) fn take_busy(&mut self) -> bool {
        std::mem::take(&mut self.has_busy_answer)
    }

    /// Panics with what was expected, where the page was, and what it said.
    #[track_caller]
    pub(crate) fn fail(&mut self, what: &str) -> ! {
        let place = json!({"expression": "location.href"});
        let place = self.try_call("Runtime.evaluate", place);
        let place = place.map_or("unknown".into(), |it| it["result"]["value"].clone());
        panic!(
            "{what}\naddress: {place}\nconsole: {:#?}\nproblems: {:#?}",
            self.console, self.problems
        );
    }

    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        match self.try_call(method, parameters) {
            Ok(answer) => answer,
            Err(error) => panic!(
                "{method}: {error}\nconsole: {:#?}\nproblems: {:#?}",
                self.console, self.problems
            ),
        }
    }

    fn try_call(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"id": id, "method": method});
        message["params"] = parameters;
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let text = message.to_string();
        self.socket.send(Message::text(text)).map_err(|error| error.to_string())?;
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            let message = self.socket.read().map_err(|error| error.to_string())?;
            let Message::Text(text) = message else { continue };
            let mut message: Value =
                serde_json::from_str(text.as_str()).map_err(|error| error.to_string())?;
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(message["result"].take()),
                };
            }
            self.take_event(&message);
        }
        Err(format!("no answer within {} s", LIMIT.as_secs()))
    }

    fn take_event(&mut self, event: &Value) {
        let of = &event["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let request = text(&of["requestId"]);
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" => {
                let words = of["args"].as_array().into_iter().flatten();
                let words = words.map(|word| match &word["value"] {
                    Value::Null => text(&word["description"]),
                    value => value.to_string(),
                });
                let line = format!("{}: {}", of["type"], words.collect::<Vec<_>>().join(" "));
                if of["type"] == "error" || of["type"] == "assert" {
                    self.problems.push(format!("console {line}"));
                }
                self.console.push(line);
            }
            "Runtime.exceptionThrown" => {
                let details = &of["exceptionDetails"];
                let what = format!("{} {}", details["text"], details["exception"]["description"]);
                self.problems.push(format!("exception: {what}"));
            }
            "Log.entryAdded" if of["entry"]["level"] == "error" => {
                let entry = &of["entry"];
                let (what, url) = (text(&entry["text"]), text(&entry["url"]));
                if !what.contains(&format!("status of {BUSY}")) {
                    self.problems.push(format!("log: {what} {url}"));
                }
            }
            "Network.requestWillBeSent" => {
                let url = text(&of["request"]["url"]);
                let load = text(&of["loaderId"]);
                self.note_request(request, &url, load);
            }
            "Network.responseReceived" => {
                let (status, url) = (&of["response"]["status"], &of["response"]["url"]);
                if *status == BUSY {
                    self.has_busy_answer = true;
                } else if status.as_u64().is_some_and(|status| status >= 400) {
                    self.problems.push(format!("answer {status} of {url}"));
                }
            }
            "Network.loadingFinished" => drop(self.waiting.remove(&request)),
            "Network.loadingFailed" => {
                let (url, _) = self.waiting.remove(&request).unwrap_or_default();
                // Requests of a page that was left, or of a cell that the cursor left.
                if of["canceled"] != true {
                    self.problems.push(format!("request of {url} failed: {}", of["errorText"]));
                }
            }
            _ => {}
        }
    }

    fn note_request(&mut self, id: String, url: &str, load: String) {
        if let Some(path) = url.strip_prefix(&self.origin) {
            self.waiting.insert(id, (url.to_owned(), load));
            self.requests.push(path.to_owned());
        } else if !["data:", "blob:", "about:"].iter().any(|scheme| url.starts_with(scheme)) {
            self.problems.push(format!("request to another origin: {url}"));
        }
    }
}

/// Names of roles that a reader or a hand acts on.
pub(crate) fn controls() -> HashSet<&'static str> {
    HashSet::from([
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "listbox",
        "checkbox",
        "radio",
        "slider",
        "spinbutton",
        "switch",
        "grid",
        "application",
        "dialog",
        "navigation",
        "tab",
        "img",
        "image",
    ])
}

/// Decodes base64 with padding.
fn from_base64(text: &str) -> Vec<u8> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => u32::from(letter - b'A'),
        b'a'..=b'z' => u32::from(letter - b'a') + 26,
        b'0'..=b'9' => u32::from(letter - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => 0,
    };
    let padding = text.bytes().rev().take_while(|letter| *letter == b'=').count();
    let mut bytes: Vec<u8> = text
        .as_bytes()
        .chunks(4)
        .flat_map(|four| {
            let bits = four.iter().fold(0, |bits, letter| bits << 6 | digit(*letter));
            let [_, first, second, third] = bits.to_be_bytes();
            [first, second, third]
        })
        .collect();
    bytes.truncate(bytes.len() - padding);
    bytes
}
