use super::*;

fn small() -> TextOptions {
    TextOptions {
        rows: 2_000,
        features: 5_000,
        nonzeros: 40.0,
        informative: 200,
        ..TextOptions::default()
    }
}

fn text(options: &TextOptions) -> String {
    let mut bytes = Vec::new();
    write_text(options, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Label and (1-based feature, value) of every line.
fn parse(text: &str) -> Vec<(i8, Vec<(usize, f32)>)> {
    text.lines()
        .map(|line| {
            let mut words = line.split(' ');
            let label = words.next().unwrap().parse().unwrap();
            let entries = words.map(|word| {
                let (feature, value) = word.split_once(':').unwrap();
                (feature.parse().unwrap(), value.parse().unwrap())
            });
            (label, entries.collect())
        })
        .collect()
}

#[test]
fn the_seed_decides_every_byte() {
    assert_eq!(text(&small()), text(&small()));
    assert_ne!(text(&small()), text(&TextOptions { seed: 1, ..small() }));
}

#[test]
fn the_bytes_do_not_change_between_versions_or_machines() {
    let tiny = TextOptions { rows: 2, features: 50, nonzeros: 4.0, informative: 5, ..small() };
    let want = "+1 4:0.8088988 9:0.35486552 20:0.25316715 25:0.19712251 46:0.3008573 50:0.16213316\n\
                -1 5:0.24104959 8:0.4588087 20:0.33700153 21:0.43271577 22:0.48860618 32:0.38113177 \
                50:0.21582232\n";
    assert_eq!(text(&tiny), want);
}

#[test]
fn fewer_rows_are_the_beginning_of_more() {
    let short = text(&TextOptions { rows: 100, ..small() });
    assert!(text(&small()).starts_with(&short));
}

#[test]
fn rows_are_ascending_within_the_dimension_and_of_length_one() {
    let rows = parse(&text(&small()));
    assert_eq!(rows.len(), 2_000);
    for (_, row) in &rows {
        assert!(row.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(row.iter().all(|&(feature, value)| (1..=5_000).contains(&feature) && value > 0.0));
        let norm: f64 = row.iter().map(|entry| f64::from(entry.1).powi(2)).sum();
        assert!((norm - 1.0).abs() < 1e-6, "{norm}");
    }
    let largest = rows.iter().flat_map(|row| row.1.last()).map(|entry| entry.0).max();
    assert_eq!(largest, Some(5_000));
}

#[test]
fn one_row_already_has_the_dimension() {
    let rows = parse(&text(&TextOptions { rows: 1, ..small() }));
    assert_eq!(rows[0].1.last().unwrap().0, 5_000);
}

#[test]
fn classes_are_about_balanced_and_rows_about_as_long_as_asked() {
    for seed in 0..4 {
        let mut bytes = Vec::new();
        let summary = write_text(&TextOptions { seed, ..small() }, &mut bytes).unwrap();
        let positive = summary.positives as f64 / summary.rows as f64;
        assert!((0.42..0.58).contains(&positive), "{positive}");
        let mean = summary.nonzeros as f64 / summary.rows as f64;
        assert!((36.0..44.0).contains(&mean), "{mean}");
    }
}

#[test]
fn without_a_shuffle_low_features_are_frequent() {
    let rows = parse(&text(&TextOptions { shuffle: false, ..small() }));
    let have = |range: std::ops::RangeInclusive<usize>| {
        rows.iter().flat_map(|row| &row.1).filter(|entry| range.contains(&entry.0)).count()
    };
    assert!(have(1..=50) > 10 * have(4_901..=4_950));
}

#[test]
fn noise_flips_its_share_of_labels() {
    let clean = parse(&text(&TextOptions { noise: 0.0, ..small() }));
    let noisy = parse(&text(&TextOptions { noise: 0.2, ..small() }));
    let flipped = clean.iter().zip(&noisy).filter(|(a, b)| a.0 != b.0).count();
    assert!((300..500).contains(&flipped), "{flipped}");
    assert!(clean.iter().zip(&noisy).all(|(a, b)| a.1 == b.1));
}

#[test]
fn the_smallest_and_the_fullest_data_sets_can_be_made() {
    for features in [1, 2, 10] {
        let options = TextOptions {
            rows: 50,
            features,
            nonzeros: features as f64,
            informative: features,
            ..small()
        };
        let rows = parse(&text(&options));
        assert!(rows.iter().all(|row| !row.1.is_empty()));
    }
}

#[test]
fn the_alias_table_draws_with_the_probabilities_given() {
    let p = zipf(20);
    let table = AliasTable::new(&p);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut counts = [0_u32; 20];
    for _ in 0..200_000 {
        counts[table.draw(&mut random)] += 1;
    }
    for (count, p) in counts.iter().zip(&p) {
        assert!((f64::from(*count) / 200_000.0 - p).abs() < 0.005);
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let bad = [
        TextOptions { features: 0, ..small() },
        TextOptions { nonzeros: f64::NAN, ..small() },
        TextOptions { nonzeros: 5_001.0, ..small() },
        TextOptions { informative: 0, ..small() },
        TextOptions { noise: 0.6, ..small() },
    ];
    for options in bad {
        assert!(TextRows::new(&options).is_err(), "{options:?}");
    }
}
