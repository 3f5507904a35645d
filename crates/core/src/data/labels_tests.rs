use super::*;
use crate::{data::RawData, enrol::Preparation};

/// As training does it: counted with the rule, the classes fixed by the counts, then applied.
fn map_labels(labels: &mut [f64], rule: Option<&LabelRule>) -> Result<LabelMap, DataError> {
    let positive = rule.cloned();
    let preparation = Preparation { classes: true, positive, ..Preparation::default() };
    let raw = RawData { labels: labels.to_vec(), ..RawData::default() };
    let counts = preparation.describe(&raw).labels;
    let map = LabelMap::fix(&counts, rule, ClassWeight::Equal)?;
    apply_labels(labels, &map, rule)?;
    Ok(map)
}

fn rule(text: &str) -> LabelRule {
    text.parse().unwrap()
}

#[test]
fn rules_parse_and_show_their_canonical_text() {
    for (text, canonical) in [
        (">=7", ">=7"),
        (" <= 10 ", "<=10"),
        (">3", ">3"),
        ("<-3.5", "<-3.5"),
        ("9,3, 5,3", "3,5,9"),
        ("=1", "1"),
        ("==1", "1"),
        ("1e3", "1000"),
        ("-0", "0"),
    ] {
        let parsed = rule(text);
        assert_eq!(parsed.to_string(), canonical);
        assert_eq!(rule(canonical), parsed);
        let json = serde_json::to_string(&parsed).unwrap();
        assert_eq!(json, format!("\"{canonical}\""));
        assert_eq!(serde_json::from_str::<LabelRule>(&json).unwrap(), parsed);
    }
}

#[test]
fn other_texts_are_refused_with_help() {
    for text in ["", "x", ">=", ">=x", "=>7", "1,,2", "1,", "nan", "<inf", "!=3", "3-5", ">= 7,8"] {
        let error = text.parse::<LabelRule>().unwrap_err();
        assert_eq!(error, RuleError(text.into()));
        assert!(error.to_string().contains("'>=7'"));
    }
}

#[test]
fn rules_decide() {
    let positive = |text: &str| -> Vec<i32> {
        let rule = rule(text);
        (1..=5).filter(|&l| rule.is_positive(f64::from(l))).collect()
    };
    assert_eq!(positive(">=3"), [3, 4, 5]);
    assert_eq!(positive("<=3"), [1, 2, 3]);
    assert_eq!(positive(">3"), [4, 5]);
    assert_eq!(positive("<3"), [1, 2]);
    assert_eq!(positive("1,5"), [1, 5]);
}

#[test]
fn usual_pairs_are_mapped() {
    for (negative, positive) in [(-1.0, 1.0), (0.0, 1.0), (1.0, 2.0)] {
        let mut labels = [positive, negative, positive];
        let map = map_labels(&mut labels, None).unwrap();
        assert_eq!(map, LabelMap::new(negative, positive));
        assert_eq!(labels, [1.0, -1.0, 1.0]);
    }
    let mut zeros = [-0.0, 1.0, 0.0];
    map_labels(&mut zeros, None).unwrap();
    assert_eq!(zeros, [-1.0, 1.0, -1.0]);
}

#[test]
fn one_class_is_an_error() {
    let error = map_labels(&mut [1.0, 1.0], None).unwrap_err();
    assert_eq!(error.to_string(), "all 2 rows have the label 1: a classifier needs two classes");
    let error = map_labels(&mut [1.0, 2.0], Some(&rule(">=7"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--positive '>=7' makes every row negative: a classifier needs two classes"
    );
    assert!(matches!(map_labels(&mut [], None), Err(DataError::NoLabels)));
}

#[test]
fn other_labels_are_named() {
    let error = map_labels(&mut [3.0, 1.0, 2.5], None).unwrap_err().to_string();
    assert!(error.starts_with("the labels are 1, 2.5, 3: "), "{error}");
    assert!(error.contains("--positive"));
    let mut many: Vec<f64> = (0..1000).map(f64::from).collect();
    let error = map_labels(&mut many, None).unwrap_err().to_string();
    assert!(error.starts_with("the labels are 0, 1, 2, 3, 4, 5, 6, 7, ...: "), "{error}");
    assert!(matches!(map_labels(&mut [3.0, 5.0], None), Err(DataError::NotBinary { .. })));
}

#[test]
fn a_rule_takes_any_labels() {
    let mut labels: Vec<f64> = (0..1000).map(f64::from).collect();
    let map = map_labels(&mut labels, Some(&rule("<500"))).unwrap();
    assert_eq!(map, LabelMap::new(-1.0, 1.0));
    assert_eq!(labels.iter().sum::<f64>(), 0.0);
    let mut test = [3.0, 2000.0];
    apply_labels(&mut test, &map, Some(&rule("<500"))).unwrap();
    assert_eq!(test, [1.0, -1.0]);
}

#[test]
fn counts_merge_over_shards() {
    let labels: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
    let mut merged = LabelCounts::default();
    for shard in labels.chunks(7) {
        merged.merge(&LabelCounts::of(shard));
    }
    merged.merge(&LabelCounts::of(&[]));
    assert_eq!(merged, LabelCounts::of(&labels));
    assert_eq!(merged.counts(), [(0.0, 50), (1.0, 50)]);
    let many: Vec<f64> = (0..100).map(f64::from).collect();
    let mut capped = LabelCounts::of(&many);
    capped.merge(&LabelCounts::of(&many));
    assert_eq!((capped.counts().len(), capped.others()), (64, 72));
}

#[test]
fn unknown_labels_of_test_data_are_named() {
    let map = LabelMap::new(0.0, 1.0);
    let error = apply_labels(&mut [1.0, -1.0], &map, None).unwrap_err();
    assert_eq!(error.to_string(), "row 2: label -1 is unknown, the model knows 0 and 1");
    let json = serde_json::to_string(&map).unwrap();
    assert_eq!(serde_json::from_str::<LabelMap>(&json).unwrap(), map);
}

#[test]
fn labels_together_count_as_one_by_one() {
    let many: Vec<f64> = (0..2000).map(f64::from).collect();
    let lists: [&[f64]; 6] =
        [&[], &[3.0], &[1.0, -1.0, 1.0], &[0.0, -0.0, 5.0], &[1.0, 2.0, 3.0, 2.0], &many];
    for labels in lists {
        let (mut together, mut single) = (LabelCounts::default(), LabelCounts::default());
        together.add(7.0, 2);
        single.add(7.0, 2);
        together.add_all(labels);
        labels.iter().for_each(|&label| single.add(label, 1));
        assert_eq!(together, single, "{labels:?}");
    }
}
