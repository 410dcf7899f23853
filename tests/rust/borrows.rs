// SPDX-License-Identifier: Apache-2.0
//! Functions that access tensors by several ways while their parameters borrow memory.

use std::cell::RefCell;

use pytvmffi::{export, Any, AnyView, Array, Function, Result, Tensor, TensorMut, TensorView};

thread_local! {
    static KEPT: RefCell<Option<Tensor>> = const { RefCell::new(None) };
}

fn keep(x: Option<Tensor>) {
    KEPT.set(x);
}
export!(keep, "keep(x: Tensor | None)");

fn kept() -> Option<Tensor> {
    KEPT.with_borrow(Clone::clone)
}

fn kept_elements() -> Result<Option<Vec<f32>>> {
    kept().map(|tensor| tensor.to_vec()).transpose()
}
export!(kept_elements, "kept_elements() -> Array[float] | None");

fn read_kept_while_writing(y: &mut [f32]) -> Result<Option<Vec<f32>>> {
    y.fill(7.0);
    kept_elements()
}
export!(
    read_kept_while_writing,
    "read_kept_while_writing(y: out float32*[n] on cpu) -> Array[float] | None"
);

fn read_kept_while_reading(x: &[f32]) -> Result<Option<Vec<f32>>> {
    assert!(x.len() < 100);
    kept_elements()
}
export!(
    read_kept_while_reading,
    "read_kept_while_reading(x: float32*[n] on cpu) -> Array[float] | None"
);

fn read_element(mut y: TensorMut<'_>, tensors: Array) -> Result<Vec<f32>> {
    y.set(&[0], 3.0f32)?;
    tensors.get::<Tensor>(0)?.to_vec()
}
export!(read_element, "read_element(y: inout float32[_], tensors: Array) -> Array[float]");

fn read_any(y: &mut [f32], other: AnyView<'_>) -> Result<Vec<f32>> {
    y.fill(2.0);
    other.get::<Tensor>()?.to_vec()
}
export!(read_any, "read_any(y: out float32*[n] on cpu, other: Any) -> Array[float]");

fn pass_kept(x: &[f32], function: Function) -> Result<Any> {
    assert!(x.len() < 100);
    function.call((kept(),))
}
export!(pass_kept, "pass_kept(x: float32*[n] on cpu, function: Callable) -> Any");

fn pass_any(x: &[f32], function: Function, other: AnyView<'_>) -> Result<Any> {
    assert!(x.len() < 100);
    function.call((other,))
}
export!(pass_any, "pass_any(x: float32*[n] on cpu, function: Callable, other: Any) -> Any");

fn return_kept(x: &[f32]) -> Result<Any> {
    assert!(x.len() < 100);
    Any::new((kept(), x.len() as i64))
}
export!(return_kept, "return_kept(x: float32*[n] on cpu) -> Any");

fn lend(mut y: TensorMut<'_>, function: Function) -> Result<f32> {
    function.call::<()>((&mut y,))?;
    y.as_view().get(&[0])
}
export!(lend, "lend(y: inout float32*[n] on cpu, function: Callable) -> float");

fn lend_to_read(x: TensorView<'_>, function: Function) -> Result<Any> {
    // SAFETY: the tests pass functions that only read.
    function.call((unsafe { x.read_only() },))
}
export!(lend_to_read, "lend_to_read(x: float32*[n] on cpu, function: Callable) -> Any");

fn fill(y: &mut [f32]) {
    y.fill(9.0);
}
export!(fill, "fill(y: out float32*[n] on cpu)");

fn size(x: &[f32]) -> i64 {
    x.len() as i64
}
export!(size, "size(x: float32*[n] on cpu) -> int");

fn call_while_reading(x: TensorView<'_>, function: Function) -> Result<Any> {
    assert!(x.ndim() < 100);
    function.call(())
}
export!(call_while_reading, "call_while_reading(x: Tensor, function: Callable) -> Any");

fn call_while_writing(y: TensorMut<'_>, function: Function) -> Result<Any> {
    assert!(y.ndim() < 100);
    function.call(())
}
export!(call_while_writing, "call_while_writing(y: out Tensor, function: Callable) -> Any");

fn diagonal(x: TensorView<'_>, mut y: TensorMut<'_>) -> Result<()> {
    y.set(&[0], x.get::<f32>(&[0, 0])?)
}
export!(diagonal, "diagonal(x: float32[_, _], y: out float32[_])");
