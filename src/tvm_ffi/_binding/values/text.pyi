# SPDX-License-Identifier: Apache-2.0

class ByteArrayArg:
    def __new__(cls, content: bytes) -> ByteArrayArg: ...

class NativeText:
    def __new__(cls, content: bytes) -> NativeText: ...
