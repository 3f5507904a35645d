use super::LineErrorKind as Kind;
use super::*;

type Parsed = (f64, Vec<(u32, f32)>);

fn parse_with(line: &[u8], zero_based: bool) -> Result<Option<Parsed>, LineError> {
    let mut entries = Vec::new();
    let label = parse_line(line, zero_based, |j, v| entries.push((j, v)))?;
    Ok(label.map(|l| (l, entries)))
}

fn parse(line: &str) -> Parsed {
    parse_with(line.as_bytes(), false).unwrap().unwrap()
}

fn fails(line: impl AsRef<[u8]>) -> (usize, Kind) {
    let error = parse_with(line.as_ref(), false).unwrap_err();
    (error.column, error.kind)
}

fn token(text: &str) -> String {
    text.to_owned()
}

#[test]
fn plain_lines() {
    assert_eq!(parse("+1 1:0.5 7:-2"), (1.0, vec![(1, 0.5), (7, -2.0)]));
    assert_eq!(parse("-1"), (-1.0, vec![]));
    assert_eq!(parse("  1e3\t2:+1e-2 \t3:.5 4:5. "), (1000.0, vec![(2, 0.01), (3, 0.5), (4, 5.0)]));
    assert_eq!(parse("0 3:0 4:-0"), (0.0, vec![(3, 0.0), (4, -0.0)]));
}

#[test]
fn zero_based_shifts_the_columns() {
    let row = parse_with(b"1 0:2 4:3", true).unwrap();
    assert_eq!(row, Some((1.0, vec![(1, 2.0), (5, 3.0)])));
}

#[test]
fn comments_blanks_line_ends_and_queries() {
    for blank in ["", " ", "\t \r", "# 3:1", "  #", "\r"] {
        assert_eq!(parse_with(blank.as_bytes(), false), Ok(None), "{blank:?}");
        assert!(!is_row(blank.as_bytes()));
    }
    let expected = (1.0, vec![(2, 3.0)]);
    for line in ["1 2:3\r", "1 2:3 # 9:x", "1 2:3#x", "1 qid:4 2:3", "1\tqid:4\t2:3\t\r"] {
        assert_eq!(parse(line), expected, "{line:?}");
        assert!(is_row(line.as_bytes()));
    }
    assert_eq!(parse("1# nothing"), (1.0, vec![]));
    assert_eq!(parse("1 qid:7"), (1.0, vec![]));
}

#[test]
fn labels() {
    assert_eq!(fails("3:1 4:1"), (1, Kind::LabelMissing(token("3:1"))));
    assert_eq!(fails(" qid:1 4:1"), (2, Kind::LabelMissing(token("qid:1"))));
    for bad in ["yes", "nan", "inf", "-inf", "1e999", "1x", "1,2", "+-1", "++1", "+", "."] {
        let expected = Kind::BadLabel(token(bad));
        assert_eq!(fails(format!("{bad} 1:1")), (1, expected));
    }
}

#[test]
fn indices() {
    assert_eq!(fails("1 2:1 abc"), (7, Kind::NoColon(token("abc"))));
    assert_eq!(fails("1 2"), (3, Kind::NoColon(token("2"))));
    assert_eq!(fails("1 x:1"), (3, Kind::BadIndex(token("x"))));
    assert_eq!(fails("1 :1"), (3, Kind::BadIndex(token(""))));
    assert_eq!(fails("1 1.5:1"), (3, Kind::BadIndex(token("1.5"))));
    assert_eq!(fails("1 2:1 qid:1"), (7, Kind::BadIndex(token("qid"))));
    assert_eq!(fails("1 -3:1"), (3, Kind::NegativeIndex(token("-3"))));
    assert_eq!(fails("1 0:1"), (3, Kind::IndexZero));
    assert!(Kind::IndexZero.to_string().contains("--zero-based"));
    assert_eq!(fails("1 5:1 4:1"), (7, Kind::Descending { index: 4, previous: 5 }));
    assert_eq!(fails("1 5:1  5:1"), (8, Kind::Repeated { index: 5 }));
    let zero = parse_with(b"1 0:1 0:1", true).unwrap_err();
    assert_eq!(zero.kind, Kind::Repeated { index: 0 });
    let down = parse_with(b"1 3:1 0:1", true).unwrap_err();
    assert_eq!(down.kind, Kind::Descending { index: 0, previous: 3 });
}

#[test]
fn index_limits() {
    let largest = format!("1 {MAX_INDEX}:1");
    assert_eq!(parse(&largest).1, vec![(MAX_INDEX, 1.0)]);
    let shifted = parse_with(largest.as_bytes(), true).unwrap().unwrap();
    assert_eq!(shifted.1, vec![(MAX_INDEX + 1, 1.0)]);
    for large in ["4294967294", "4294967295", "4294967296", "99999999999999999999999999"] {
        let expected = Kind::IndexTooLarge(token(large));
        assert_eq!(fails(format!("1 {large}:1")), (3, expected));
    }
}

#[test]
fn values() {
    for bad in ["nan", "NaN", "inf", "-inf", "+infinity"] {
        let expected = Kind::NotFinite(token(bad));
        assert_eq!(fails(format!("1 3:{bad}")), (3, expected));
    }
    for bad in ["x", "1x", "1e", "0x10", "1:2", "--1", "1,5", "nano"] {
        let expected = Kind::NotANumber(token(bad));
        assert_eq!(fails(format!("1 3:{bad} 4:1")), (3, expected));
    }
    for large in ["1e39", "-3.5e38", "1e400"] {
        let expected = Kind::ValueTooLarge(token(large));
        assert_eq!(fails(format!("1 3:{large}")), (3, expected));
    }
    assert_eq!(fails("1 3: 4:1"), (3, Kind::ValueMissing { index: 3 }));
    assert_eq!(fails("1 3:"), (3, Kind::ValueMissing { index: 3 }));
    assert_eq!(parse("1 3:1e-60").1, vec![(3, 0.0)]);
}

#[test]
fn binary_junk_is_shown_short_and_escaped() {
    let (column, kind) = fails(b"\x1f\x8b\x08\x00\x00\x00");
    assert_eq!((column, kind), (1, Kind::Binary(token("\\x1f\\x8b\\x08\\x00\\x00\\x00"))));
    let (column, kind) = fails(b"1 2:1 \x00\xff\x1b[31m");
    assert_eq!((column, kind), (7, Kind::Binary(token("\\x00\\xff\\x1b[31m"))));
    let (_, kind) = fails(b"1 3:1\r0");
    assert_eq!(kind, Kind::Binary(token("1\\r0")));
    let Kind::BadLabel(token) = fails("a".repeat(1000)).1 else {
        panic!("a long label is a bad label");
    };
    assert_eq!(token, format!("{}...", "a".repeat(30)));
}

proptest::proptest! {
    /// Numbers with few digits are read without the crate that reads all: they must be the same.
    #[test]
    fn plain_numbers_are_the_nearest(digits in 0u64..1_000_000_000_000, decimals in 0usize..12) {
        for width in [1, 5, 12] {
            let mut text = format!("{digits:0width$}");
            text.insert(text.len().saturating_sub(decimals), '.');
            let followed = format!("{text} 12345:6789");
            if let Some((value, length)) = plain(followed.as_bytes()) {
                proptest::prop_assert_eq!(length, text.len());
                proptest::prop_assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits());
            }
        }
    }

    /// What is known of the bytes around a number must not matter, nor whether there are any.
    #[test]
    fn lines_are_read_alike_wherever_they_end(
        index in 1u32..200_000_000,
        value in "[0-9]{0,10}[.]?[0-9]{1,18}",
        after in "( |#|x|é|:|e1){0,1}",
    ) {
        let line = format!("1 {index}:{value}{after}");
        let ended = parse_with(line.as_bytes(), false);
        let followed = parse_with(format!("{line} # 1234567890123456789").as_bytes(), false);
        proptest::prop_assert_eq!(&ended, &followed);
        if after.trim_end().is_empty() {
            let expected = value.parse::<f32>().unwrap();
            proptest::prop_assert_eq!(ended, Ok(Some((1.0, vec![(index, expected)]))));
        }
    }
}

#[test]
fn digits_are_counted_and_read() {
    for count in 0..=8 {
        for next in [b'/', b':', b' ', b'.', 0, 0x7F, 0x80, 0xB0, 0xBA, 0xFF] {
            let mut text = *b"98765432";
            text[count..].fill(next);
            let expected = std::str::from_utf8(&text[..count]).unwrap().parse().unwrap_or(0);
            assert_eq!(digits(&text), Some((expected, count)), "{text:?}");
        }
    }
    assert_eq!(digits(b"1234567"), None);
}

#[test]
fn plain_numbers_end_where_they_should() {
    for (text, expected) in [
        ("0.5 ", Some((0.5, 3))),
        ("7 ", Some((7.0, 1))),
        ("1. ", Some((1.0, 2))),
        (".25#", Some((0.25, 3))),
        (".", None),
        ("-1", None),
        ("", None),
        // Halfway between two numbers of 32 bits.
        ("16777217. ", None),
        ("12345678 ", None),
        ("1234567.12345678 ", Some((1_234_567.1, 16))),
        ("1234567.123456789 ", None),
        ("0.00000000000000000000000001 ", None),
    ] {
        let followed = format!("{text}                ");
        assert_eq!(plain(followed.as_bytes()), expected, "{text}");
    }
    // What follows decides whether it was the whole token.
    assert_eq!(plain(b"1e5 2:345678"), Some((1.0, 1)));
    // Too near the end to be read at once.
    assert_eq!(plain(b"1"), None);
}
