# SPDX-License-Identifier: MIT
"""What the headers declare, as the compiler sees it, and as declarations of other languages."""
