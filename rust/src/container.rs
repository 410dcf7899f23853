// SPDX-License-Identifier: Apache-2.0
//! Arrays, maps and shapes: immutable values that hold others.

use std::fmt;

use crate::abi::{self, TVMFFIAny, TVMFFISeqCell, TVMFFIShapeCell};
use crate::any::{Any, AnyView};
use crate::convert::{Argument, FromAny, FromArgument, IntoAny, IntoArgument, Mismatch};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::handle::{handle, passed_as_object};
use crate::object::ObjectRef;
use crate::parameter_type::ParameterType;

// ---- Array ---------------------------------------------------------------------------------------

/// A row of values of any types.
///
/// ```
/// use pytvmffi::{Any, Array};
/// let array = Array::new([Any::new(1)?, Any::new("two")?])?;
/// assert_eq!((array.len(), array.get::<String>(1)?.as_str()), (2, "two"));
/// assert_eq!(Any::new(vec![1.5, 2.5])?.get::<Vec<f64>>()?, [1.5, 2.5]);
/// # Ok::<(), pytvmffi::Error>(())
/// ```
#[derive(Clone)]
pub struct Array {
    object: ObjectRef,
}

handle! { Array, kTVMFFIArray, "Array" }

impl Array {
    /// Make an array of values.
    ///
    /// # Errors
    /// When memory is exhausted.
    pub fn new(values: impl IntoIterator<Item = Any>) -> Result<Self> {
        let values: Vec<Any> = values.into_iter().collect();
        Function::global("ffi.Array")?.call(&values[..])
    }

    /// The values.
    pub fn values(&self) -> &[AnyView<'_>] {
        // SAFETY: an Array begins with such a cell, whose elements are valid values as long as the
        // array lives; nobody changes one that is shared, and this reference is one more.
        unsafe { sequence_values(self.object.cell::<TVMFFISeqCell>()) }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values().is_empty()
    }

    /// One value.
    ///
    /// # Errors
    /// IndexError behind the last one; what the conversion says.
    pub fn get<T: FromAny>(&self, index: usize) -> Result<T> {
        let values = self.values();
        let value = values.get(index).ok_or_else(|| {
            let text = format!("index {index} is outside of an Array of {} values", values.len());
            Error::new("IndexError", text)
        })?;
        value.get()
    }
}

/// # Safety
/// `cell` is that of an Array or a List which nobody changes during `'a`.
unsafe fn sequence_values<'a>(cell: *const TVMFFISeqCell) -> &'a [AnyView<'a>] {
    // SAFETY: as the caller says; an owned value has the layout of a view.
    unsafe {
        match usize::try_from((*cell).size) {
            Ok(count) if count > 0 && !(*cell).data.is_null() => {
                std::slice::from_raw_parts((*cell).data.cast_const().cast(), count)
            }
            _ => &[],
        }
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values().fmt(formatter)
    }
}

impl<T: IntoAny> IntoAny for Vec<T> {
    fn into_any(self) -> Result<Any> {
        let values = self.into_iter().map(IntoAny::into_any).collect::<Result<Vec<_>>>()?;
        Array::new(values)?.into_any()
    }
}

impl<'a, T: IntoAny> IntoArgument<'a> for Vec<T> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::made(self.into_any()?))
    }
}

/// Also of a `List`, whose values are copied.
impl<'a, T: FromAny> FromArgument<'a> for Vec<T> {
    const TYPE: ParameterType = ParameterType::other("Array");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        let object = argument.object();
        let sequence = object
            .filter(|object| matches!(object.type_index(), abi::kTVMFFIArray | abi::kTVMFFIList))
            .ok_or_else(|| Mismatch::expected("Array", argument))?;
        let is_list = sequence.type_index() == abi::kTVMFFIList;
        // SAFETY: both begin with such a cell; nobody changes an array that is shared, or a list
        // while its values are retained.
        let mut values = unsafe { sequence_values(sequence.cell()) };
        let retained: Vec<Any>;
        let views: Vec<AnyView<'_>>;
        if is_list {
            // A conversion may run code that changes the list.
            retained = values.iter().map(AnyView::retained).collect();
            views = retained.iter().map(Any::view).collect();
            values = &views;
        }
        let convert = |(place, value): (usize, &AnyView<'_>)| {
            // SAFETY: a type that converts from values of any lifetime borrows none of them.
            unsafe { T::from_argument(value) }.map_err(|mismatch| Mismatch {
                text: format!("item {place}: {}", mismatch.text),
                ..mismatch
            })
        };
        values.iter().enumerate().map(convert).collect()
    }
}

/// Several results, as an Array.
macro_rules! tuples {
    ($(($($type:ident $place:tt),*))*) => {$(
        impl<$($type: IntoAny),*> IntoAny for ($($type,)*) {
            fn into_any(self) -> Result<Any> {
                Array::new([$(self.$place.into_any()?),*])?.into_any()
            }
        }
    )*};
}

tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }

// ---- Map -----------------------------------------------------------------------------------------

/// Values by key, in the order in which they were put in.
///
/// ```
/// use pytvmffi::{Any, Map};
/// let map = Map::new([(Any::new("a")?, Any::new(1)?), (Any::new("b")?, Any::new(2)?)])?;
/// assert_eq!(map.len()?, 2);
/// assert_eq!(map.get::<i64>("b")?, Some(2));
/// assert_eq!(map.get::<i64>("c")?, None);
/// # Ok::<(), pytvmffi::Error>(())
/// ```
#[derive(Clone)]
pub struct Map {
    object: ObjectRef,
}

handle! { Map, kTVMFFIMap, "Map" }

impl Map {
    /// Make a map of pairs; of equal keys the last one counts.
    ///
    /// # Errors
    /// When memory is exhausted.
    pub fn new(pairs: impl IntoIterator<Item = (Any, Any)>) -> Result<Self> {
        let values: Vec<Any> = pairs.into_iter().flat_map(|(key, value)| [key, value]).collect();
        Function::global("ffi.Map")?.call(&values[..])
    }

    /// The number of pairs.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn len(&self) -> Result<usize> {
        Function::global("ffi.MapSize")?.call((self,))
    }

    /// Whether there are none.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The value of a key; None when the map has no such key.
    ///
    /// # Errors
    /// What the conversions say.
    pub fn get<T: FromAny>(&self, key: impl IntoAny) -> Result<Option<T>> {
        let key = key.into_any()?;
        if !Function::global("ffi.MapCount")?.call::<bool>((self, &key))? {
            return Ok(None);
        }
        Function::global("ffi.MapGetItem")?.call((self, &key)).map(Some)
    }

    /// All pairs, in order.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn pairs(&self) -> Result<Vec<(Any, Any)>> {
        const KEY: i64 = 0;
        const VALUE: i64 = 1;
        const NEXT: i64 = 2; // whether there is one
        let mut pairs = Vec::with_capacity(self.len()?);
        if self.is_empty()? {
            return Ok(pairs);
        }
        let cursor: Function = Function::global("ffi.MapForwardIterFunctor")?.call((self,))?;
        loop {
            pairs.push((cursor.call((KEY,))?, cursor.call((VALUE,))?));
            if !cursor.call::<bool>((NEXT,))? {
                return Ok(pairs);
            }
        }
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.pairs().unwrap_or_default()).finish()
    }
}

// ---- Shape ---------------------------------------------------------------------------------------

/// The extents of a tensor, as a value of its own.
///
/// ```
/// use pytvmffi::Shape;
/// assert_eq!(Shape::new(&[2, 3])?.extents(), [2, 3]);
/// # Ok::<(), pytvmffi::Error>(())
/// ```
#[derive(Clone)]
pub struct Shape {
    object: ObjectRef,
}

// SAFETY: a Shape does not change, and its count is atomic.
unsafe impl Send for Shape {}
// SAFETY: as above.
unsafe impl Sync for Shape {}

passed_as_object! { Shape }

/// Also of a row of integers, as in C++.
impl<'a> FromArgument<'a> for Shape {
    const TYPE: ParameterType = ParameterType::other("ffi.Shape");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        match argument.object() {
            Some(object) if object.type_index() == abi::kTVMFFIShape => Ok(Self { object }),
            Some(object) if matches!(object.type_index(), abi::kTVMFFIArray | abi::kTVMFFIList) => {
                // SAFETY: integers borrow nothing.
                let extents = unsafe { Vec::<i64>::from_argument(argument) }?;
                Self::new(&extents).map_err(|error| Mismatch::value(error.message()))
            }
            _ => Err(Mismatch::expected("ffi.Shape", argument)),
        }
    }
}

impl Shape {
    /// Make a shape.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn new(extents: &[i64]) -> Result<Self> {
        let values = extents.iter().map(|extent| Any::new(*extent)).collect::<Result<Vec<_>>>()?;
        Function::global("ffi.Shape")?.call(&values[..])
    }

    /// The extents.
    pub fn extents(&self) -> &[i64] {
        // SAFETY: a Shape has such a cell, whose numbers live as long as it does.
        unsafe {
            let cell = &*self.object.cell::<TVMFFIShapeCell>();
            if cell.size == 0 || cell.data.is_null() {
                return &[];
            }
            std::slice::from_raw_parts(cell.data, cell.size)
        }
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.extents().fmt(formatter)
    }
}

const _: () = assert!(std::mem::size_of::<AnyView<'_>>() == std::mem::size_of::<TVMFFIAny>());
