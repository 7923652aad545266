//! Ports of servers that are started again: any free port may have another owner by then.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// First port, above those of known services.
const FIRST: u32 = 20_000;
/// Number of ports, up to those that systems give to programs that ask for any.
const COUNT: u32 = 12_000;

/// Returns ports that are free and that the system gives to no program that asks for any. No other
/// caller in this process gets them.
///
/// # Panics
/// Panics if all ports are taken.
#[must_use]
pub fn lasting_ports<const N: usize>() -> [u16; N] {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Programs that run at the same time begin at different ports.
    let begin = std::process::id().wrapping_mul(97);
    std::array::from_fn(|_| {
        let found = (0..COUNT).find_map(|_| {
            let place = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
            let port = u16::try_from(FIRST + place % COUNT).ok()?;
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok().then_some(port)
        });
        found.expect("a free port")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_different_and_free() {
        let (one, other) = (lasting_ports::<3>(), lasting_ports::<2>());
        let all: std::collections::BTreeSet<u16> = one.into_iter().chain(other).collect();
        assert_eq!(all.len(), 5);
        for port in all {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        }
    }
}
