// SPDX-License-Identifier: Apache-2.0
//! Functions, tensors and errors across the TVM FFI ABI, without dependencies.
//!
//! A function of Rust becomes a symbol that Python, C, C++ and every array framework with DLPack
//! call ([`export!`]); and functions of theirs are called from Rust ([`Function`], [`Module`]).
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
//!     /// The larger one of each element and 0.
//!     relu, "relu(x: float32*[n] on cpu, y: out float32*[n] on cpu)"
//! }
//! # fn main() {}
//! ```
//!
//! # Linking
//!
//! A `cdylib` needs nothing: its symbols are those of the process that loads it, where Python has
//! the runtime. A program links `libtvm_ffi.so`; the guide has the few lines of its `build.rs`.
//!
//! # What is safe
//!
//! Rust cannot see what other languages do with memory that they lend. These rules make safe code
//! sound:
//!
//! - *Callers of a function of the ABI leave alone what they lend*, until it returns. Arguments of one
//!   call that share memory are refused where a parameter relies on the contrary: `&mut [T]` and
//!   [`TensorMut`] share with nobody, `&[T]` and [`TensorView`] not with one that is written.
//!   [`TensorCells`] and `&[Cell<T>]` may be the same tensor. Tensors in containers are not looked at.
//! - *What is lent to a call may be written by it*: calls do not say what is only read. So a
//!   [`TensorView`] is passed by those who know better ([`TensorView::read_only`] is `unsafe`), while
//!   a [`TensorMut`] and a [`Tensor`] are passed as they are.
//! - Clones of a [`Tensor`] are the same elements, so elements are copied, or borrowed by those who
//!   know that nobody else writes. Tensors, and values that may be one, stay on their thread;
//!   functions, modules and errors go to all.
//! - What foreign code describes is looked at before it is used: type indices, ranks, negative
//!   extents, sizes that no memory has, addresses that are NULL or unaligned, text that is no UTF-8.
//!   Addresses themselves are trusted: nobody can look at those.
//! - A panic does not leave Rust: it is a RuntimeError where the function was called from. In
//!   destructors of closures it is swallowed. With `panic = "abort"` it ends the process.

pub mod abi;
mod any;
pub mod arguments;
mod boundary;
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
mod words;

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
pub use tensor_view::{TensorCells, TensorMut, TensorView};
