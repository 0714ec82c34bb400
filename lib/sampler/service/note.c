/* SPDX-License-Identifier: MIT */
/* A pool of a fixed size: what is queued is bounded by number here, and by bytes in the queue. */
#include "note.h"

#include <errno.h>
#include <stdlib.h>

int notes_init(struct notes *notes, size_t count)
{
	notes->all = calloc(count, sizeof(*notes->all));
	notes->free = NULL;
	notes->count = count;
	if (!notes->all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		notes->all[i].next = notes->free;
		notes->free = &notes->all[i];
	}
	(void)pthread_mutex_init(&notes->lock, NULL);
	return 0;
}

void notes_free(struct notes *notes)
{
	if (!notes->all)
		return;
	for (size_t i = 0; i < notes->count; i++)
		free(notes->all[i].text);
	free(notes->all);
	(void)pthread_mutex_destroy(&notes->lock);
	notes->all = NULL;
}

struct note *note_take(struct notes *notes, enum note_kind kind)
{
	struct note *note;

	(void)pthread_mutex_lock(&notes->lock);
	note = notes->free;
	if (note)
		notes->free = note->next;
	(void)pthread_mutex_unlock(&notes->lock);
	if (note)
		*note = (struct note){ .kind = kind };
	return note;
}

void note_give(struct notes *notes, struct note *note)
{
	free(note->text);
	note->text = NULL;
	(void)pthread_mutex_lock(&notes->lock);
	note->next = notes->free;
	notes->free = note;
	(void)pthread_mutex_unlock(&notes->lock);
}
