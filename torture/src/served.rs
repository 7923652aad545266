//! `halite serve` as a child process that is started, called, killed and inspected.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use halite_patience::Program;
use rustix::process::{Pid, Signal, kill_process};

/// Maximum duration of a start; the stores here are small.
pub(crate) const START_LIMIT: Duration = Duration::from_mins(1);
/// Maximum duration of a clean shutdown.
pub(crate) const END_LIMIT: Duration = Duration::from_mins(1);

/// Range below the system's ephemeral ports. With an ephemeral port, a client that tries to reach a
/// stopped server may connect to itself.
const PORTS: std::ops::Range<u16> = 18_000..32_000;

/// Ports of a server, which stay the same after restarts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    master: u16,
    regionserver: u16,
    http: u16,
}

impl Ports {
    /// Returns three free ports.
    pub(crate) fn free(rng: &mut fastrand::Rng) -> Self {
        let mut port = || {
            loop {
                let port = rng.u16(PORTS);
                if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                    return port;
                }
            }
        };
        Self { master: port(), regionserver: port(), http: port() }
    }

    /// Returns the URI for clients.
    pub(crate) fn uri(self) -> String {
        format!("rpc://127.0.0.1:{}", self.master)
    }

    /// Returns the address of the master.
    pub(crate) fn master(self) -> SocketAddr {
        ([127, 0, 0, 1], self.master).into()
    }

    /// Returns the address of the region server.
    pub(crate) fn regionserver(self) -> SocketAddr {
        ([127, 0, 0, 1], self.regionserver).into()
    }

    /// Returns the address of the HTTP pages.
    pub(crate) fn http(self) -> SocketAddr {
        ([127, 0, 0, 1], self.http).into()
    }
}

/// Start parameters of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerSetup {
    /// Path of the `halite` command.
    pub(crate) program: PathBuf,
    /// Directory of the store.
    pub(crate) data: PathBuf,
    /// Ports of the server.
    pub(crate) ports: Ports,
    /// Additional flags.
    pub(crate) flags: Vec<String>,
    /// Environment variables.
    pub(crate) environment: Vec<(String, PathBuf)>,
}

impl ServerSetup {
    /// Starts a server without waiting.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub(crate) fn spawn(&self, more: &[&str]) -> Result<Served, String> {
        let mut command = Command::new(&self.program);
        let Ports { master, regionserver: region, http: web } = self.ports;
        let ports =
            [("--master-port", master), ("--regionserver-port", region), ("--http-port", web)];
        command
            .arg("serve")
            .arg("--data")
            .arg(&self.data)
            .args(["--zookeeper-port", "off"])
            .args(&self.flags)
            .args(more);
        for (flag, port) in ports {
            command.arg(flag).arg(port.to_string());
        }
        command
            .env_remove("HALITE_DATA")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(Served { program: Program::start(&mut command)? })
    }

    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// Returns an error if it exits or is not ready in time.
    pub(crate) fn start(&self, more: &[&str]) -> Result<Served, String> {
        let served = self.spawn(more)?;
        served.await_ready()?;
        Ok(served)
    }

    /// Runs a `halite` command on the store.
    ///
    /// # Errors
    /// Returns an error if it cannot be started, or does not exit in time.
    pub(crate) fn run(&self, command: &str) -> Result<Output, String> {
        run(&self.program, command, &self.data)
    }
}

/// Runs a `halite` command on a store.
///
/// # Errors
/// Returns an error if it cannot be started, or does not exit in time.
pub(crate) fn run(program: &Path, command: &str, data: &Path) -> Result<Output, String> {
    halite_patience::output(
        Command::new(program).arg(command).arg(data).env_remove("HALITE_DATA"),
        END_LIMIT,
    )
}

/// Server process, running or exited.
pub(crate) struct Served {
    program: Program,
}

impl Served {
    /// Waits until it is ready.
    ///
    /// # Errors
    /// Returns an error if it exits or is not ready in time.
    pub(crate) fn await_ready(&self) -> Result<(), String> {
        let is_ready =
            |text: &str| text.lines().any(|line| line.starts_with("ready ")).then_some(());
        self.program
            .stdout()
            .find(START_LIMIT, is_ready)
            .ok_or_else(|| self.program.failure_message("did not become ready"))
    }

    /// Sends a signal. The process may have exited.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let _ = kill_process(Pid::from_child(self.program.child()), signal);
    }

    /// Returns `true` if it has exited.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.program.child().try_wait(), Ok(None))
    }

    /// Waits briefly for its exit: the output ends before the process does.
    pub(crate) fn await_end(&mut self) {
        let _ = halite_patience::wait(self.program.child(), Duration::from_secs(5));
    }

    /// Returns the whole log of an exited server.
    pub(crate) fn final_log(&self) -> String {
        String::from_utf8_lossy(&self.program.stderr().all(Duration::from_secs(5))).into_owned()
    }

    /// Returns the log so far.
    pub(crate) fn log(&self) -> String {
        self.program.stderr().text()
    }

    /// Kills it, and returns its log.
    ///
    /// # Errors
    /// Returns an error if it does not exit in time.
    pub(crate) fn kill(mut self) -> Result<String, String> {
        self.signal(Signal::KILL);
        self.program
            .wait(END_LIMIT)
            .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Sends SIGTERM and waits for the exit.
    ///
    /// # Errors
    /// Returns an error if it does not exit in time.
    pub(crate) fn end(mut self) -> Result<Output, String> {
        self.signal(Signal::TERM);
        self.program.wait(END_LIMIT)
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.program.id()
    }

    /// Returns a message with the problem and the output.
    pub(crate) fn failure_message(&self, what: &str) -> String {
        self.program.failure_message(what)
    }
}

/// Returns the resident memory of a process in bytes.
pub(crate) fn resident_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// Returns the milliseconds since a moment.
pub(crate) fn ms_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
