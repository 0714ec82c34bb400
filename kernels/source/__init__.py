# SPDX-License-Identifier: MIT
"""Where kernels come from: Debian's archive or a file, checked, unpacked, and tool chains for them."""
