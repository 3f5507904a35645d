//! Everything that comes from files and the network, through the functions that are fuzzed (`fuzz/`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "it is a library where it is fuzzed")]
mod targets;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rand::{Rng, RngExt, SeedableRng, rngs::SmallRng};

/// Inputs that are made of each target's seeds and corpus by mutation.
const MUTATIONS: usize = 2000;

type Target = fn(&[u8]) -> bool;

const TARGETS: [(&str, Target); 8] = [
    ("libsvm", targets::libsvm),
    ("table", targets::table),
    ("shard", targets::shard),
    ("record", targets::record),
    ("model", targets::model),
    ("answers", targets::answers),
    ("questions", targets::questions),
    ("control", targets::control),
];

/// The inputs of `target` that are kept: seeds as they were once, and what fuzzing found.
fn corpus(target: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// What the encoders make is understood to the end, so that what is made of it goes deep.
#[test]
fn targets_understand_their_seeds() {
    let seeds = targets::seeds::all();
    for (name, target) in TARGETS {
        let own: Vec<_> = seeds.iter().filter(|seed| seed.target == name).collect();
        assert!(!own.is_empty(), "no seeds for {name}");
        for seed in own {
            assert!(target(&seed.bytes), "{name} does not understand {}", seed.name);
        }
    }
}

#[test]
fn no_kept_input_panics() {
    for (name, target) in TARGETS {
        let kept = corpus(name);
        assert!(!kept.is_empty(), "no corpus for {name}");
        for (path, bytes) in kept {
            println!("{}", path.display());
            target(&bytes);
        }
    }
}

/// Replayed by its number, which a failure prints.
fn mutated(inputs: &[Vec<u8>], number: usize) -> Vec<u8> {
    let mut random = SmallRng::seed_from_u64(number as u64);
    let mut bytes = inputs[random.random_range(0..inputs.len())].clone();
    for _ in 0..random.random_range(1..5) {
        mutate(&mut bytes, inputs, &mut random);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], random: &mut SmallRng) {
    if bytes.is_empty() {
        bytes.push(random.random());
    }
    let at = random.random_range(0..bytes.len());
    let span = at..(at + random.random_range(1..9)).min(bytes.len());
    match random.random_range(0..7) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes[at] = random.random(),
        2 => random.fill_bytes(&mut bytes[span]),
        // Zeros and ones are lengths, infinities and largest numbers.
        3 => bytes[span].fill([0, 1, 0x7F, 0xFF][random.random_range(0..4)]),
        4 => drop(bytes.drain(span)),
        5 => {
            let copy = bytes[span].to_vec();
            bytes.splice(at..at, copy);
        }
        _ => {
            let other = &inputs[random.random_range(0..inputs.len())];
            let from = at.min(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}

#[test]
fn no_mutation_panics() {
    let seeds = targets::seeds::all();
    for (name, target) in TARGETS {
        let own = seeds.iter().filter(|seed| seed.target == name);
        let inputs: Vec<Vec<u8>> =
            own.map(|seed| seed.bytes.clone()).chain(corpus(name).into_values()).collect();
        for number in 0..MUTATIONS {
            let bytes = mutated(&inputs, number);
            let outcome = std::panic::catch_unwind(|| target(&bytes));
            assert!(outcome.is_ok(), "{name} panics at mutation {number}: {bytes:?}");
        }
    }
}
