//! Loser tree: determines which of many sorted runs has the next row, with one comparison per
//! level.
//!
//! Inner nodes contain the run that lost there, the root the winner. After the winner has advanced,
//! only the nodes on its path to the root can change.

/// Tournament of `runs` runs.
#[derive(Debug, Default)]
pub(super) struct LoserTree {
    /// Loser of each inner node; node 1 is the root, the children of node `n` are `2n` and
    /// `2n + 1`, and run `r` is at `runs + r`.
    losers: Vec<usize>,
    winner: usize,
}

impl LoserTree {
    /// Creates a tree over `runs` runs, at least one. `is_before(a, b)` returns `true` if the head
    /// of run `a` comes before that of `b`; a run without rows comes after all others.
    pub(super) fn new(runs: usize, is_before: impl Fn(usize, usize) -> bool) -> Self {
        let mut winners = vec![0; 2 * runs];
        let mut losers = vec![0; runs];
        for run in 0..runs {
            winners[runs + run] = run;
        }
        for node in (1..runs).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if is_before(b, a) { (b, a) } else { (a, b) };
            winners[node] = winner;
            losers[node] = loser;
        }
        // With one run there is no inner node, and the run itself is at 1.
        let winner = winners.get(1).copied().unwrap_or(0);
        Self { losers, winner }
    }

    /// Returns the run with the first row.
    pub(super) fn winner(&self) -> usize {
        self.winner
    }

    /// Determines the winner again after its head has changed.
    pub(super) fn replay(&mut self, is_before: impl Fn(usize, usize) -> bool) {
        let mut node = usize::midpoint(self.losers.len(), self.winner);
        while node > 0 {
            if is_before(self.losers[node], self.winner) {
                std::mem::swap(&mut self.losers[node], &mut self.winner);
            }
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loser_tree_merges_any_number_of_runs() {
        for runs in 1..40_usize {
            let mut heads: Vec<Vec<usize>> = (0..runs)
                .map(|run| (0..run % 7).map(|row| (row * 31 + run * 17) % 101).collect())
                .collect();
            heads.iter_mut().for_each(|run| run.sort_unstable_by(|a, b| b.cmp(a)));
            let mut expected: Vec<_> = heads.iter().flatten().copied().collect();
            expected.sort_unstable();
            let before =
                |heads: &[Vec<usize>], a: usize, b: usize| match (heads[a].last(), heads[b].last())
                {
                    (Some(first), Some(second)) => (first, a) < (second, b),
                    (first, _) => first.is_some(),
                };
            let mut tree = LoserTree::new(runs, |a, b| before(&heads, a, b));
            let mut merged = Vec::new();
            while let Some(row) = heads[tree.winner()].pop() {
                merged.push(row);
                tree.replay(|a, b| before(&heads, a, b));
            }
            assert_eq!(merged, expected, "{runs} runs");
        }
    }
}
