/* SPDX-License-Identifier: MIT */
/* Where an element of a heap belongs. */
#include "heap.h"

void pm_heap_up(void **heap, size_t count, comes_before *before)
{
	size_t at = count - 1;
	void *moved = heap[at];

	for (; at > 0 && before(moved, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = moved;
}

void pm_heap_down(void **heap, size_t count, comes_before *before)
{
	void *moved = heap[0];
	size_t at = 0;

	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}
