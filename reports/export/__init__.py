# SPDX-License-Identifier: MIT
"""The formats that other tools read: a module each, with `write(results, options)`."""
