// SPDX-License-Identifier: Apache-2.0
//! Immutable containers: [`Array`], [`Map`] and [`Shape`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};

use crate::abi::{self, TVMFFIAny, TVMFFISeqCell, TVMFFIShapeCell};
use crate::any::{Any, AnyView};
use crate::convert::{Argument, FromAny, FromArgument, IntoAny, IntoArgument, Mismatch};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::handle::{handle, passed_as_object};
use crate::object::ObjectRef;
use crate::parameter_type::ParameterType;

// ---- Array ---------------------------------------------------------------------------------------

/// An immutable sequence of values of any types.
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
    /// Create an array.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn new(values: impl IntoIterator<Item = Any>) -> Result<Self> {
        let values: Vec<Any> = values.into_iter().collect();
        let views: Vec<AnyView<'_>> = values.iter().map(Any::view).collect();
        Function::global("ffi.Array")?.call_unchecked(&views)?.get()
    }

    /// Return the values of the array.
    pub fn values(&self) -> &[AnyView<'_>] {
        // SAFETY: in an Array, a TVMFFISeqCell follows the header.  Its elements are valid as long
        // as the array. No code modifies the array while `self` refers to it, because only the
        // owner of the single reference to an array may modify the array.
        unsafe { sequence_values(self.object.cell::<TVMFFISeqCell>()) }
    }

    /// Return the number of values.
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// Return true if the array is empty.
    pub fn is_empty(&self) -> bool {
        self.values().is_empty()
    }

    /// Return the value at an index, converted to `T`.
    ///
    /// # Errors
    /// IndexError if the index is out of range; the error of the conversion.
    pub fn get<T: FromAny>(&self, index: usize) -> Result<T> {
        let values = self.values();
        let value = values.get(index).ok_or_else(|| {
            let text =
                format!("Array index: expected a number below {}, got {index}", values.len());
            Error::new("IndexError", text)
        })?;
        value.get()
    }
}

/// Return the values of an Array or a List.
///
/// # Safety
/// `cell` is the TVMFFISeqCell (the fields after the object header) of an Array or a List that is
/// not modified during `'a`.
unsafe fn sequence_values<'a>(cell: *const TVMFFISeqCell) -> &'a [AnyView<'a>] {
    // SAFETY: the caller meets the safety requirements of this function; an owned value and a view
    // have the same layout.
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

/// Accepts an `Array` or a `List`.
impl<'a, T: FromAny> FromArgument<'a> for Vec<T> {
    const TYPE: ParameterType = ParameterType::other("Array");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        let object = argument.object();
        let sequence = object
            .filter(|object| matches!(object.type_index(), abi::kTVMFFIArray | abi::kTVMFFIList))
            .ok_or_else(|| Mismatch::expected("Array", argument))?;
        let is_list = sequence.type_index() == abi::kTVMFFIList;
        // SAFETY: in an Array and a List, a TVMFFISeqCell follows the header.  An array with
        // several references is never modified, and no other code runs before the values of a list
        // are copied.
        let mut values = unsafe { sequence_values(sequence.cell()) };
        let retained: Vec<Any>;
        let views: Vec<AnyView<'_>>;
        if is_list {
            // Copy the values, since a conversion may run code that modifies the list.
            retained = values.iter().map(AnyView::retained).collect();
            views = retained.iter().map(Any::view).collect();
            values = &views;
        }
        let convert = |(index, value): (usize, &AnyView<'_>)| {
            // SAFETY: a type that converts from values of every lifetime borrows from none of them.
            unsafe { T::from_argument(value) }.map_err(|mismatch| Mismatch {
                text: format!("element [{index}]: {}", mismatch.text),
                ..mismatch
            })
        };
        values.iter().enumerate().map(convert).collect()
    }
}

/// Convert a tuple, such as several results of a function, to an Array.
macro_rules! tuples {
    ($(($($type:ident $index:tt),*))*) => {$(
        impl<$($type: IntoAny),*> IntoAny for ($($type,)*) {
            fn into_any(self) -> Result<Any> {
                Array::new([$(self.$index.into_any()?),*])?.into_any()
            }
        }
    )*};
}

tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }

// ---- Map -----------------------------------------------------------------------------------------

/// An immutable map from keys to values, in insertion order.
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
    /// Create a map from pairs; if several keys are equal, the last pair is used.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn new(pairs: impl IntoIterator<Item = (Any, Any)>) -> Result<Self> {
        let values: Vec<Any> = pairs.into_iter().flat_map(|(key, value)| [key, value]).collect();
        let views: Vec<AnyView<'_>> = values.iter().map(Any::view).collect();
        Function::global("ffi.Map")?.call_unchecked(&views)?.get()
    }

    /// Return the number of pairs.
    ///
    /// # Errors
    /// The error of the runtime function.
    pub fn len(&self) -> Result<usize> {
        Function::global("ffi.MapSize")?.call((self,))
    }

    /// Return true if the map is empty.
    ///
    /// # Errors
    /// The error of the runtime function.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Return the value of a key, converted to `T`; None if the map does not contain the key.
    ///
    /// # Errors
    /// The error of a conversion.
    pub fn get<T: FromAny>(&self, key: impl IntoAny) -> Result<Option<T>> {
        let key = key.into_any()?;
        if !Function::global("ffi.MapCount")?.call::<bool>((self, &key))? {
            return Ok(None);
        }
        Function::global("ffi.MapGetItem")?.call((self, &key)).map(Some)
    }

    /// Return all pairs, in order.
    ///
    /// # Errors
    /// The error of a runtime function.
    pub fn pairs(&self) -> Result<Vec<(Any, Any)>> {
        pairs_of(&Any::new(self.clone())?)
    }
}

/// Return all pairs of a Map or a Dict, in order.
fn pairs_of(container: &Any) -> Result<Vec<(Any, Any)>> {
    // Arguments of the iterator function, which select its action.
    const KEY: i64 = 0;
    const VALUE: i64 = 1;
    const NEXT: i64 = 2; // advances to the next pair; returns false at the end
    let (size, iterator) = if container.view().type_index() == abi::kTVMFFIDict {
        ("ffi.DictSize", "ffi.DictForwardIterFunctor")
    } else {
        ("ffi.MapSize", "ffi.MapForwardIterFunctor")
    };
    let size: usize = Function::global(size)?.call((container,))?;
    let mut pairs = Vec::with_capacity(size);
    if size == 0 {
        return Ok(pairs);
    }
    let iterator: Function = Function::global(iterator)?.call((container,))?;
    loop {
        pairs.push((iterator.call((KEY,))?, iterator.call((VALUE,))?));
        if !iterator.call::<bool>((NEXT,))? {
            return Ok(pairs);
        }
    }
}

/// Convert a Map or a Dict to a map type of the standard library.
fn map_from<K: FromAny, V: FromAny, M: FromIterator<(K, V)>>(
    argument: &AnyView<'_>,
) -> Result<M, Mismatch> {
    if !matches!(argument.type_index(), abi::kTVMFFIMap | abi::kTVMFFIDict) {
        return Err(Mismatch::expected("Map", argument));
    }
    let pairs = pairs_of(&argument.retained()).map_err(|error| Mismatch::value(error.message()))?;
    let convert = |(key, value): &(Any, Any)| {
        // SAFETY: types that convert from values of every lifetime borrow from none of them.
        let (new_key, new_value) =
            unsafe { (K::from_argument(&key.view()), V::from_argument(&value.view())) };
        let in_key = |mismatch: Mismatch| Mismatch {
            text: format!("key {key:?}: {}", mismatch.text),
            ..mismatch
        };
        let in_value = |mismatch: Mismatch| Mismatch {
            text: format!("value of key {key:?}: {}", mismatch.text),
            ..mismatch
        };
        Ok((new_key.map_err(in_key)?, new_value.map_err(in_value)?))
    };
    pairs.iter().map(convert).collect()
}

fn map_into<K: IntoAny, V: IntoAny>(pairs: impl Iterator<Item = (K, V)>) -> Result<Any> {
    let pair = |(key, value): (K, V)| Ok((key.into_any()?, value.into_any()?));
    Map::new(pairs.map(pair).collect::<Result<Vec<_>>>()?)?.into_any()
}

impl<K: IntoAny, V: IntoAny, S> IntoAny for HashMap<K, V, S> {
    fn into_any(self) -> Result<Any> {
        map_into(self.into_iter())
    }
}

impl<'a, K: IntoAny, V: IntoAny, S> IntoArgument<'a> for HashMap<K, V, S> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::made(self.into_any()?))
    }
}

/// Accepts a `Map` or a `Dict`.
impl<'a, K, V, S> FromArgument<'a> for HashMap<K, V, S>
where
    K: FromAny + Eq + Hash,
    V: FromAny,
    S: BuildHasher + Default,
{
    const TYPE: ParameterType = ParameterType::other("Map");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        map_from(argument)
    }
}

impl<K: IntoAny, V: IntoAny> IntoAny for BTreeMap<K, V> {
    fn into_any(self) -> Result<Any> {
        map_into(self.into_iter())
    }
}

impl<'a, K: IntoAny, V: IntoAny> IntoArgument<'a> for BTreeMap<K, V> {
    fn into_argument(self) -> Result<Argument<'a>> {
        Ok(Argument::made(self.into_any()?))
    }
}

/// Accepts a `Map` or a `Dict`.
impl<'a, K: FromAny + Ord, V: FromAny> FromArgument<'a> for BTreeMap<K, V> {
    const TYPE: ParameterType = ParameterType::other("Map");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        map_from(argument)
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.pairs().unwrap_or_default()).finish()
    }
}

// ---- Shape ---------------------------------------------------------------------------------------

/// An immutable sequence of extents.
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

// SAFETY: a Shape is immutable, and its reference count is atomic.
unsafe impl Send for Shape {}
// SAFETY: several threads may read a Shape, because it is immutable.
unsafe impl Sync for Shape {}

passed_as_object! { Shape }

/// Accepts a `Shape`, or an `Array` or `List` of integers, as in C++.
impl<'a> FromArgument<'a> for Shape {
    const TYPE: ParameterType = ParameterType::other("ffi.Shape");

    unsafe fn from_argument(argument: &'a AnyView<'a>) -> Result<Self, Mismatch> {
        match argument.object() {
            Some(object) if object.type_index() == abi::kTVMFFIShape => Ok(Self { object }),
            Some(object) if matches!(object.type_index(), abi::kTVMFFIArray | abi::kTVMFFIList) => {
                // SAFETY: the result borrows nothing.
                let extents = unsafe { Vec::<i64>::from_argument(argument) }?;
                Self::new(&extents).map_err(|error| Mismatch::value(error.message()))
            }
            _ => Err(Mismatch::expected("ffi.Shape", argument)),
        }
    }
}

impl Shape {
    /// Create a shape.
    ///
    /// # Errors
    /// The error of the runtime function.
    pub fn new(extents: &[i64]) -> Result<Self> {
        let values = extents.iter().map(|extent| Any::new(*extent)).collect::<Result<Vec<_>>>()?;
        Function::global("ffi.Shape")?.call(&values[..])
    }

    /// Return the extents of the shape.
    pub fn extents(&self) -> &[i64] {
        // SAFETY: in a Shape, a TVMFFIShapeCell follows the header; the object owns the extents.
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
