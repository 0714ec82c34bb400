# SPDX-License-Identifier: MIT
"""What a person sees."""
