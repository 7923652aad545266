//! Generated lines: a few hosts write most, at whole seconds, as loggers do; some lines are late,
//! some are delivered twice.

use logs::Line;

use crate::random::Random;
use crate::recipe::Load;

/// Time of all lines.
const SPAN_MS: u64 = 6 * 3_600_000;
const SECOND_MS: u64 = 1_000;
/// Lines of one host in the mean.
const HOST_LINES: u64 = 500;
const MAX_HOSTS: u64 = 10_000;
const EVENTS: [&str; 6] = ["http", "http.error", "db", "auth", "cron", "kernel"];

/// Generator of lines by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    pub(super) load: Load,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load) -> Self {
        Self { load }
    }

    /// Returns the number of hosts, at least 4.
    pub fn hosts(&self) -> u64 {
        (self.load.items / HOST_LINES).clamp(4, MAX_HOSTS)
    }

    /// Returns the name of a host; host 0 writes the most. Some names begin with others.
    pub fn host(&self, rank: u64) -> String {
        match rank {
            1 => "web-10".to_owned(),
            9 => "web-2".to_owned(),
            other => format!("web-{}", other + 1),
        }
    }

    /// Returns the name of an event. Some names begin with others.
    pub fn event(&self, rank: u64) -> String {
        EVENTS[usize::try_from(rank).unwrap_or(0) % EVENTS.len()].to_owned()
    }

    /// Returns the number of events.
    pub fn events(&self) -> u64 {
        EVENTS.len() as u64
    }

    /// Returns a time after the lines before a number.
    pub fn end_ms(&self, items: u64) -> i64 {
        self.second(items) + SECOND_MS.cast_signed()
    }

    /// Returns an item.
    pub fn item(&self, number: u64) -> Line {
        let mut random = Random::new(self.load.seed, 1, number);
        if number > 0 && random.one_in(100) {
            // A line that is delivered a second time, because its first reply was lost.
            return self.line(number - 1 - random.below(number.min(50)));
        }
        self.line(number)
    }

    fn line(&self, number: u64) -> Line {
        let mut random = Random::new(self.load.seed, 2, number);
        let late_ms = if random.one_in(100) { random.below(600) * SECOND_MS } else { 0 };
        let event = self.event(random.zipf(self.events()));
        let message = match &event[..] {
            "http" => format!("GET /item/{} 200 {} ms", random.zipf(10_000), random.below(90)),
            "http.error" => format!("GET /item/{} 503", random.zipf(10_000)),
            "db" => format!("{} rows in {} ms", random.below(1_000), random.below(90)),
            _ => format!("job {} of {}", random.below(1_000_000), random.below(64)),
        };
        Line {
            host: self.host(random.zipf(self.hosts())),
            event,
            at_ms: self.second(number) - late_ms.cast_signed(),
            sequence: u32::try_from(number % (1 << 32)).unwrap_or(0),
            message,
        }
    }

    /// Returns the second of a line that is not late.
    fn second(&self, number: u64) -> i64 {
        let second_ms = SECOND_MS.cast_signed();
        // The span begins at a whole second.
        self.load.time_ms(number, SPAN_MS) / second_ms * second_ms
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 50_000 });
        let lines: Vec<Line> = (0..50_000).map(|number| generator.item(number)).collect();
        let (mut seconds, mut delivered) = (BTreeMap::new(), BTreeMap::new());
        for line in &lines {
            assert!(line.at_ms % 1_000 == 0 && line.at_ms < generator.end_ms(50_000));
            *seconds.entry((&line.host, &line.event, line.at_ms)).or_insert(0) += 1;
            *delivered.entry(line.sequence).or_insert(0) += 1;
        }
        let same = seconds.values().filter(|count| **count > 1).count();
        let twice = delivered.values().filter(|count| **count > 1).count();
        assert!(same > 500 && twice > 300, "{same} {twice}");
        let late = lines.windows(2).filter(|pair| pair[1].at_ms < pair[0].at_ms).count();
        assert!(late > 300, "{late}");
    }
}
