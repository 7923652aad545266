//! The browser of all tests: found, started once, reached through its `DevTools` port.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::guarded::Guarded;

/// How to get what the tests need.
const MISSING: &str = "chromium not found in PATH: the web page is tested in it; on Debian: \
                       apt-get install chromium fonts-noto-core fonts-noto-mono";

/// Longest start of the browser on a busy machine.
const START: Duration = Duration::from_mins(2);

/// Running browser.
pub(crate) struct Browser {
    _process: Guarded,
    /// Address of its port.
    pub(crate) address: SocketAddr,
    /// Path of the socket that controls it.
    pub(crate) path: String,
}

/// Returns the browser, or `None` if there is none and that is allowed.
pub(crate) fn browser() -> Option<&'static Browser> {
    static BROWSER: OnceLock<Option<Browser>> = OnceLock::new();
    BROWSER.get_or_init(|| find().map(|program| start(&program))).as_ref()
}

/// Returns the program, or `None` after a message where no step may be left out only in CI.
///
/// # Panics
/// Panics if it is missing in CI.
fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
    let found = found.into_iter().find(|program| program.is_file());
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    assert!(found.is_some() || !is_ci, "{MISSING}");
    if found.is_none() {
        // Past the runner, which hides what passing tests print.
        let _ = writeln!(std::io::stderr(), "skipped: {MISSING}");
    }
    found
}

fn start(program: &Path) -> Browser {
    let profile =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{}", std::process::id()));
    fs::create_dir_all(&profile).unwrap();
    let user_data = format!("--user-data-dir={}", profile.display());
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-port=0",
        "--force-device-scale-factor=1",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-extensions",
        "--disable-sync",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-breakpad",
        "--disable-crash-reporter",
        &user_data,
        "about:blank",
    ];
    let process = Guarded::start(program.to_str().unwrap(), &arguments, &profile);
    let port_file = profile.join("DevToolsActivePort");
    let port_and_path = halite_patience::poll_until(START, || {
        let text = fs::read_to_string(&port_file).ok()?;
        let (port, path) = text.split_once('\n')?;
        (!path.is_empty()).then(|| (port.parse::<u16>().ok(), path.trim().to_owned()))
    });
    let Some((Some(port), path)) = port_and_path else {
        panic!("{}", process.failure_message("opened no DevTools port"));
    };
    Browser { _process: process, address: ([127, 0, 0, 1], port).into(), path }
}
