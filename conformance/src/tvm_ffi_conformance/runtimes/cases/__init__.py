# SPDX-License-Identifier: Apache-2.0
"""Cases by topic; `case.load_cases` imports all modules of this package."""
