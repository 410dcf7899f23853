# SPDX-License-Identifier: Apache-2.0
"""UTF-8 form of names and documentation that the runtime stores."""


cdef bytes utf8_of(str text, str label):
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        error.reason = (
            f"surrogates not allowed: {label} must be text that UTF-8 can encode, got {text!a:.60}")
        raise
