/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that nobody has touched yet. For probes that know the address of a page fault.
 */
#ifndef PAGES_H
#define PAGES_H

/* A page of this thread's own that nobody has touched: its first byte is one page fault. */
char *fresh_page(void);

#endif
