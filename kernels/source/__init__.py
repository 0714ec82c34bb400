# SPDX-License-Identifier: MIT
"""Where kernels and compilers come from: Debian's archive, checked and unpacked."""
