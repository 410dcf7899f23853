# SPDX-License-Identifier: Apache-2.0
"""Global functions ``testing.X`` as attributes ``X``; importing this module registers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import libinfo
from ..registry import init_ffi_api

if TYPE_CHECKING:
    from ..core import Function

# A reference that keeps the library loaded, because the functions and types of the library stay
# registered until the process ends.
_library = libinfo.load_lib_ctypes("pytvmffi", "tvm_ffi_testing", "RTLD_LOCAL")

init_ffi_api("testing", __name__)

TestIntPairSum: Function
apply: Function
echo: Function
enum_variant_get: Function
get_add_one_c_symbol: Function
get_mlir_add_one_c_symbol: Function
make_array_with_mixed: Function
make_array_with_tensor: Function
make_dict_with_tensor: Function
make_empty_array_with_tensor_input: Function
make_list_with_tensor: Function
make_map_with_tensor: Function
make_nested_array_with_tensor: Function
make_nested_map_with_tensor: Function
make_visit_region_graph: Function
nop: Function
object_use_count: Function
optional_tensor_view_has_value: Function
run_check_signal: Function
schema_arr_map_opt: Function
schema_id_any: Function
schema_id_arr: Function
schema_id_arr_int: Function
schema_id_arr_obj: Function
schema_id_arr_str: Function
schema_id_bool: Function
schema_id_bytes: Function
schema_id_device: Function
schema_id_dict_str_int: Function
schema_id_dict_str_str: Function
schema_id_dltensor: Function
schema_id_dtype: Function
schema_id_float: Function
schema_id_func: Function
schema_id_func_typed: Function
schema_id_int: Function
schema_id_list_int: Function
schema_id_list_obj: Function
schema_id_list_str: Function
schema_id_map: Function
schema_id_map_str_int: Function
schema_id_map_str_obj: Function
schema_id_map_str_str: Function
schema_id_object: Function
schema_id_opt_int: Function
schema_id_opt_obj: Function
schema_id_opt_str: Function
schema_id_string: Function
schema_id_tensor: Function
schema_id_variant_int_str: Function
schema_no_args: Function
schema_no_args_no_return: Function
schema_no_return: Function
schema_packed: Function
schema_tensor_view_input: Function
schema_variant_mix: Function
test_raise_error: Function
add_one: Function
make_unregistered_object: Function
