// SPDX-License-Identifier: Apache-2.0
//! Exported functions with every kind of parameter and result that `export!` supports.

use pytvmffi::{
    export, Any, AnyView, Array, Bytes, DataType, Device, Error, Function, Map, Module, Result,
    Shape, Tensor, TensorMut, TensorView,
};

fn scale(x: &[f32], y: &mut [f32], factor: f64) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = *x * factor as f32);
}

export! {
    /// Multiply each element.
    ///
    ///     The "indented" line keeps its indentation.
    scale, "scale(x: float32*[n] on cpu, y: out float32*[n] on cpu, factor: float = 2.0)"
}

fn relu(mut x: TensorMut<'_>) -> Result<i64> {
    let elements = x.as_mut_slice::<f64>()?;
    elements.iter_mut().for_each(|x| *x = x.max(0.0));
    Ok(elements.len() as i64)
}
export!(relu, "relu(x: inout float64*[...]) -> int");

fn transpose(x: TensorView<'_>, mut y: TensorMut<'_>) -> Result<()> {
    for row in 0..x.shape()[0] {
        for column in 0..x.shape()[1] {
            y.set(&[column, row], x.get::<i32>(&[row, column])?)?;
        }
    }
    Ok(())
}
export!(transpose, "transpose(x: int32[n, m], y: out int32[m, n])");

fn sum(x: TensorView<'_>) -> Result<f64> {
    Ok(x.as_slice::<f32>()?.iter().map(|x| f64::from(*x)).sum())
}
export!(sum, "sum(x: Tensor) -> float");

fn new_zeros(like: Tensor) -> Result<Tensor> {
    Tensor::zeros::<f32>(like.shape())
}
export!(new_zeros, "new_zeros(like: Tensor) -> float32[...]");

fn repeat(text: &str, bytes: Bytes<'_>, count: u8) -> (String, i64) {
    (text.repeat(count.into()), bytes.0.len() as i64)
}
export!(repeat, "repeat(text: str, bytes: bytes, count: uint8 = 2) -> (text: str, size: int)");

fn summarize(dtype: DataType, device: Device, flag: bool, shape: Option<Shape>) -> String {
    let shape = shape.map_or("no shape".to_string(), |shape| format!("{shape:?}"));
    format!("{dtype} {device} {flag} {shape}")
}
export!(summarize, "summarize(d: dtype, e: Device, f: bool, s: ffi.Shape | None = None) -> str");

fn apply(function: Function, values: Vec<i64>) -> Result<Vec<i64>> {
    values.into_iter().map(|value| function.call((value,))).collect()
}
export!(apply, "apply(function: Callable[[int], int], values: Array[int]) -> Array[int]");

fn look_up(map: Map, key: AnyView<'_>) -> Result<Any> {
    let value = map.get(key.to_owned()?)?;
    value.ok_or_else(|| Error::new("KeyError", format!("{key:?}")))
}
export!(look_up, "look_up(map: Map[str, Any], key: str) -> Any");

fn call_in(module: Module, name: &str, arguments: Array) -> Result<Any> {
    module.function(name)?.call(arguments.values())
}
export!(call_in, "call_in(module: ffi.Module, name: str, arguments: Array) -> Any");

mod inner {
    pub fn fail(kind: &str) -> Result<(), pytvmffi::Error> {
        Err(pytvmffi::Error::new(kind, "the message"))
    }
}
export!(failing = inner::fail, "failing(kind: str)");

fn parse(text: &str) -> Result<i64, std::num::ParseIntError> {
    text.parse()
}
export!(parse, "parse(text: str) -> int");

fn panicking(text: String) {
    panic!("{text}");
}
export!(panicking, "panicking(text: str)");
