//! Text-like data: words follow Zipf's law, a row holds the words of one document weighted by
//! `(1 + ln tf) * idf` and scaled to length 1, and its label is the sign of a sparse linear model, some
//! labels flipped.

use std::fmt::Write as _;
use std::io;

use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{SynthError, below, shuffle, uniform};

/// Rows looked at to place the threshold between the classes.
const PILOT_ROWS: usize = 2_000;
/// Zipf-Mandelbrot shift: flattens the head, as dropping stop words does. With 75 words a row the
/// most frequent word then is in about every third row.
const SHIFT: f64 = 30.0;

/// What the `text` generator makes.
///
/// | option | default | range |
/// |---|---|---|
/// | `rows` | 10 000 | any |
/// | `features` | 47 236 | 1 to 2^31 |
/// | `nonzeros` | 75 | more than 0, at most `features` |
/// | `informative` | 1 000 | 1 to `features` |
/// | `noise` | 0.05 | 0 to 0.5 |
/// | `seed` | 0 | any |
/// | `shuffle` | true | |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextOptions {
    /// How many rows to write. A shorter file is the beginning of a longer one.
    pub rows: u64,
    /// The dimension d; the first row always has feature d, so a reader finds it.
    pub features: usize,
    /// Non-zeros of a row on average. Rows fall short of it when it is close to `features`.
    pub nonzeros: f64,
    /// How many features have a weight in the model that makes the labels.
    pub informative: usize,
    /// The share of labels flipped.
    pub noise: f64,
    /// Where the generator starts.
    pub seed: u64,
    /// Whether words get random feature numbers; otherwise feature 1 is the most frequent word.
    pub shuffle: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            rows: 10_000,
            features: 47_236,
            nonzeros: 75.0,
            informative: 1_000,
            noise: 0.05,
            seed: 0,
            shuffle: true,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextSummary {
    /// Rows written.
    pub rows: u64,
    /// Rows labelled +1.
    pub positives: u64,
    /// Non-zeros of all rows.
    pub nonzeros: u64,
}

/// Writes `options.rows` rows as LIBSVM text, one at a time. Values round-trip as `f32`.
pub fn write_text<W: io::Write>(
    options: &TextOptions,
    mut out: W,
) -> Result<TextSummary, SynthError> {
    let mut rows = TextRows::new(options)?;
    let mut summary = TextSummary { rows: options.rows, positives: 0, nonzeros: 0 };
    let (mut row, mut line) = (Vec::new(), String::new());
    for _ in 0..options.rows {
        let positive = rows.next_row(&mut row);
        summary.positives += u64::from(positive);
        summary.nonzeros += row.len() as u64;
        line.clear();
        line.push_str(if positive { "+1" } else { "-1" });
        for (feature, value) in &row {
            // Writing to a String cannot fail.
            let _ = write!(line, " {}:{value}", u64::from(*feature) + 1);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    out.flush()?;
    Ok(summary)
}

/// The rows of a `text` data set, without end.
#[derive(Debug)]
pub struct TextRows {
    words: AliasTable,
    /// Feature of the word of each frequency rank.
    feature_of: Vec<u32>,
    idf: Vec<f64>,
    weights: Vec<f64>,
    threshold: f64,
    noise: f64,
    nonzeros: f64,
    /// How often each word is in the row at hand; all zero between rows.
    counts: Vec<u32>,
    random: Xoshiro256PlusPlus,
    first: bool,
}

impl TextRows {
    /// Draws the vocabulary and the model, and places the threshold between the classes.
    pub fn new(options: &TextOptions) -> Result<Self, SynthError> {
        check(options)?;
        let d = options.features;
        // One stream each, so that the rows do not depend on how the vocabulary was drawn.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
        let mut vocabulary = random.clone();
        random.jump();
        let pilot = random.clone();
        random.jump();

        let mut feature_of: Vec<u32> = (0..d as u32).collect();
        if options.shuffle {
            shuffle(&mut feature_of, &mut vocabulary);
        }
        let frequencies = zipf(d);
        let mut idf = vec![0.0; d];
        for (&feature, p) in feature_of.iter().zip(&frequencies) {
            let absent = libm::exp(options.nonzeros * libm::log1p(-p.min(0.5)));
            idf[feature as usize] = libm::log1p(1.0 / (1.0 - absent));
        }
        let weights = true_weights(options.informative, &feature_of, &mut vocabulary);
        let mut rows = Self {
            words: AliasTable::new(&frequencies),
            feature_of,
            idf,
            weights,
            threshold: 0.0,
            noise: options.noise,
            nonzeros: options.nonzeros,
            counts: vec![0; d],
            random: pilot,
            first: false,
        };
        rows.threshold = rows.median_score();
        rows.random = random;
        rows.first = true;
        Ok(rows)
    }

    /// Replaces `row` by the next row, (feature from 0, value) by ascending feature; true when it
    /// is of the positive class.
    pub fn next_row(&mut self, row: &mut Vec<(u32, f32)>) -> bool {
        let score = self.draw(row);
        let flip = uniform(&mut self.random) < self.noise;
        // A coin decides on the threshold: rows without an informative word all score 0.
        let coin = self.random.next_u64() >> 63 == 1;
        let positive = score > self.threshold || (score == self.threshold && coin);
        positive != flip
    }

    fn median_score(&mut self) -> f64 {
        let mut row = Vec::new();
        let mut scores: Vec<f64> = (0..PILOT_ROWS).map(|_| self.draw(&mut row)).collect();
        *scores.select_nth_unstable_by(PILOT_ROWS / 2, f64::total_cmp).1
    }

    /// Draws a document and returns its score under the true model.
    fn draw(&mut self, row: &mut Vec<(u32, f32)>) -> f64 {
        self.draw_words(row);
        row.sort_unstable_by_key(|entry| entry.0);
        let mut norm = 0.0;
        let mut score = 0.0;
        for &(feature, _) in row.iter() {
            let weight = self.word_weight(feature);
            norm += weight * weight;
            score += weight * self.weights[feature as usize];
        }
        let scale = 1.0 / libm::sqrt(norm);
        for (feature, value) in row.iter_mut() {
            *value = (self.word_weight(*feature) * scale) as f32;
            self.counts[*feature as usize] = 0;
        }
        score * scale
    }

    fn word_weight(&self, feature: u32) -> f64 {
        let feature = feature as usize;
        let log_count = match self.counts[feature] {
            // Most words are in a document once.
            1 => 0.0,
            count => libm::log(f64::from(count)),
        };
        (1.0 + log_count) * self.idf[feature]
    }

    /// Draws words until the row has the length drawn for it.
    fn draw_words(&mut self, row: &mut Vec<(u32, f32)>) {
        row.clear();
        if std::mem::take(&mut self.first) {
            let last = self.counts.len() - 1;
            self.counts[last] = 1;
            row.push((last as u32, 0.0));
        }
        let length = self.length();
        // Rare words take long to come when a row is to hold nearly all: give up then.
        for _ in 0..length.saturating_mul(10) {
            let feature = self.feature_of[self.words.draw(&mut self.random)];
            let count = &mut self.counts[feature as usize];
            if *count == 0 {
                row.push((feature, 0.0));
            }
            // A word that was used once is used again with chance 1/4 each time.
            *count += 1 + self.random.next_u64().trailing_zeros() / 2;
            if row.len() >= length {
                break;
            }
        }
    }

    /// A gamma-like length with mean `nonzeros`: documents differ, and most are short.
    fn length(&mut self) -> usize {
        let product: f64 = (0..3).map(|_| 1.0 - uniform(&mut self.random)).product();
        let length = -libm::log(product) * self.nonzeros / 3.0 + 0.5;
        (length as usize).clamp(1, self.counts.len())
    }
}

/// Walker's table: draws from a discrete distribution in constant time.
#[derive(Debug)]
struct AliasTable {
    /// For every slot the chance to keep it, and what else it stands for.
    slots: Vec<(f64, u32)>,
}

impl AliasTable {
    fn new(probabilities: &[f64]) -> Self {
        let n = probabilities.len();
        let mut slots: Vec<(f64, u32)> =
            probabilities.iter().enumerate().map(|(i, p)| (p * n as f64, i as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..n).partition(|&i| slots[i].0 < 1.0);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            slots[poor].1 = rich as u32;
            slots[rich].0 -= 1.0 - slots[poor].0;
            if slots[rich].0 < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self { slots }
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> usize {
        let slot = below(self.slots.len(), random);
        let (keep, alias) = self.slots[slot];
        if uniform(random) < keep { slot } else { alias as usize }
    }
}

/// Word frequencies by rank, most frequent first. Exponent 1 needs no power function.
fn zipf(d: usize) -> Vec<f64> {
    let shift = SHIFT.min(d as f64 / 100.0);
    let mut p: Vec<f64> = (1..=d).map(|rank| 1.0 / (rank as f64 + shift)).collect();
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
    p
}

/// Weights of either sign on `informative` features, their frequency ranks about log-uniform, so
/// that frequent and rare words both matter.
fn true_weights(
    informative: usize,
    feature_of: &[u32],
    random: &mut Xoshiro256PlusPlus,
) -> Vec<f64> {
    // The smallest of exponential times with rates 1/rank are a sample without replacement.
    let mut times: Vec<(f64, u32)> = feature_of
        .iter()
        .enumerate()
        .map(|(rank, &f)| (-libm::log(1.0 - uniform(random)) * (rank + 1) as f64, f))
        .collect();
    times.select_nth_unstable_by(informative - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<u32> = times[..informative].iter().map(|time| time.1).collect();
    // The selection leaves no order to rely on.
    chosen.sort_unstable();
    let mut weights = vec![0.0; feature_of.len()];
    for feature in chosen {
        let size = 0.5 + uniform(random);
        let negative = random.next_u64() >> 63 == 1;
        weights[feature as usize] = if negative { -size } else { size };
    }
    weights
}

fn check(options: &TextOptions) -> Result<(), SynthError> {
    let TextOptions { features, nonzeros, informative, noise, .. } = *options;
    if features == 0 || features > 1 << 31 {
        return Err(SynthError::Features(features));
    }
    if !(nonzeros > 0.0 && nonzeros <= features as f64) {
        return Err(SynthError::Nonzeros { nonzeros, features });
    }
    if informative == 0 || informative > features {
        return Err(SynthError::Informative { informative, features });
    }
    if !(0.0..=0.5).contains(&noise) {
        return Err(SynthError::Noise(noise));
    }
    Ok(())
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
