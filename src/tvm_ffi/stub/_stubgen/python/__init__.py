# SPDX-License-Identifier: Apache-2.0
"""Python stubs: `generator` implements `Generator`; the other modules generate parts of stubs."""
