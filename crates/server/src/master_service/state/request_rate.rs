//! Requests per second, as the cluster status reports them.

use std::sync::Mutex;

use crate::outside::Instant;

/// Requests per second, measured between two reads at least a second apart.
#[derive(Debug)]
pub(crate) struct RequestRate(Mutex<(Instant, u64, u64)>);

impl Default for RequestRate {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), 0, 0)))
    }
}

impl RequestRate {
    /// Returns requests per second, given the total number of requests.
    pub(crate) fn update(&self, total: u64) -> u64 {
        let Ok(mut last) = self.0.lock() else { return 0 };
        let (since, before, rate) = *last;
        let seconds = since.elapsed().as_secs();
        if seconds == 0 {
            return rate;
        }
        let rate = total.saturating_sub(before) / seconds;
        *last = (Instant::now(), total, rate);
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_rate_needs_elapsed_second() {
        let rate = RequestRate::default();
        assert_eq!(rate.update(1000), 0);
        rate.0.lock().unwrap().0 =
            Instant::now().checked_sub(std::time::Duration::from_secs(2)).unwrap();
        assert_eq!((rate.update(1000), rate.update(5000)), (500, 500));
    }
}
