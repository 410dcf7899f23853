// SPDX-License-Identifier: Apache-2.0
//! Conversions between Rust values and ABI values.

use std::collections::{BTreeMap, HashMap};

use pytvmffi::abi::{self, TVMFFIAny};
use pytvmffi::{
    Any, AnyView, Array, ByteBuf, Bytes, DataType, Device, Error, Function, Map, Result, Shape,
};

fn raw_value(type_index: i32, number: i64) -> TVMFFIAny {
    TVMFFIAny {
        type_index,
        padding: abi::TVMFFIAnyPadding { zero_padding: 0 },
        payload: abi::TVMFFIAnyPayload { v_int64: number },
    }
}

#[test]
fn numbers_keep_their_value() -> Result<()> {
    assert_eq!(Any::new(i64::MIN)?.get::<i64>()?, i64::MIN);
    assert_eq!(Any::new(u64::MAX)?.get::<u64>()?, u64::MAX);
    assert_eq!(Any::new(1u64 << 63)?.get::<u64>()?, 1 << 63);
    assert_eq!(Any::new(2.5f32)?.get::<f64>()?, 2.5);
    assert_eq!(Any::new(3)?.get::<f32>()?, 3.0);
    assert!(Any::new(true)?.get::<bool>()?);
    assert_eq!(Any::new(true)?.get::<i8>()?, 1);
    Ok(())
}

#[test]
fn numbers_that_do_not_fit_are_refused() -> Result<()> {
    let text = |error: pytvmffi::Error| error.to_string();
    let narrow = Any::new(300)?.get::<u8>().unwrap_err();
    assert_eq!(text(narrow), "ValueError: 300 does not fit uint8");
    let negative = Any::new(-1)?.get::<usize>().unwrap_err();
    assert_eq!(text(negative), "ValueError: -1 does not fit uint64");
    let huge = Any::new(u64::MAX)?.get::<i64>().unwrap_err();
    assert_eq!(text(huge), "TypeError: expected int, got int of more than 64 bits");
    let float = Any::new(1.0)?.get::<i64>().unwrap_err();
    assert_eq!(text(float), "TypeError: expected int, got float");
    Ok(())
}

#[test]
fn strings_and_bytes_of_all_sizes_keep_their_content() -> Result<()> {
    for size in [0, 1, 7, 8, 100] {
        let text = "é".repeat(size / 2) + &"x".repeat(size % 2);
        let value = Any::new(text.as_str())?;
        assert_eq!(value.get::<String>()?, text);
        assert_eq!(value.clone().get::<String>()?, text);
        let bytes = vec![0xffu8; size];
        assert_eq!(Any::new(Bytes(&bytes))?.get::<ByteBuf>()?.0, bytes);
    }
    let error = Any::new("x")?.get::<ByteBuf>().unwrap_err();
    assert_eq!(error.message(), "expected bytes, got str");
    Ok(())
}

#[test]
fn invalid_utf8_is_refused() {
    let bytes = b"ab\xff\0";
    let mut raw = raw_value(abi::kTVMFFIRawStr, 0);
    raw.payload.v_c_str = bytes.as_ptr().cast();
    // SAFETY: the payload is a NUL-terminated string that outlives the view.
    let view = unsafe { AnyView::from_raw(raw) };
    let error = view.get::<String>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "ValueError: expected valid UTF-8, got an invalid byte at offset 2"
    );
}

#[test]
fn options_are_a_value_or_none() -> Result<()> {
    assert_eq!(Any::new(None::<i64>)?.get::<Option<i64>>()?, None);
    assert_eq!(Any::new(Some(4))?.get::<Option<i64>>()?, Some(4));
    assert!(Any::new("x")?.get::<Option<i64>>().is_err());
    Any::none().get::<()>()?;
    assert!(Any::new(0)?.get::<()>().is_err());
    Ok(())
}

#[test]
fn dtypes_and_devices_convert_to_values_and_strings() -> Result<()> {
    let dtype: DataType = "bfloat16".parse()?;
    assert_eq!(Any::new(dtype)?.get::<DataType>()?, dtype);
    assert_eq!(dtype.to_string(), "bfloat16");
    assert_eq!(DataType::new(abi::kDLComplex, 64).to_string(), "complex64");
    assert_eq!(DataType::new(99, 8).to_string(), "an unnamed dtype");
    assert!("float33x".parse::<DataType>().is_err());
    assert_eq!(Any::new(Device::cuda(1))?.get::<Device>()?.to_string(), "cuda:1");
    assert_eq!(Device::new(77, 0).to_string(), "77:0");
    Ok(())
}

#[test]
fn a_vector_is_an_array_and_an_error_names_the_element() -> Result<()> {
    let array: Array = Any::new(vec![1, 2, 3])?.get()?;
    assert_eq!(array.get::<i64>(2)?, 3);
    assert_eq!(array.get::<i64>(3).unwrap_err().kind(), "IndexError");
    let mixed = Any::new((1, "two"))?;
    let error = mixed.get::<Vec<i64>>().unwrap_err();
    assert_eq!(error.message(), "element [1]: expected int, got str");
    assert!(Array::new([])?.is_empty());
    Ok(())
}

#[test]
fn maps_keep_insertion_order() -> Result<()> {
    let pairs = (0..40).map(|i| Ok((Any::new(format!("key {i}"))?, Any::new(i)?)));
    let map = Map::new(pairs.collect::<Result<Vec<_>>>()?)?;
    assert_eq!((map.len()?, map.get::<i64>("key 17")?), (40, Some(17)));
    let values = map.pairs()?.iter().map(|(_, value)| value.get()).collect::<Result<Vec<i64>>>()?;
    assert_eq!(values, (0..40).collect::<Vec<_>>());
    assert!(Map::new([])?.pairs()?.is_empty());
    assert_eq!(Shape::new(&[])?.extents(), [0i64; 0]);
    Ok(())
}

#[test]
fn maps_of_the_standard_library_convert_in_both_directions() -> Result<()> {
    let scores = HashMap::from([("a".to_string(), 1i64), ("b".to_string(), 2)]);
    let map = Any::new(scores.clone())?;
    assert_eq!(map.get::<Map>()?.get::<i64>("b")?, Some(2));
    assert_eq!(map.get::<HashMap<String, i64>>()?, scores);
    let sorted = map.get::<BTreeMap<String, f64>>()?;
    assert_eq!(sorted.into_iter().collect::<Vec<_>>(), [("a".into(), 1.0), ("b".into(), 2.0)]);

    let dict: Any = Function::global("ffi.Dict")?.call((7, "seven"))?;
    assert_eq!(dict.get::<BTreeMap<i64, String>>()?, BTreeMap::from([(7, "seven".into())]));
    let size = Function::global("ffi.MapSize")?;
    assert_eq!(size.call::<i64>((BTreeMap::from([(7, true), (8, false)]),))?, 2);
    assert!(Any::new(HashMap::<i64, i64>::new())?.get::<BTreeMap<i64, i64>>()?.is_empty());

    let message = |error: Error| error.message().to_string();
    let value = Any::new(BTreeMap::from([("a", 1)]))?.get::<HashMap<String, String>>();
    let value = value.map_err(message);
    assert_eq!(value.unwrap_err(), "value of key \"a\": expected str, got int");
    let key = dict.get::<BTreeMap<String, String>>().map_err(message);
    assert_eq!(key.unwrap_err(), "key 7: expected str, got int");
    let array = Any::new(vec![1])?.get::<HashMap<i64, i64>>().map_err(message);
    assert_eq!(array.unwrap_err(), "expected Map, got Array");
    Ok(())
}

#[test]
fn errors_name_values_of_unknown_types() {
    for index in [-1, 14, 40, 63] {
        // SAFETY: the payload of an unknown type is not read.
        let view = unsafe { AnyView::from_raw(raw_value(index, 0)) };
        let error = view.get::<i64>().unwrap_err();
        assert_eq!(error.message(), "expected int, got value of an unknown type");
    }
    // Two invalid values: a NULL payload with the type index of an object, and a NULL payload with
    // the type index of a DLTensor.
    for (index, name) in [(1 << 20, "value of an unknown type"), (abi::kTVMFFIDLTensorPtr, "NULL")]
    {
        // SAFETY: the payload is NULL.
        let view = unsafe { AnyView::from_raw(raw_value(index, 0)) };
        assert_eq!(view.type_word(), name);
        assert!(view.get::<pytvmffi::Tensor>().is_err());
    }
}

#[test]
fn a_moved_object_converts_like_the_object() -> Result<()> {
    let text = Any::new("longer than seven bytes")?;
    let mut slot = text.object().expect("an object").as_ptr();
    let mut raw = raw_value(abi::kTVMFFIObjectRValueRef, 0);
    raw.payload.v_ptr = std::ptr::addr_of_mut!(slot).cast();
    // SAFETY: the slot and the object outlive the view.
    let view = unsafe { AnyView::from_raw(raw) };
    assert_eq!(view.get::<String>()?, "longer than seven bytes");
    slot = std::ptr::null_mut();
    assert!(view.is_none() && slot.is_null());
    Ok(())
}

#[test]
fn lists_convert_to_vectors() -> Result<()> {
    let list: Any = pytvmffi::Function::global("ffi.List")?.call((1, "two", 3.5))?;
    let values = list.get::<Vec<Any>>()?;
    assert_eq!((values.len(), values[1].get::<String>()?.as_str()), (3, "two"));
    assert_eq!(list.get::<Vec<i64>>().unwrap_err().message(), "element [1]: expected int, got str");
    Ok(())
}
