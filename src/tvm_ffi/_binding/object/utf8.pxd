# SPDX-License-Identifier: Apache-2.0
# UTF-8 form of names and documentation that the runtime stores.

# Return the UTF-8 form of `text`.  Fails: UnicodeEncodeError if the text contains a lone surrogate;
# `label` is the name of the text in the message.
cdef bytes utf8_of(str text, str label)
