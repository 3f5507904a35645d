//! A reader and an interpreter for the few ONNX operators that exports use, written from the format's
//! description and not from our writer, so that a wrong field number in either shows.

use std::collections::BTreeMap;

/// A field of a message: its number and its content.
enum Content<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Content<'_>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let content = match key & 7 {
            0 => Content::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                Content::Bytes(content)
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, content));
    }
    found
}

/// The fields of one number that are messages or texts.
fn parts(message: &[u8], number: u64) -> Vec<&[u8]> {
    let part = |(found, content)| match content {
        Content::Bytes(bytes) if found == number => Some(bytes),
        _ => None,
    };
    fields(message).into_iter().filter_map(part).collect()
}

fn numbers(message: &[u8], number: u64) -> Vec<i64> {
    let value = |(found, content)| match content {
        Content::Number(value) if found == number => Some(value as i64),
        _ => None,
    };
    fields(message).into_iter().filter_map(value).collect()
}

fn text(message: &[u8], number: u64) -> String {
    let found = parts(message, number);
    String::from_utf8(found.first().unwrap_or(&&[][..]).to_vec()).unwrap()
}

const FLOAT: i64 = 1;
const INT64: i64 = 7;
const DOUBLE: i64 = 11;

/// A tensor of at most two axes. All numbers are kept as f64, which holds each of the types used.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    kind: i64,
    dims: Vec<usize>,
    values: Vec<f64>,
}

impl Output {
    pub(crate) fn of(values: Vec<f64>) -> Self {
        Self { kind: DOUBLE, dims: vec![values.len()], values }
    }

    pub(crate) fn numbers(&self) -> Vec<f64> {
        self.values.clone()
    }

    fn read(message: &[u8]) -> Self {
        let kind = numbers(message, 2)[0];
        let raw = parts(message, 9)[0].chunks_exact(8).map(|b| b.try_into().unwrap());
        let values: Vec<f64> = match kind {
            INT64 => raw.map(|b| i64::from_le_bytes(b) as f64).collect(),
            DOUBLE => raw.map(f64::from_le_bytes).collect(),
            other => panic!("element type {other}"),
        };
        let dims: Vec<usize> = numbers(message, 1).iter().map(|&d| d as usize).collect();
        assert_eq!(dims.iter().product::<usize>(), values.len());
        Self { kind, dims, values }
    }

    /// Element (i, j), where an axis of length 1 stands for any length.
    fn at(&self, i: usize, j: usize) -> f64 {
        let (rows, columns) = self.shape();
        self.values[i.min(rows - 1) * columns + j.min(columns - 1)]
    }

    /// One axis is columns, as broadcasting has it.
    fn shape(&self) -> (usize, usize) {
        match self.dims[..] {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => panic!("{:?}", self.dims),
        }
    }

    fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let (a, b) = (self.shape(), other.shape());
        let (rows, columns) = (a.0.max(b.0), a.1.max(b.1));
        let places = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        let values = places.map(|(i, j)| f(self.at(i, j), other.at(i, j))).collect();
        let flat = self.dims.len() == 1 && other.dims.len() == 1;
        let dims = if flat { vec![columns] } else { vec![rows, columns] };
        Self { kind: self.kind, dims, values }
    }

    fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self { values: self.values.iter().map(|&x| f(x)).collect(), ..self.clone() }
    }
}

struct Node {
    op: String,
    inputs: Vec<String>,
    output: String,
    attributes: BTreeMap<String, Vec<i64>>,
}

impl Node {
    fn read(message: &[u8]) -> Self {
        let name = |bytes: &&[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let attribute = |message: &&[u8]| {
            let kind = numbers(message, 20)[0];
            let values = numbers(message, if kind == 2 { 3 } else { 8 });
            assert!(kind == 2 && values.len() == 1 || kind == 7);
            (text(message, 1), values)
        };
        Self {
            op: text(message, 4),
            inputs: parts(message, 1).iter().map(name).collect(),
            output: text(message, 2),
            attributes: parts(message, 5).iter().map(attribute).collect(),
        }
    }

    fn apply(&self, tensors: &BTreeMap<String, Output>) -> Output {
        let input = |at: usize| &tensors[&self.inputs[at]];
        match self.op.as_str() {
            "Gather" if self.attributes["axis"] == [0] => {
                let (x, chosen) = (input(0), input(1));
                assert_eq!((x.dims.len(), chosen.dims.len()), (1, 1));
                let values = chosen.values.iter().map(|&i| x.values[i as usize]).collect();
                Output { kind: x.kind, dims: chosen.dims.clone(), values }
            }
            "Gather" => {
                assert_eq!(self.attributes["axis"], [1]);
                let (x, chosen) = (input(0), input(1));
                let (rows, columns) = (x.shape().0, chosen.values.len());
                let row = |i| chosen.values.iter().map(move |&j| x.at(i, j as usize));
                let values = (0..rows).flat_map(row).collect();
                Output { kind: x.kind, dims: vec![rows, columns], values }
            }
            "Cast" => {
                let kind = self.attributes["to"][0];
                let round = |x: f64| if kind == FLOAT { f64::from(x as f32) } else { x };
                Output { kind, ..input(0).map(round) }
            }
            "MatMul" => {
                let (x, w) = (input(0), input(1));
                assert_eq!((x.kind, w.kind, w.shape().0), (DOUBLE, DOUBLE, x.shape().1));
                let (rows, inner) = x.shape();
                let columns = w.shape().1;
                let sum = |i, j| (0..inner).map(|l| x.at(i, l) * w.at(l, j)).sum();
                let places = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
                let values = places.map(|(i, j)| sum(i, j)).collect();
                Output { kind: DOUBLE, dims: vec![rows, columns], values }
            }
            "ArgMax" => {
                assert_eq!(
                    (&self.attributes["axis"], &self.attributes["keepdims"]),
                    (&vec![1], &vec![0])
                );
                let x = input(0);
                let (rows, columns) = x.shape();
                let first_largest = |i| {
                    (0..columns)
                        .fold(0, |best, j| if x.at(i, j) > x.at(i, best) { j } else { best })
                };
                let values = (0..rows).map(|i| first_largest(i) as f64).collect();
                Output { kind: INT64, dims: vec![rows], values }
            }
            "ReduceSum" => {
                assert_eq!(
                    (&input(1).values, &self.attributes["keepdims"]),
                    (&vec![1.0], &vec![1])
                );
                let x = input(0);
                let (rows, columns) = x.shape();
                let sum = |i| (0..columns).map(|j| x.at(i, j)).sum();
                Output { kind: x.kind, dims: vec![rows, 1], values: (0..rows).map(sum).collect() }
            }
            "Identity" => input(0).clone(),
            "Add" => input(0).zip(input(1), |a, b| a + b),
            "Div" => input(0).zip(input(1), |a, b| a / b),
            "Max" => input(0).zip(input(1), f64::max),
            "Sqrt" => input(0).map(f64::sqrt),
            "Sigmoid" => input(0).map(|x| 1.0 / (1.0 + (-x).exp())),
            "Greater" => input(0).zip(input(1), |a, b| f64::from(u8::from(a > b))),
            "Where" => {
                let chosen = input(0).zip(input(1), |yes, a| if yes > 0.0 { a } else { f64::NAN });
                chosen.zip(input(2), |a, b| if a.is_nan() { b } else { a })
            }
            "Squeeze" => {
                assert_eq!(input(1).values, [1.0]);
                let x = input(0).clone();
                Output { dims: vec![x.dims[0]], ..x }
            }
            "ReduceSumSquare" => {
                assert_eq!(
                    (&self.attributes["axes"][..], &self.attributes["keepdims"][..]),
                    (&[1][..], &[1][..])
                );
                let x = input(0);
                let (rows, columns) = x.shape();
                let sum = |i| (0..columns).map(|j| x.at(i, j).powi(2)).sum();
                Output { kind: x.kind, dims: vec![rows, 1], values: (0..rows).map(sum).collect() }
            }
            other => panic!("operator {other}"),
        }
    }
}

/// A graph with one input.
pub(crate) struct Graph {
    nodes: Vec<Node>,
    constants: BTreeMap<String, Output>,
    columns: usize,
    outputs: Vec<String>,
}

impl Graph {
    /// Reads a model file.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        assert!(numbers(bytes, 1)[0] >= 7, "IR version");
        let operators = parts(bytes, 8);
        assert_eq!((operators.len(), text(operators[0], 1)), (1, String::new()));
        assert_eq!(numbers(operators[0], 2), [13]);
        let graph = parts(bytes, 7)[0];
        let input = parts(graph, 11)[0];
        assert_eq!(text(input, 1), "x");
        let tensor = parts(parts(input, 2)[0], 1)[0];
        assert_eq!(numbers(tensor, 1), [FLOAT]);
        let dims =
            parts(parts(tensor, 2)[0], 1).iter().map(|dim| numbers(dim, 1)).collect::<Vec<_>>();
        assert_eq!((dims.len(), dims[0].len()), (2, 0), "any number of rows");
        let constant = |tensor: &&[u8]| (text(tensor, 8), Output::read(tensor));
        Self {
            nodes: parts(graph, 1).iter().map(|node| Node::read(node)).collect(),
            constants: parts(graph, 5).iter().map(constant).collect(),
            columns: dims[1][0] as usize,
            outputs: parts(graph, 12).iter().map(|output| text(output, 1)).collect(),
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The outputs for these rows.
    pub(crate) fn run(&self, rows: &[Vec<f32>]) -> BTreeMap<String, Output> {
        assert!(rows.iter().all(|row| row.len() == self.columns));
        let values = rows.iter().flatten().map(|&v| f64::from(v)).collect();
        let x = Output { kind: FLOAT, dims: vec![rows.len(), self.columns], values };
        let mut tensors = self.constants.clone();
        tensors.insert("x".to_owned(), x);
        for node in &self.nodes {
            let output = node.apply(&tensors);
            tensors.insert(node.output.clone(), output);
        }
        tensors.retain(|name, _| self.outputs.contains(name));
        tensors
    }
}
