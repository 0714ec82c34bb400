# SPDX-License-Identifier: MIT
"""The interface to places where a bundle runs, this machine as one, and the engine over all."""
