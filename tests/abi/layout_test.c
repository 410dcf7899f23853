/* SPDX-License-Identifier: Apache-2.0
 *
 * The binary layout of the C ABI.  Compiling this file is the test; layout_test.cc compiles the
 * same text as C++.  The numbers for 64-bit platforms are from the contract, not from compiler
 * output: if an assertion fails, the header is wrong.  The contract says of 32-bit platforms that
 * TVMFFIAny has 16 bytes and the object header 24; the other numbers for them follow from the
 * declarations. */
#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#ifdef __cplusplus
#include <type_traits>
#endif

#define CHECK_STRUCT(Type, size, align)                               \
  static_assert(sizeof(Type) == (size), "size of " #Type " changed"); \
  static_assert(alignof(Type) == (align), "alignment of " #Type " changed")

#define CHECK_FIELD(Type, field, offset, size)                                                \
  static_assert(offsetof(Type, field) == (offset), "offset of " #Type "." #field " changed"); \
  static_assert(sizeof(((Type*)0)->field) == (size), "size of " #Type "." #field " changed")

/* Assert the signedness of a field; its size and offset do not show the signedness. */
#ifdef __cplusplus
#define CHECK_INTEGER(Type, field, Integer)                          \
  static_assert(std::is_same<decltype(Type::field), Integer>::value, \
                "type of " #Type "." #field " changed")
#else
#define CHECK_INTEGER(Type, field, Integer)                               \
  static_assert(_Generic(((Type*)0)->field, Integer: 1, default: 0) == 1, \
                "type of " #Type "." #field " changed")
#endif

/* The number for 64-bit pointers, and the number for 32-bit pointers. */
#define BYTES(on_64, on_32) (sizeof(void*) == 8 ? (on_64) : (on_32))

#define CHECK_ENUM(Type) static_assert(sizeof(Type) == 4, "size of " #Type " changed")

#define CHECK_VALUE(name, value) static_assert((name) == (value), "value of " #name " changed")

/* ---- Scalars --------------------------------------------------------------------------------- */

/* False for 32-bit x86, whose numbers are not listed here. */
static_assert(alignof(int64_t) == 8, "64-bit integers have 8-byte alignment");

CHECK_STRUCT(void*, BYTES(8, 4), BYTES(8, 4));
CHECK_STRUCT(size_t, BYTES(8, 4), BYTES(8, 4));
CHECK_STRUCT(TVMFFIObjectHandle, BYTES(8, 4), BYTES(8, 4));
CHECK_STRUCT(TVMFFIStreamHandle, BYTES(8, 4), BYTES(8, 4));

/* ---- Version --------------------------------------------------------------------------------- */

CHECK_STRUCT(TVMFFIVersion, 12, 4);
CHECK_FIELD(TVMFFIVersion, major, 0, 4);
CHECK_FIELD(TVMFFIVersion, minor, 4, 4);
CHECK_FIELD(TVMFFIVersion, patch, 8, 4);

CHECK_VALUE(TVM_FFI_VERSION_MAJOR, 0);
CHECK_VALUE(TVM_FFI_VERSION_MINOR, 1);
CHECK_VALUE(TVM_FFI_VERSION_PATCH, 16);

/* ---- Type indices ---------------------------------------------------------------------------- */

CHECK_ENUM(TVMFFITypeIndex);
CHECK_VALUE(kTVMFFIAny, -1);
CHECK_VALUE(kTVMFFINone, 0);
CHECK_VALUE(kTVMFFIInt, 1);
CHECK_VALUE(kTVMFFIBool, 2);
CHECK_VALUE(kTVMFFIFloat, 3);
CHECK_VALUE(kTVMFFIOpaquePtr, 4);
CHECK_VALUE(kTVMFFIDataType, 5);
CHECK_VALUE(kTVMFFIDevice, 6);
CHECK_VALUE(kTVMFFIDLTensorPtr, 7);
CHECK_VALUE(kTVMFFIRawStr, 8);
CHECK_VALUE(kTVMFFIByteArrayPtr, 9);
CHECK_VALUE(kTVMFFIObjectRValueRef, 10);
CHECK_VALUE(kTVMFFISmallStr, 11);
CHECK_VALUE(kTVMFFISmallBytes, 12);
CHECK_VALUE(kTVMFFIUnchanged, 13);
CHECK_VALUE(kTVMFFIStaticObjectBegin, 64);
CHECK_VALUE(kTVMFFIObject, 64);
CHECK_VALUE(kTVMFFIStr, 65);
CHECK_VALUE(kTVMFFIBytes, 66);
CHECK_VALUE(kTVMFFIError, 67);
CHECK_VALUE(kTVMFFIFunction, 68);
CHECK_VALUE(kTVMFFIShape, 69);
CHECK_VALUE(kTVMFFITensor, 70);
CHECK_VALUE(kTVMFFIArray, 71);
CHECK_VALUE(kTVMFFIMap, 72);
CHECK_VALUE(kTVMFFIModule, 73);
CHECK_VALUE(kTVMFFIOpaquePyObject, 74);
CHECK_VALUE(kTVMFFIList, 75);
CHECK_VALUE(kTVMFFIDict, 76);
CHECK_VALUE(kTVMFFIVisitInterrupt, 77);
CHECK_VALUE(kTVMFFIBigInt, 78);
CHECK_VALUE(kTVMFFIStaticObjectEnd, 79);
CHECK_VALUE(kTVMFFIDynObjectBegin, 128);

/* ---- Objects and Any ------------------------------------------------------------------------- */

CHECK_STRUCT(TVMFFIObject, 24, 8);
CHECK_FIELD(TVMFFIObject, combined_ref_count, 0, 8);
CHECK_FIELD(TVMFFIObject, type_index, 8, 4);
CHECK_FIELD(TVMFFIObject, __padding, 12, 4);
CHECK_FIELD(TVMFFIObject, deleter, 16, BYTES(8, 4));
CHECK_FIELD(TVMFFIObject, __ensure_align, 16, 8);

CHECK_STRUCT(TVMFFIAny, 16, 8);
CHECK_FIELD(TVMFFIAny, type_index, 0, 4);
CHECK_FIELD(TVMFFIAny, zero_padding, 4, 4);
CHECK_FIELD(TVMFFIAny, small_str_len, 4, 4);
CHECK_FIELD(TVMFFIAny, v_int64, 8, 8);
CHECK_FIELD(TVMFFIAny, v_float64, 8, 8);
CHECK_FIELD(TVMFFIAny, v_ptr, 8, BYTES(8, 4));
CHECK_FIELD(TVMFFIAny, v_c_str, 8, BYTES(8, 4));
CHECK_FIELD(TVMFFIAny, v_obj, 8, BYTES(8, 4));
CHECK_FIELD(TVMFFIAny, v_dtype, 8, 4);
CHECK_FIELD(TVMFFIAny, v_device, 8, 8);
CHECK_FIELD(TVMFFIAny, v_bytes, 8, 8);
CHECK_FIELD(TVMFFIAny, v_uint64, 8, 8);

CHECK_ENUM(TVMFFIObjectDeleterFlagBitMask);
CHECK_VALUE(kTVMFFIObjectDeleterFlagBitMaskStrong, 1);
CHECK_VALUE(kTVMFFIObjectDeleterFlagBitMaskWeak, 2);
CHECK_VALUE(kTVMFFIObjectDeleterFlagBitMaskBoth, 3);

CHECK_VALUE(TVM_FFI_REF_COUNT_STRONG_ONE, UINT64_C(1));
CHECK_VALUE(TVM_FFI_REF_COUNT_WEAK_ONE, UINT64_C(4294967296));
CHECK_VALUE(TVM_FFI_REF_COUNT_INITIAL, UINT64_C(4294967297));
CHECK_VALUE(TVM_FFI_REF_COUNT_STRONG_MASK, UINT64_C(4294967295));

/* ---- Cells ----------------------------------------------------------------------------------- */

CHECK_STRUCT(TVMFFIByteArray, BYTES(16, 8), BYTES(8, 4));
CHECK_FIELD(TVMFFIByteArray, data, 0, BYTES(8, 4));
CHECK_FIELD(TVMFFIByteArray, size, BYTES(8, 4), BYTES(8, 4));

CHECK_STRUCT(TVMFFIShapeCell, BYTES(16, 8), BYTES(8, 4));
CHECK_FIELD(TVMFFIShapeCell, data, 0, BYTES(8, 4));
CHECK_FIELD(TVMFFIShapeCell, size, BYTES(8, 4), BYTES(8, 4));

CHECK_STRUCT(TVMFFISeqCell, 32, 8);
CHECK_FIELD(TVMFFISeqCell, data, 0, BYTES(8, 4));
CHECK_FIELD(TVMFFISeqCell, size, 8, 8);
CHECK_FIELD(TVMFFISeqCell, capacity, 16, 8);
CHECK_FIELD(TVMFFISeqCell, data_deleter, 24, BYTES(8, 4));

CHECK_STRUCT(TVMFFIErrorCell, BYTES(72, 36), BYTES(8, 4));
CHECK_FIELD(TVMFFIErrorCell, kind, 0, BYTES(16, 8));
CHECK_FIELD(TVMFFIErrorCell, message, BYTES(16, 8), BYTES(16, 8));
CHECK_FIELD(TVMFFIErrorCell, backtrace, BYTES(32, 16), BYTES(16, 8));
CHECK_FIELD(TVMFFIErrorCell, update_backtrace, BYTES(48, 24), BYTES(8, 4));
CHECK_FIELD(TVMFFIErrorCell, cause_chain, BYTES(56, 28), BYTES(8, 4));
CHECK_FIELD(TVMFFIErrorCell, extra_context, BYTES(64, 32), BYTES(8, 4));

CHECK_STRUCT(TVMFFIFunctionCell, BYTES(16, 8), BYTES(8, 4));
CHECK_FIELD(TVMFFIFunctionCell, safe_call, 0, BYTES(8, 4));
CHECK_FIELD(TVMFFIFunctionCell, cpp_call, BYTES(8, 4), BYTES(8, 4));

CHECK_STRUCT(TVMFFIOpaqueObjectCell, BYTES(8, 4), BYTES(8, 4));
CHECK_FIELD(TVMFFIOpaqueObjectCell, handle, 0, BYTES(8, 4));

CHECK_ENUM(TVMFFIBacktraceUpdateMode);
CHECK_VALUE(kTVMFFIBacktraceUpdateModeReplace, 0);
CHECK_VALUE(kTVMFFIBacktraceUpdateModeAppend, 1);

/* ---- Allocation ------------------------------------------------------------------------------ */

CHECK_STRUCT(TVMFFIObjectAllocHeader, BYTES(8, 4), BYTES(8, 4));
CHECK_FIELD(TVMFFIObjectAllocHeader, delete_space, 0, BYTES(8, 4));

CHECK_STRUCT(TVMFFICustomAllocator, BYTES(16, 8), BYTES(8, 4));
CHECK_FIELD(TVMFFICustomAllocator, allocate, 0, BYTES(8, 4));
CHECK_FIELD(TVMFFICustomAllocator, context, BYTES(8, 4), BYTES(8, 4));

/* ---- Types and reflection -------------------------------------------------------------------- */

CHECK_STRUCT(TVMFFIFieldInfo, BYTES(120, 88), 8);
CHECK_FIELD(TVMFFIFieldInfo, name, 0, BYTES(16, 8));
CHECK_FIELD(TVMFFIFieldInfo, doc, BYTES(16, 8), BYTES(16, 8));
CHECK_FIELD(TVMFFIFieldInfo, metadata, BYTES(32, 16), BYTES(16, 8));
CHECK_FIELD(TVMFFIFieldInfo, flags, BYTES(48, 24), 8);
CHECK_FIELD(TVMFFIFieldInfo, size, BYTES(56, 32), 8);
CHECK_FIELD(TVMFFIFieldInfo, alignment, BYTES(64, 40), 8);
CHECK_FIELD(TVMFFIFieldInfo, offset, BYTES(72, 48), 8);
CHECK_FIELD(TVMFFIFieldInfo, getter, BYTES(80, 56), BYTES(8, 4));
CHECK_FIELD(TVMFFIFieldInfo, setter, BYTES(88, 60), BYTES(8, 4));
CHECK_FIELD(TVMFFIFieldInfo, default_value_or_factory, BYTES(96, 64), 16);
CHECK_FIELD(TVMFFIFieldInfo, field_static_type_index, BYTES(112, 80), 4);

CHECK_STRUCT(TVMFFIMethodInfo, BYTES(72, 48), 8);
CHECK_FIELD(TVMFFIMethodInfo, name, 0, BYTES(16, 8));
CHECK_FIELD(TVMFFIMethodInfo, doc, BYTES(16, 8), BYTES(16, 8));
CHECK_FIELD(TVMFFIMethodInfo, metadata, BYTES(32, 16), BYTES(16, 8));
CHECK_FIELD(TVMFFIMethodInfo, flags, BYTES(48, 24), 8);
CHECK_FIELD(TVMFFIMethodInfo, method, BYTES(56, 32), 16);

CHECK_STRUCT(TVMFFITypeMetadata, BYTES(32, 20), BYTES(8, 4));
CHECK_FIELD(TVMFFITypeMetadata, doc, 0, BYTES(16, 8));
CHECK_FIELD(TVMFFITypeMetadata, creator, BYTES(16, 8), BYTES(8, 4));
CHECK_FIELD(TVMFFITypeMetadata, total_size, BYTES(24, 12), 4);
CHECK_FIELD(TVMFFITypeMetadata, structural_eq_hash_kind, BYTES(28, 16), 4);

CHECK_STRUCT(TVMFFITypeAttrColumn, BYTES(16, 12), BYTES(8, 4));
CHECK_FIELD(TVMFFITypeAttrColumn, data, 0, BYTES(8, 4));
CHECK_FIELD(TVMFFITypeAttrColumn, size, BYTES(8, 4), 4);
CHECK_FIELD(TVMFFITypeAttrColumn, begin_index, BYTES(12, 8), 4);

CHECK_STRUCT(TVMFFITypeInfo, BYTES(72, 56), 8);
CHECK_FIELD(TVMFFITypeInfo, type_index, 0, 4);
CHECK_FIELD(TVMFFITypeInfo, type_depth, 4, 4);
CHECK_FIELD(TVMFFITypeInfo, type_key, 8, BYTES(16, 8));
CHECK_FIELD(TVMFFITypeInfo, type_ancestors, BYTES(24, 16), BYTES(8, 4));
CHECK_FIELD(TVMFFITypeInfo, type_key_hash, BYTES(32, 24), 8);
CHECK_FIELD(TVMFFITypeInfo, num_fields, BYTES(40, 32), 4);
CHECK_FIELD(TVMFFITypeInfo, num_methods, BYTES(44, 36), 4);
CHECK_FIELD(TVMFFITypeInfo, fields, BYTES(48, 40), BYTES(8, 4));
CHECK_FIELD(TVMFFITypeInfo, methods, BYTES(56, 44), BYTES(8, 4));
CHECK_FIELD(TVMFFITypeInfo, metadata, BYTES(64, 48), BYTES(8, 4));

CHECK_ENUM(TVMFFIFieldFlagBitMask);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskWritable, 1);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskHasDefault, 2);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskIsStaticMethod, 4);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskSEqHashIgnore, 8);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskSEqHashDefPattern, 16);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskDefaultFromFactory, 32);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskReprOff, 64);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskCompareOff, 128);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskHashOff, 256);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskInitOff, 512);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskKwOnly, 1024);
CHECK_VALUE(kTVMFFIFieldFlagBitSetterIsFunctionObj, 2048);
CHECK_VALUE(kTVMFFIFieldFlagBitMaskSEqHashDefSimple, 4096);

CHECK_ENUM(TVMFFISEqHashKind);
CHECK_VALUE(kTVMFFISEqHashKindUnsupported, 0);
CHECK_VALUE(kTVMFFISEqHashKindTreeNode, 1);
CHECK_VALUE(kTVMFFISEqHashKindFreeVar, 2);
CHECK_VALUE(kTVMFFISEqHashKindDAGNode, 3);
CHECK_VALUE(kTVMFFISEqHashKindConstTreeNode, 4);
CHECK_VALUE(kTVMFFISEqHashKindUniqueInstance, 5);

CHECK_ENUM(TVMFFIDefRegionKind);
CHECK_VALUE(kTVMFFIDefRegionKindNone, 0);
CHECK_VALUE(kTVMFFIDefRegionKindPattern, 1);
CHECK_VALUE(kTVMFFIDefRegionKindSimple, 2);

/* ---- DLPack ---------------------------------------------------------------------------------- */

CHECK_STRUCT(DLDevice, 8, 4);
CHECK_FIELD(DLDevice, device_type, 0, 4);
CHECK_FIELD(DLDevice, device_id, 4, 4);

CHECK_STRUCT(DLDataType, 4, 2);
CHECK_FIELD(DLDataType, code, 0, 1);
CHECK_FIELD(DLDataType, bits, 1, 1);
CHECK_FIELD(DLDataType, lanes, 2, 2);

CHECK_STRUCT(DLTensor, BYTES(48, 40), 8);
CHECK_FIELD(DLTensor, data, 0, BYTES(8, 4));
CHECK_FIELD(DLTensor, device, BYTES(8, 4), 8);
CHECK_FIELD(DLTensor, ndim, BYTES(16, 12), 4);
CHECK_FIELD(DLTensor, dtype, BYTES(20, 16), 4);
CHECK_FIELD(DLTensor, shape, BYTES(24, 20), BYTES(8, 4));
CHECK_FIELD(DLTensor, strides, BYTES(32, 24), BYTES(8, 4));
CHECK_FIELD(DLTensor, byte_offset, BYTES(40, 32), 8);

CHECK_STRUCT(DLManagedTensor, BYTES(64, 48), 8);
CHECK_FIELD(DLManagedTensor, dl_tensor, 0, BYTES(48, 40));
CHECK_FIELD(DLManagedTensor, manager_ctx, BYTES(48, 40), BYTES(8, 4));
CHECK_FIELD(DLManagedTensor, deleter, BYTES(56, 44), BYTES(8, 4));

CHECK_STRUCT(DLPackVersion, 8, 4);
CHECK_FIELD(DLPackVersion, major, 0, 4);
CHECK_FIELD(DLPackVersion, minor, 4, 4);

CHECK_STRUCT(DLManagedTensorVersioned, BYTES(80, 64), 8);
CHECK_FIELD(DLManagedTensorVersioned, version, 0, 8);
CHECK_FIELD(DLManagedTensorVersioned, manager_ctx, 8, BYTES(8, 4));
CHECK_FIELD(DLManagedTensorVersioned, deleter, BYTES(16, 12), BYTES(8, 4));
CHECK_FIELD(DLManagedTensorVersioned, flags, BYTES(24, 16), 8);
CHECK_FIELD(DLManagedTensorVersioned, dl_tensor, BYTES(32, 24), BYTES(48, 40));

CHECK_STRUCT(DLPackExchangeAPIHeader, BYTES(16, 12), BYTES(8, 4));
CHECK_FIELD(DLPackExchangeAPIHeader, version, 0, 8);
CHECK_FIELD(DLPackExchangeAPIHeader, prev_api, 8, BYTES(8, 4));

CHECK_STRUCT(DLPackExchangeAPI, BYTES(56, 32), BYTES(8, 4));
CHECK_FIELD(DLPackExchangeAPI, header, 0, BYTES(16, 12));
CHECK_FIELD(DLPackExchangeAPI, managed_tensor_allocator, BYTES(16, 12), BYTES(8, 4));
CHECK_FIELD(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, BYTES(24, 16), BYTES(8, 4));
CHECK_FIELD(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, BYTES(32, 20), BYTES(8, 4));
CHECK_FIELD(DLPackExchangeAPI, dltensor_from_py_object_no_sync, BYTES(40, 24), BYTES(8, 4));
CHECK_FIELD(DLPackExchangeAPI, current_work_stream, BYTES(48, 28), BYTES(8, 4));

CHECK_ENUM(DLDeviceType);
CHECK_VALUE(kDLCPU, 1);
CHECK_VALUE(kDLCUDA, 2);
CHECK_VALUE(kDLCUDAHost, 3);
CHECK_VALUE(kDLOpenCL, 4);
CHECK_VALUE(kDLVulkan, 7);
CHECK_VALUE(kDLMetal, 8);
CHECK_VALUE(kDLVPI, 9);
CHECK_VALUE(kDLROCM, 10);
CHECK_VALUE(kDLROCMHost, 11);
CHECK_VALUE(kDLExtDev, 12);
CHECK_VALUE(kDLCUDAManaged, 13);
CHECK_VALUE(kDLOneAPI, 14);
CHECK_VALUE(kDLWebGPU, 15);
CHECK_VALUE(kDLHexagon, 16);
CHECK_VALUE(kDLMAIA, 17);
CHECK_VALUE(kDLTrn, 18);

CHECK_ENUM(DLDataTypeCode);
CHECK_VALUE(kDLInt, 0);
CHECK_VALUE(kDLUInt, 1);
CHECK_VALUE(kDLFloat, 2);
CHECK_VALUE(kDLOpaqueHandle, 3);
CHECK_VALUE(kDLBfloat, 4);
CHECK_VALUE(kDLComplex, 5);
CHECK_VALUE(kDLBool, 6);
CHECK_VALUE(kDLFloat8_e3m4, 7);
CHECK_VALUE(kDLFloat8_e4m3, 8);
CHECK_VALUE(kDLFloat8_e4m3b11fnuz, 9);
CHECK_VALUE(kDLFloat8_e4m3fn, 10);
CHECK_VALUE(kDLFloat8_e4m3fnuz, 11);
CHECK_VALUE(kDLFloat8_e5m2, 12);
CHECK_VALUE(kDLFloat8_e5m2fnuz, 13);
CHECK_VALUE(kDLFloat8_e8m0fnu, 14);
CHECK_VALUE(kDLFloat6_e2m3fn, 15);
CHECK_VALUE(kDLFloat6_e3m2fn, 16);
CHECK_VALUE(kDLFloat4_e2m1fn, 17);

CHECK_VALUE(DLPACK_FLAG_BITMASK_READ_ONLY, 1);
CHECK_VALUE(DLPACK_FLAG_BITMASK_IS_COPIED, 2);
CHECK_VALUE(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 4);

/* ---- Signs of integer fields ---------------------------------------------------------------- */

CHECK_INTEGER(TVMFFIVersion, major, uint32_t);
CHECK_INTEGER(TVMFFIVersion, minor, uint32_t);
CHECK_INTEGER(TVMFFIVersion, patch, uint32_t);
CHECK_INTEGER(TVMFFIObject, combined_ref_count, uint64_t);
CHECK_INTEGER(TVMFFIObject, type_index, int32_t);
CHECK_INTEGER(TVMFFIObject, __padding, uint32_t);
CHECK_INTEGER(TVMFFIObject, __ensure_align, int64_t);
CHECK_INTEGER(TVMFFIAny, type_index, int32_t);
CHECK_INTEGER(TVMFFIAny, zero_padding, uint32_t);
CHECK_INTEGER(TVMFFIAny, small_str_len, uint32_t);
CHECK_INTEGER(TVMFFIAny, v_int64, int64_t);
CHECK_INTEGER(TVMFFIAny, v_uint64, uint64_t);
CHECK_INTEGER(TVMFFIByteArray, size, size_t);
CHECK_INTEGER(TVMFFIShapeCell, size, size_t);
CHECK_INTEGER(TVMFFISeqCell, size, int64_t);
CHECK_INTEGER(TVMFFISeqCell, capacity, int64_t);
CHECK_INTEGER(TVMFFIFieldInfo, flags, int64_t);
CHECK_INTEGER(TVMFFIFieldInfo, size, int64_t);
CHECK_INTEGER(TVMFFIFieldInfo, alignment, int64_t);
CHECK_INTEGER(TVMFFIFieldInfo, offset, int64_t);
CHECK_INTEGER(TVMFFIFieldInfo, field_static_type_index, int32_t);
CHECK_INTEGER(TVMFFIMethodInfo, flags, int64_t);
CHECK_INTEGER(TVMFFITypeMetadata, total_size, int32_t);
CHECK_INTEGER(TVMFFITypeAttrColumn, size, int32_t);
CHECK_INTEGER(TVMFFITypeAttrColumn, begin_index, int32_t);
CHECK_INTEGER(TVMFFITypeInfo, type_index, int32_t);
CHECK_INTEGER(TVMFFITypeInfo, type_depth, int32_t);
CHECK_INTEGER(TVMFFITypeInfo, type_key_hash, uint64_t);
CHECK_INTEGER(TVMFFITypeInfo, num_fields, int32_t);
CHECK_INTEGER(TVMFFITypeInfo, num_methods, int32_t);
CHECK_INTEGER(DLDevice, device_id, int32_t);
CHECK_INTEGER(DLDataType, code, uint8_t);
CHECK_INTEGER(DLDataType, bits, uint8_t);
CHECK_INTEGER(DLDataType, lanes, uint16_t);
CHECK_INTEGER(DLTensor, ndim, int32_t);
CHECK_INTEGER(DLTensor, byte_offset, uint64_t);
CHECK_INTEGER(DLPackVersion, major, uint32_t);
CHECK_INTEGER(DLPackVersion, minor, uint32_t);
CHECK_INTEGER(DLManagedTensorVersioned, flags, uint64_t);

#ifdef __cplusplus
/* Values are passed in registers between libraries, and C++ classes derive from the cells (the
 * fields that follow the object header). */
static_assert(std::is_trivially_copyable<TVMFFIAny>::value, "TVMFFIAny travels in registers");
static_assert(std::is_standard_layout<TVMFFIAny>::value, "TVMFFIAny is standard layout");
static_assert(std::is_standard_layout<TVMFFIObject>::value, "TVMFFIObject is standard layout");
static_assert(std::is_same<std::underlying_type<TVMFFITypeIndex>::type, int32_t>::value,
              "enums have a fixed underlying type in C++");
#endif

int main(void) { return 0; }
