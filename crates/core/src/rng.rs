//! Generators, each seeded from (seed, shard, round) so that no order of events can change what is drawn.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of one shard in one round.
pub fn generator(seed: u64, shard: usize, round: u64) -> Xoshiro256PlusPlus {
    // Odd constants keep the three inputs apart; seed_from_u64 then mixes all bits.
    let key = seed
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add((shard as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9))
        .wrapping_add(round.wrapping_mul(0x94D0_49BB_1331_11EB));
    Xoshiro256PlusPlus::seed_from_u64(key)
}

/// Shuffles `order` with the generator of one shard in one round.
pub fn shuffle(order: &mut [u32], seed: u64, shard: usize, round: u64) {
    order.shuffle(&mut generator(seed, shard, round));
}
