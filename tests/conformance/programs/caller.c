// SPDX-License-Identifier: Apache-2.0
// A program that calls functions: `caller right` follows all rules, other arguments break one each.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static const char* mistake;
static int is(const char* name) { return strcmp(mistake, name) == 0; }

static TVMFFIObjectHandle get_global(const char* name) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&key, &function) != 0 || function == NULL) exit(9);
  return function;
}

static TVMFFIAny none(void) {
  TVMFFIAny value;
  memset(&value, 0, sizeof(value));
  return value;
}

static TVMFFIAny integer(int64_t number) {
  TVMFFIAny value = none();
  value.type_index = kTVMFFIInt;
  value.v_int64 = number;
  return value;
}

static void take_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) exit(8);
  if (!is("error_leaked")) TVMFFIObjectDecRef(error);
}

/* Returns an array of two integers, which the caller owns. */
static TVMFFIAny make_array(void) {
  TVMFFIObjectHandle function = get_global("ffi.Array");
  TVMFFIAny args[2] = {integer(1), integer(2)};
  TVMFFIAny result = none();
  if (is("padding")) args[1].zero_padding = 7;
  if (is("result_not_cleared")) result = integer(5);
  if (is("bool_payload")) args[0].type_index = kTVMFFIBool, args[0].v_int64 = 2;
  if (is("unknown_type_index")) args[0].type_index = 40;
  if (TVMFFIFunctionCall(function, args, 2, &result) != 0) exit(7);
  if (!is("function_leaked")) TVMFFIObjectDecRef(function);
  return result;
}

/* Asks for an element out of range. */
static void fail(TVMFFIAny array) {
  TVMFFIObjectHandle function = get_global("ffi.ArrayGetItem");
  TVMFFIAny args[2] = {array, integer(9)};
  TVMFFIAny result = none();
  if (TVMFFIFunctionCall(function, args, 2, &result) == 0) exit(6);
  if (!is("error_not_taken") && !is("error_at_end") && !is("error_on_a_thread")) take_error();
  TVMFFIObjectDecRef(function);
}

static void* on_a_thread(void* array) {
  fail(*(TVMFFIAny*)array);
  return NULL;
}

int main(int argc, char** argv) {
  mistake = argc > 1 ? argv[1] : "right";
  if (is("hang"))
    for (;;) {
    }
  TVMFFIAny array = make_array();
  if (is("crash")) abort();
  if (is("argument_released")) {
    TVMFFIObjectDecRef(array.v_obj);
    fail(array);
    return 0;
  }
  if (is("error_on_a_thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, on_a_thread, &array);
    pthread_join(thread, NULL);
  } else if (!is("kind_is_null")) {
    fail(array);
  } else {
    TVMFFIErrorSetRaisedFromCStr(NULL, "text");
    take_error();
  }
  if (is("error_not_taken")) TVMFFIObjectDecRef(make_array().v_obj);
  if (!is("result_leaked")) TVMFFIObjectDecRef(array.v_obj);
  if (is("result_released_twice")) TVMFFIObjectDecRef(array.v_obj);
  if (is("count_read_after_release")) ++*(uint64_t*)array.v_obj;
  if (is("null_handle")) TVMFFIObjectIncRef(NULL);
  return is("status") ? 3 : 0;
}
