# SPDX-License-Identifier: MIT
"""The compatibility site: static pages made of a database of results."""
