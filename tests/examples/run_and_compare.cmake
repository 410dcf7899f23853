# SPDX-License-Identifier: Apache-2.0
# Run a program; fail unless its exit status is STATUS and its output equals the file EXPECTED.
#
#   cmake -DSTATUS=0 -DEXPECTED=FILE -P run_and_compare.cmake -- PROGRAM [ARGUMENT...]
cmake_minimum_required(VERSION 3.18)

set(command)
set(after_mark FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
  if(after_mark)
    list(APPEND command ${CMAKE_ARGV${index}})
  elseif(CMAKE_ARGV${index} STREQUAL "--")
    set(after_mark TRUE)
  endif()
endforeach()

# Standard error is included, so that a sanitizer report is also a difference.
execute_process(COMMAND ${command}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
file(READ ${EXPECTED} expected)
if(NOT "${status}" STREQUAL "${STATUS}")
  message(FATAL_ERROR "status is ${status}, expected ${STATUS}; output:\n${output}")
endif()
if(NOT "${output}" STREQUAL "${expected}")
  message(FATAL_ERROR "output is\n${output}\nexpected\n${expected}")
endif()
