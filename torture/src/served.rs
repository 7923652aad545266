//! `halite serve` as a process that is started, asked, killed and looked at.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use halite_patience::Program;
use rustix::process::{Pid, Signal, kill_process};

/// How long a start may take; the stores here are small.
pub(crate) const START_LIMIT: Duration = Duration::from_mins(1);
/// How long a clean end may take.
pub(crate) const END_LIMIT: Duration = Duration::from_mins(1);

/// Ports below those that the system gives to connections which begin here. With one of those a client that tries to reach a server
/// which is down may connect to itself.
const PORTS: std::ops::Range<u16> = 18_000..32_000;

/// The ports of a server, the same in all its lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    master: u16,
    region: u16,
    web: u16,
}

impl Ports {
    /// Three that nobody listens on.
    pub(crate) fn free(rng: &mut fastrand::Rng) -> Self {
        let mut port = || {
            loop {
                let port = rng.u16(PORTS);
                if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                    return port;
                }
            }
        };
        Self { master: port(), region: port(), web: port() }
    }

    /// Where clients begin.
    pub(crate) fn uri(self) -> String {
        format!("rpc://127.0.0.1:{}", self.master)
    }

    /// Of the master.
    pub(crate) fn master(self) -> SocketAddr {
        ([127, 0, 0, 1], self.master).into()
    }

    /// Of the region server.
    pub(crate) fn region(self) -> SocketAddr {
        ([127, 0, 0, 1], self.region).into()
    }

    /// Of the pages.
    pub(crate) fn web(self) -> SocketAddr {
        ([127, 0, 0, 1], self.web).into()
    }
}

/// How a server is started.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The command `halite`.
    pub(crate) program: PathBuf,
    /// The store.
    pub(crate) data: PathBuf,
    /// Where it listens.
    pub(crate) ports: Ports,
    /// More flags.
    pub(crate) flags: Vec<String>,
    /// Variables of its environment.
    pub(crate) environment: Vec<(String, PathBuf)>,
}

impl Setting {
    /// Starts a server and does not wait.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn spawn(&self, more: &[&str]) -> Result<Served, String> {
        let mut command = Command::new(&self.program);
        let Ports { master, region, web } = self.ports;
        let ports = [("--master-port", master), ("--regionserver-port", region), ("--http-port", web)];
        command.arg("serve").arg("--data").arg(&self.data).args(["--zookeeper-port", "off"]).args(&self.flags).args(more);
        for (flag, port) in ports {
            command.arg(flag).arg(port.to_string());
        }
        command.env_remove("HALITE_DATA").envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(Served { program: Program::start(&mut command)? })
    }

    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// It ends before, or takes too long.
    pub(crate) fn start(&self, more: &[&str]) -> Result<Served, String> {
        let served = self.spawn(more)?;
        served.await_ready()?;
        Ok(served)
    }

    /// Runs `halite` with a command for the store.
    ///
    /// # Errors
    /// It cannot be started, or does not end in time.
    pub(crate) fn run(&self, command: &str) -> Result<Output, String> {
        run(&self.program, command, &self.data)
    }
}

/// Runs `halite` with a command for a store.
///
/// # Errors
/// It cannot be started, or does not end in time.
pub(crate) fn run(program: &Path, command: &str, data: &Path) -> Result<Output, String> {
    halite_patience::output(Command::new(program).arg(command).arg(data).env_remove("HALITE_DATA"), END_LIMIT)
}

/// A server, dead or alive.
pub(crate) struct Served {
    program: Program,
}

impl Served {
    /// Waits until it is ready.
    ///
    /// # Errors
    /// It ends before, or takes too long.
    pub(crate) fn await_ready(&self) -> Result<(), String> {
        let is_ready = |text: &str| text.lines().any(|line| line.starts_with("ready ")).then_some(());
        self.program.stdout().find(START_LIMIT, is_ready).ok_or_else(|| self.program.complaint("did not become ready"))
    }

    /// Sends a signal. It may be gone.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let _ = kill_process(Pid::from_child(self.program.child()), signal);
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.program.child().try_wait(), Ok(None))
    }

    /// Waits a little for its end: an output ends before its process does.
    pub(crate) fn await_end(&mut self) {
        let _ = halite_patience::wait(self.program.child(), Duration::from_secs(5));
    }

    /// All that it has logged, of one that has ended.
    pub(crate) fn last_words(&self) -> String {
        String::from_utf8_lossy(&self.program.stderr().all(Duration::from_secs(5))).into_owned()
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.program.stderr().text()
    }

    /// Kills it, and gives what it logged.
    ///
    /// # Errors
    /// It does not end in time.
    pub(crate) fn kill(mut self) -> Result<String, String> {
        self.signal(Signal::KILL);
        self.program.wait(END_LIMIT).map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Asks it to end, and waits for that.
    ///
    /// # Errors
    /// It does not end in time.
    pub(crate) fn end(mut self) -> Result<Output, String> {
        self.signal(Signal::TERM);
        self.program.wait(END_LIMIT)
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.program.id()
    }

    /// What is wrong with it, and what it has said.
    pub(crate) fn complaint(&self, what: &str) -> String {
        self.program.complaint(what)
    }
}

/// Bytes of memory that a process has.
pub(crate) fn resident_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// Milliseconds since a moment.
pub(crate) fn ms_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
