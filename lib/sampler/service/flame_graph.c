/* SPDX-License-Identifier: MIT */
/* A flame graph: an SVG with its own script, which a browser opens from the disk. */
#define _GNU_SOURCE
#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 1200.0
#define SIDE 10.0		/* left and right of the frames */
#define ROW 17
#define HEAD 52			/* above the frames: title and buttons */
#define FOOT 30			/* below: what the pointer is on */
#define CHAR 6.6		/* of the font, in the picture's units */
#define DEPTH_MAX 400		/* frames above it are drawn as their caller's own time */
#define FINEST 20000		/* a frame below one part of so many is left out */

struct open_frame {
	const char *name;
	size_t length;
	uint64_t start;
};

struct graph {
	FILE *file;
	const struct lines *lines;
	const struct picture *picture;
	struct open_frame open[DEPTH_MAX];
	size_t depth;			/* open frames */
	size_t highest;
	size_t left_out;
};

/* All that the picture runs; names of functions are text and nothing else. */
static const char style[] =
"<style>\n"
"text { font: 12px Verdana, 'DejaVu Sans', sans-serif; fill: #111; }\n"
".f { cursor: pointer; } .f:hover rect, .f:focus rect { stroke: #111; }\n"
".f text { pointer-events: none; } svg { background: #fff; } .title { font-size: 17px; }\n"
".button { cursor: pointer; text-decoration: underline; }\n"
".above rect { opacity: .45; } .found rect { fill: #b04be0 !important; } .away { display: none; }\n"
"@media (prefers-color-scheme: dark) { svg { background: #1b1d21; }\n"
"  .label { fill: #eee; } .f:hover rect, .f:focus rect { stroke: #eee; } }\n"
"</style>\n";

static const char script[] =
#include "flame_graph.js.h"
;

#define put(graph, ...) ((void)fprintf((graph)->file, __VA_ARGS__))

/* Bytes of the character of UTF-8 that begins there; 0: none does. */
static size_t character(const unsigned char *at, size_t left)
{
	size_t size = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 :
		*at < 0xf5 ? 4 : 0;
	uint32_t code = size < 2 ? *at : *at & (0xff >> (size + 1));

	if (size == 0 || size > left)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if ((size == 3 && code < 0x800) || (size == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0;
	/* What XML does not take. */
	return (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff ||
		(code < ' ' && code != '\t') ? 0 : size;
}

/* As text of XML, up to that many characters; bytes that are none are question marks. */
static void put_text(struct graph *graph, const char *name, size_t length, size_t most)
{
	const unsigned char *at = (const unsigned char *)name, *end = at + length;

	for (; at < end && most > 0; most--) {
		size_t size = character(at, (size_t)(end - at));

		if (size == 0)
			(void)fputc('?', graph->file);
		else if (*at == '&' || *at == '<' || *at == '>')
			put(graph, "%s", *at == '&' ? "&amp;" : *at == '<' ? "&lt;" : "&gt;");
		else
			(void)fwrite(at, 1, size, graph->file);
		at += size ? size : 1;
	}
}

static size_t characters(const char *name, size_t length)
{
	const unsigned char *at = (const unsigned char *)name, *end = at + length;
	size_t count = 0;

	for (; at < end; count++) {
		size_t size = character(at, (size_t)(end - at));

		at += size ? size : 1;
	}
	return count;
}

static void put_colour(struct graph *graph, const char *name, size_t length)
{
	static const char kernel[] = "_[k]";
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	if (name[0] == '[')
		put(graph, "#b9b9b4");
	else if (length > 4 && memcmp(name + length - 4, kernel, 4) == 0)
		put(graph, "hsl(%u,55%%,72%%)", 195 + hash % 30);
	else
		put(graph, "hsl(%u,85%%,%u%%)", 18 + hash % 38, 62 + hash / 64 % 10);
}

static void put_frame(struct graph *graph, const struct open_frame *frame, size_t depth,
		      uint64_t weight)
{
	const double scale = (WIDTH - 2 * SIDE) / (double)graph->lines->total;
	const double x = SIDE + scale * (double)frame->start, width = scale * (double)weight;
	const size_t y = HEAD + (graph->highest - depth) * ROW;
	const size_t fits = width < 6 ? 0 : (size_t)((width - 6) / CHAR);
	char text[40];

	put(graph, "<g class=\"f\" tabindex=\"0\"><title>");
	put_text(graph, frame->name, frame->length, 4096);
	put(graph, " (%s, %.2f %%)</title><rect x=\"%.3f\" y=\"%zu\" width=\"%.3f\" "
	    "height=\"%d\" fill=\"", weight_text(graph->picture, weight, text, sizeof(text)),
	    100.0 * (double)weight / (double)graph->lines->total, x, y, width, ROW - 1);
	put_colour(graph, frame->name, frame->length);
	put(graph, "\"/>");
	if (fits >= 3) {
		bool all = characters(frame->name, frame->length) <= fits;

		put(graph, "<text x=\"%.3f\" y=\"%zu\">", x + 3, y + 12);
		put_text(graph, frame->name, frame->length, all ? fits : fits - 2);
		put(graph, all ? "</text>" : "..</text>");
	}
	put(graph, "</g>\n");
}

/* Closes frames down to that depth; all of them end at `x`. */
static void close_frames(struct graph *graph, size_t depth, uint64_t x, bool draw)
{
	while (graph->depth > depth) {
		const struct open_frame *frame = &graph->open[--graph->depth];
		const uint64_t weight = x - frame->start;

		if (weight < graph->lines->total / FINEST) {
			graph->left_out += draw;
			continue;
		}
		if (graph->highest < graph->depth + 1 && !draw)
			graph->highest = graph->depth + 1;
		if (draw)
			put_frame(graph, frame, graph->depth + 1, weight);
	}
}

/* Lines are sorted: what a line has in common with the one before is one frame. */
static void walk(struct graph *graph, bool draw)
{
	uint64_t x = 0;

	for (size_t i = 0; i < graph->lines->count; i++) {
		const struct line *line = &graph->lines->list[i];
		const char *at = line->frames, *end = at + line->length;
		bool same = true;

		for (size_t depth = 0; at < end && depth < DEPTH_MAX; depth++) {
			size_t length = frame_length(at, end);

			same = same && depth < graph->depth &&
				graph->open[depth].length == length &&
				memcmp(graph->open[depth].name, at, length) == 0;
			if (!same) {
				close_frames(graph, depth, x, draw);
				graph->open[graph->depth++] = (struct open_frame){ at, length, x };
			}
			at += length + 1;
			if (at > end && graph->depth > depth + 1)
				close_frames(graph, depth + 1, x, draw);
		}
		x += line->weight;
	}
	close_frames(graph, 0, x, draw);
}

static void put_head(struct graph *graph)
{
	const struct picture *picture = graph->picture;
	const size_t height = HEAD + (graph->highest + 1) * ROW + FOOT;
	char text[40];

	put(graph, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%zu\" "
	    "role=\"group\" aria-label=\"flame graph\">\n", WIDTH, height);
	(void)fputs(style, graph->file);
	put(graph, "<text class=\"label title\" x=\"%.0f\" y=\"22\">", SIDE);
	put_text(graph, picture->event, strlen(picture->event), 80);
	put(graph, ": %s in ", weight_text(picture, graph->lines->total, text, sizeof(text)));
	put(graph, "%llu samples of %.1f s</text>\n", (unsigned long long)picture->samples,
	    (double)picture->duration / 1e9);
	put(graph, "<text class=\"label button\" id=\"reset\" x=\"%.0f\" y=\"42\" tabindex=\"0\" "
	    "role=\"button\">Whole graph</text>\n", SIDE);
	put(graph, "<text class=\"label button\" id=\"search\" x=\"%.0f\" y=\"42\" tabindex=\"0\" "
	    "role=\"button\">Search</text>\n", SIDE + 100);
	put(graph, "<text class=\"label\" id=\"found\" x=\"%.0f\" y=\"42\"></text>\n"
	    "<text class=\"label\" id=\"said\" x=\"%.0f\" y=\"%zu\"></text>\n", SIDE + 170, SIDE,
	    height - 10);
}

int flame_graph_write(int fd, const struct lines *lines, const struct picture *picture)
{
	static const char all[] = "all";
	struct graph graph = { .lines = lines, .picture = picture };

	graph.file = picture_file(fd);
	if (!graph.file)
		return -errno;
	walk(&graph, false);
	put_head(&graph);
	if (lines->total > 0)
		put_frame(&graph, &(struct open_frame){ all, sizeof(all) - 1, 0 }, 0, lines->total);
	walk(&graph, true);
	if (graph.left_out > 0)
		put(&graph, "<text class=\"label\" x=\"%.0f\" y=\"22\" text-anchor=\"end\">"
		    "%zu frames below 0.005 %% are left out</text>\n", WIDTH - SIDE,
		    graph.left_out);
	put(&graph, "<script><![CDATA[\n%s]]></script>\n", script);
	put(&graph, "</svg>\n");
	return picture_close(graph.file);
}
