/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef OWN_TEXT_H
#define OWN_TEXT_H

/*
 * Map the code of this program and its libraries, where the kernel would map it page by page as it
 * is run for the first time. Once in a process; what this process forks has to do it again.
 */
void map_own_text(void);

#endif
