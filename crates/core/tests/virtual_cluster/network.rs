//! A bad network: it delays, reorders, repeats and loses messages by a seed.

use std::{collections::BTreeMap, sync::Arc};

use ddiht_core::{
    rng,
    round::{Directive, Reply, Sparse},
};
use rand::RngExt;

/// A message on its way. `life` names a stay of a worker on its shard.
#[derive(Clone)]
pub(crate) enum Message {
    /// A worker asks for a place.
    Join { shard: usize, life: u64 },
    /// It has it, and must restate itself if rounds are under way.
    Joined { shard: usize, life: u64, under_way: bool },
    /// What a worker that comes back holds.
    Restate { shard: usize, life: u64, part: Sparse<f32> },
    /// That has been noted.
    Restated { shard: usize, life: u64 },
    /// An answer, or none yet, and the wish to hear what comes next.
    Exchange { shard: usize, life: u64, round: u64, reply: Option<Reply> },
    /// What comes next.
    Directive { shard: usize, life: u64, round: u64, directive: Arc<Directive> },
    /// The server does not know this stay.
    Unknown { shard: usize, life: u64 },
}

/// What the network does to a message.
#[derive(Clone, Copy)]
pub(crate) struct Weather {
    pub(crate) seed: u64,
    loss: f64,
    repetition: f64,
    longest_delay: u64,
}

impl Weather {
    pub(crate) fn calm() -> Self {
        Self { seed: 0, loss: 0.0, repetition: 0.0, longest_delay: 1 }
    }

    pub(crate) fn of(seed: u64) -> Self {
        let mut draw = rng::generator(seed, 0, 0);
        Self {
            seed,
            loss: draw.random_range(0.0..0.3),
            repetition: draw.random_range(0.0..0.3),
            longest_delay: draw.random_range(1..30),
        }
    }
}

pub(crate) struct Network {
    weather: Weather,
    draw: rand_xoshiro::Xoshiro256PlusPlus,
    /// By time of arrival and a running number.
    under_way: BTreeMap<(u64, u64), Message>,
    sent: u64,
}

impl Network {
    pub(crate) fn new(weather: Weather) -> Self {
        let draw = rng::generator(weather.seed, 1, 0);
        Self { weather, draw, under_way: BTreeMap::new(), sent: 0 }
    }

    pub(crate) fn send(&mut self, now: u64, message: &Message) {
        let copies = 1 + u32::from(self.draw.random_bool(self.weather.repetition));
        for _ in 0..copies {
            if self.draw.random_bool(self.weather.loss) {
                continue;
            }
            let arrival = now + self.draw.random_range(1..=self.weather.longest_delay);
            self.sent += 1;
            self.under_way.insert((arrival, self.sent), message.clone());
        }
    }

    /// The next message that has arrived by `now`.
    pub(crate) fn receive(&mut self, now: u64) -> Option<Message> {
        let first = self.under_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }
}
