/* SPDX-License-Identifier: MIT */
/* Paragraphs on stdout, as wide as the terminal, with whole words only. */
#include "flow.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define USUAL_WIDTH 80
#define LEAST_WIDTH 40

/* The terminal's own width, else COLUMNS, as man(1) does it. */
static size_t find_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = { .ws_col = 0 };
	unsigned long width = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width == 0 && columns != NULL)
		width = strtoul(columns, NULL, 10);
	if (width == 0 || width > USHRT_MAX)
		width = USUAL_WIDTH;
	return width < LEAST_WIDTH ? LEAST_WIDTH : width;
}

void flow_begin(struct flow *flow, const char *label, size_t indent)
{
	flow->label = label;
	flow->width = find_width();
	flow->indent = indent;
	flow->column = flow->length = 0;
}

static void put_word(struct flow *flow)
{
	if (flow->length == 0)
		return;
	if (flow->label != NULL) {
		printf("%-*s", (int)flow->indent, flow->label);
		flow->label = NULL;
		flow->column = flow->indent;
	} else if (flow->column + 1 + flow->length > flow->width) {
		printf("\n%*s", (int)flow->indent, "");
		flow->column = flow->indent;
	} else {
		putchar(' ');
		flow->column++;
	}
	printf("%.*s", (int)flow->length, flow->word);
	flow->column += flow->length;
	flow->length = 0;
}

void flow_put(struct flow *flow, const char *format, ...)
{
	char text[4096];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	for (const char *at = text; *at != '\0'; at++) {
		if (*at == ' ' || flow->length == sizeof(flow->word))
			put_word(flow);
		if (*at != ' ')
			flow->word[flow->length++] = *at > ' ' && *at <= '~' ? *at : '?';
	}
}

void flow_end(struct flow *flow)
{
	put_word(flow);
	if (flow->label == NULL)
		printf("\n");
}

void flow_changes(const char *label, const char *changes, size_t indent)
{
	struct flow flow;

	while (changes[0] != '\0') {
		const char *end = strstr(changes, "; ");
		const int length = end ? (int)(end - changes) : (int)strlen(changes);

		flow_begin(&flow, label, indent);
		flow_put(&flow, "%.*s%s", length, changes, end ? ";" : "");
		flow_end(&flow);
		label = "";
		changes += length + (end ? 2 : 0);
	}
}
