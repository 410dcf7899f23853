// SPDX-License-Identifier: Apache-2.0
//! Functions, tensors and errors across the TVM FFI ABI, without dependencies.
//!
//! [`export!`] makes a Rust function callable from Python, C, C++ and every array framework with
//! DLPack. [`Function`] and [`Module`] call functions of these languages from Rust.
//!
//! ```
//! use pytvmffi::{export, Error, Result, TensorMut, TensorView};
//!
//! fn relu(x: TensorView<'_>, mut y: TensorMut<'_>) -> Result<()> {
//!     let x = x.as_slice::<f32>()?;
//!     for (y, x) in y.as_mut_slice::<f32>()?.iter_mut().zip(x) {
//!         *y = x.max(0.0);
//!     }
//!     Ok(())
//! }
//!
//! export! {
//!     /// Write max(x, 0) to y, element by element.
//!     relu, "relu(x: float32*[n] on cpu, y: out float32*[n] on cpu)"
//! }
//! # fn main() {}
//! ```
//!
//! # Linking
//!
//! A `cdylib` is linked without the runtime: the process that loads it, such as Python, already
//! contains the runtime. A program links `libtvm_ffi.so`; the guide shows its `build.rs`.
//!
//! # Soundness
//!
//! Rust cannot check how other languages access the memory of their arguments. Safe code is sound
//! under these rules:
//!
//! - *Only parameters that the signature declares `out` or `inout` write.* Their types are
//!   `&mut [T]` and [`TensorMut`]; another type for such a parameter, or these types for another
//!   parameter, are compile errors. A call is refused if a written tensor shares memory with
//!   another tensor argument.
//! - *Other code does not access the memory of a tensor argument during the call*, except as the
//!   argument of a call from Rust. This rule concerns callers, other threads, other libraries, and
//!   functions that receive a tensor in a container. Within a library and a thread, it is checked
//!   for safe code: [`Tensor::to_vec`] fails for memory that a running function writes, and a
//!   [`Tensor`] is not passed to a function if a running function borrows its memory. It does not
//!   matter whether the [`Tensor`] was kept from an earlier call or comes from a container.
//! - *A callee may write every tensor argument*: a call does not say which tensors are read-only.
//!   Therefore [`TensorView::read_only`], which passes a [`TensorView`], is `unsafe`: the caller
//!   must know that the callee only reads. A [`TensorMut`] and a [`Tensor`] are passed without
//!   `unsafe`.
//! - Clones of a [`Tensor`] share their elements. Safe methods therefore copy elements, and write
//!   only elements of new tensors; borrowing them is `unsafe`. Tensors, and values that may contain
//!   one, are not `Send`; functions, modules and errors are `Send` and `Sync`.
//! - Foreign data is checked before it is used: type indices, ranks, negative extents, sizes above
//!   the address space, NULL and unaligned addresses, invalid UTF-8. Addresses cannot be checked
//!   further and are trusted.
//! - A panic does not leave Rust: the caller receives a RuntimeError. A panic in the destructor of
//!   a closure is discarded. With `panic = "abort"`, a panic ends the process.

pub mod abi;
mod any;
pub mod arguments;
mod borrows;
mod boundary;
mod bytes;
mod container;
pub mod convert;
mod dtype;
mod environment;
mod error;
pub mod export;
mod function;
mod handle;
mod module;
mod object;
pub mod parameter_type;
pub mod signature;
mod tensor;
mod tensor_description;
mod tensor_view;
mod type_names;

pub use any::{Any, AnyView};
pub use container::{Array, Map, Shape};
pub use convert::{ByteBuf, Bytes, FromAny, FromArgument, IntoAny, IntoArgument, IntoResult};
pub use dtype::{BFloat16, Bool8, DataType, Device, Element, Float16};
pub use environment::{check_signals, current_stream, with_stream};
pub use error::{check, Error, Result};
pub use function::Function;
pub use module::Module;
pub use object::ObjectRef;
pub use tensor::Tensor;
pub use tensor_description::TensorDescription;
pub use tensor_view::{TensorMut, TensorView};
