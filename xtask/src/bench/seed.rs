//! Numbers that look thrown and are the same on every machine: what is generated must not differ.

/// The state of `SplitMix64` (Steele, Lea and Flood, 2014), which needs no more than a counter.
#[derive(Clone, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The numbers of one thing; another `number` gives others.
    pub(crate) fn of(number: usize) -> Seed {
        Seed((number as u64).wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end`, without it.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// One of these.
    pub(crate) fn one_of<'a, T>(&mut self, these: &'a [T]) -> &'a T {
        &these[self.below(these.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        let mut seed = Seed::of(0);
        let numbers = [seed.number(), seed.number()];
        assert_eq!(numbers, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn things_have_numbers_of_their_own() {
        let of = |number| {
            let mut seed = Seed::of(number);
            [seed.below(1000), seed.below(1000), seed.below(1000)]
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        assert!(of(9).iter().all(|it| *it < 1000));
    }
}
