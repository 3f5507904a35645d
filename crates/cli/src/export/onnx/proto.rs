//! The part of ONNX's messages that a linear model needs, under the numbers that its format gives them.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata: Vec<Property>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Property {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(super) nodes: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializers: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(super) inputs: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(super) outputs: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) inputs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) outputs: Vec<String>,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int64, optional, tag = "3")]
    pub(super) int: Option<i64>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub(super) ints: Vec<i64>,
    #[prost(int32, tag = "20")]
    pub(super) kind: i32,
}

impl Attribute {
    pub(super) fn of_int(name: &str, value: i64) -> Self {
        Self { name: name.to_owned(), int: Some(value), ints: Vec::new(), kind: 2 }
    }

    pub(super) fn of_ints(name: &str, values: &[i64]) -> Self {
        Self { name: name.to_owned(), int: None, ints: values.to_vec(), kind: 7 }
    }
}

/// Element types of tensors.
pub(super) const FLOAT: i32 = 1;
pub(super) const INT64: i32 = 7;
pub(super) const DOUBLE: i32 = 11;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    /// The elements, little endian.
    #[prost(bytes = "vec", tag = "9")]
    pub(super) raw: Vec<u8>,
}

impl Tensor {
    pub(super) fn doubles(name: &str, dims: &[i64], values: &[f64]) -> Self {
        let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dims: dims.to_vec(), data_type: DOUBLE, name: name.to_owned(), raw }
    }

    pub(super) fn integers(name: &str, dims: &[i64], values: &[i64]) -> Self {
        let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dims: dims.to_vec(), data_type: INT64, name: name.to_owned(), raw }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) kind: Option<Type>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) element: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dims: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub(super) value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}

impl ValueInfo {
    /// A tensor of any number of rows; with `columns`, a matrix.
    pub(super) fn rows(name: &str, element: i32, columns: Option<i64>) -> Self {
        let rows = Dimension { value: None, name: Some("rows".to_owned()) };
        let columns = columns.map(|columns| Dimension { value: Some(columns), name: None });
        let shape = Shape { dims: std::iter::once(rows).chain(columns).collect() };
        let tensor = TensorType { element, shape: Some(shape) };
        Self { name: name.to_owned(), kind: Some(Type { tensor: Some(tensor) }) }
    }
}
