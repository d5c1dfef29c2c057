//! One key per CPU, and which is the least.

use fairlab_units::CpuId;

/// The key of who has none.
const NONE: u128 = u128::MAX;

/// A tournament of CPUs: the least key wins. A change plays the matches of one CPU again, up to the first
/// whose winner stays the same; nothing is left behind by keys that were replaced.
///
/// ```text
///   nodes      1            the winner of all
///            2   3
///           4 5 6 7         who plays at the bottom: the CPUs 0 to 3 are 4 to 7
/// ```
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    keys: Vec<u128>,
    /// The winner of each match, by node; node 0 does not exist.
    winners: Vec<u32>,
}

impl Tournament {
    /// Nobody has a key.
    pub(super) fn new(nr_cpus: usize) -> Self {
        let size = nr_cpus.next_power_of_two().max(2);
        let mut winners = vec![0; size];
        for node in (1..size).rev() {
            // Of two without a key, the first.
            winners[node] = if node >= size / 2 {
                (2 * node - size) as u32
            } else {
                winners[2 * node]
            };
        }
        Self {
            keys: vec![NONE; size],
            winners,
        }
    }

    /// Gives `cpu` a key, instead of the one that it may have.
    #[inline]
    pub(super) fn set(&mut self, cpu: CpuId, key: u128) {
        self.keys[cpu.index()] = key;
        self.replay(cpu);
    }

    /// Takes the key of `cpu` away.
    #[inline]
    pub(super) fn clear(&mut self, cpu: CpuId) {
        if self.keys[cpu.index()] != NONE {
            self.set(cpu, NONE);
        }
    }

    /// The key of `cpu`, or the greatest of all.
    #[inline]
    pub(super) fn key(&self, cpu: CpuId) -> u128 {
        self.keys[cpu.index()]
    }

    /// The least key, and whose it is; the greatest of all when nobody has one.
    #[inline]
    pub(super) fn first(&self) -> (u128, CpuId) {
        let cpu = self.winners[1];
        (self.keys[cpu as usize], CpuId(cpu))
    }

    fn replay(&mut self, cpu: CpuId) {
        let size = self.keys.len();
        let mut node = (size + cpu.index()) / 2;
        let first = (2 * node - size) as u32;
        let mut rivals = [first, first + 1];
        loop {
            let [a, b] = rivals;
            let winner = if self.keys[b as usize] < self.keys[a as usize] {
                b
            } else {
                a
            };
            let before = std::mem::replace(&mut self.winners[node], winner);
            // Who lost here, before and now, plays no match above.
            if node == 1 || (before == winner && winner != cpu.0) {
                return;
            }
            node /= 2;
            rivals = [self.winners[2 * node], self.winners[2 * node + 1]];
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlab_rng::Rng;

    use super::*;

    #[test]
    fn the_winner_is_who_has_the_least_key() {
        for nr_cpus in [1, 2, 3, 7, 64] {
            let mut rng = Rng::new(nr_cpus as u64);
            let mut tournament = Tournament::new(nr_cpus);
            let mut model = vec![None; nr_cpus];
            assert_eq!(tournament.first().0, NONE);
            for number in 0..2_000 {
                let cpu = CpuId(rng.below(nr_cpus as u64) as u32);
                if rng.below(3) == 0 {
                    tournament.clear(cpu);
                    model[cpu.index()] = None;
                } else {
                    // Keys are unique, as in the queue.
                    let key = u128::from(rng.below(1_000)) << 64 | number;
                    tournament.set(cpu, key);
                    model[cpu.index()] = Some(key);
                }
                let keys = model.iter().enumerate();
                let least = keys.filter_map(|(cpu, key)| Some(((*key)?, CpuId(cpu as u32))));
                let least = least.min().map_or(NONE, |(key, _)| key);
                assert_eq!(tournament.first().0, least);
            }
        }
    }
}
