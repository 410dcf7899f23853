# SPDX-License-Identifier: Apache-2.0
"""Target languages: the interface `Generator` and its implementations by name."""

from ._stubgen.target import Generator, generator_names, get_generator

__all__ = ["Generator", "generator_names", "get_generator"]

Generator.__module__ = __name__
