//! Chance as data: a list of rolls that proptest makes and shrinks. A roll of zero is always good luck, and
//! a list that is used up rolls zeros, so that every shorter list is a luckier story.

/// Rolls, one after the other.
pub struct Dice {
    rolls: Vec<u16>,
    next: usize,
    endless: Option<u64>,
}

impl Dice {
    /// These rolls, then zeros.
    pub fn of(rolls: Vec<u16>) -> Dice {
        Dice { rolls, next: 0, endless: None }
    }

    /// Nothing but zeros.
    pub fn lucky() -> Dice {
        Dice::of(vec![])
    }

    /// Rolls without end, the same for the same seed.
    pub fn endless(seed: u64) -> Dice {
        Dice { rolls: vec![], next: 0, endless: Some(seed) }
    }

    /// Whether the list is used up.
    pub fn is_spent(&self) -> bool {
        self.endless.is_none() && self.next >= self.rolls.len()
    }

    fn roll(&mut self) -> u64 {
        if let Some(state) = &mut self.endless {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            return (mixed ^ (mixed >> 27)) >> 40;
        }
        let roll = self.rolls.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        u64::from(roll)
    }

    /// A number below `sides`.
    pub fn below(&mut self, sides: u64) -> u64 {
        self.roll() % sides
    }

    /// Whether something happens that happens so many times in a thousand.
    pub fn chance(&mut self, in_a_thousand: u64) -> bool {
        self.roll() % 1000 >= 1000 - in_a_thousand
    }

    /// One of these; the first is the lucky one.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len() as u64) as usize;
        from[at].clone()
    }
}
