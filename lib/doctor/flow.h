/* SPDX-License-Identifier: MIT */
/* Paragraphs on stdout, as wide as the terminal, with whole words only. */
#ifndef FLOW_H
#define FLOW_H

#include <stddef.h>

struct flow {
	const char *label;	/* NULL once it is printed */
	size_t width, indent, column, length;
	char word[512];		/* the word not yet complete; a longer one is broken */
};

/* Begins a paragraph with a label; its text and all further lines stand at the indent. */
void flow_begin(struct flow *flow, const char *label, size_t indent);

/* Continues the paragraph. A byte that a terminal would not print becomes '?'. */
void __attribute__((format(printf, 2, 3))) flow_put(struct flow *flow, const char *format, ...);

/* Ends the paragraph; one without any text is not printed. */
void flow_end(struct flow *flow);

/* A line, or more, for each change: they are parted by "; ", and each helps by itself. */
void flow_changes(const char *label, const char *changes, size_t indent);

#endif
