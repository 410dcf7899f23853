# SPDX-License-Identifier: Apache-2.0
"""Environments of the clients, and the table of what became of each."""

from outcomes import environments, pytest_runtest_makereport, pytest_terminal_summary

__all__ = ["environments", "pytest_runtest_makereport", "pytest_terminal_summary"]
