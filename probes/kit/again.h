/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a probe says where its verdict may be the machine's doing for once: the launcher runs it
 * again then, and keeps the last of six runs or the first that does not say so.
 */
#ifndef AGAIN_H
#define AGAIN_H

#define ASK_AGAIN "# ask again: "	/* the begin of a line */

#endif
