# SPDX-License-Identifier: Apache-2.0
"""Target languages of the stub generator: the interface `Generator` and its implementations."""

from ._stubgen.target import Generator, generator_names, get_generator

__all__ = ["Generator", "generator_names", "get_generator"]

Generator.__module__ = __name__
