# SPDX-License-Identifier: Apache-2.0
# Run a program; fail unless it ends with STATUS and prints exactly what the file EXPECTED holds.
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

# Sanitizers report to the same stream as the program, so a report is a difference, too.
execute_process(COMMAND ${command}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
file(READ ${EXPECTED} expected)
if(NOT "${status}" STREQUAL "${STATUS}")
  message(FATAL_ERROR "status is ${status}, expected ${STATUS}; output:\n${output}")
endif()
if(NOT "${output}" STREQUAL "${expected}")
  message(FATAL_ERROR "output is\n${output}\nexpected\n${expected}")
endif()
