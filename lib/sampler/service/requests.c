/* SPDX-License-Identifier: MIT */
/* What who reads a trace as it is written asks for by signals. */
#define _GNU_SOURCE
#include <signal.h>

#include "service.h"

void request_take(struct service *service, uint32_t signal)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		if (signal == SIGUSR1)
			source->mark = true;
		else
			source_tell_rate(source);
	}
}

/* A full queue does not take a mark: it stays due. */
void requests_due(struct service *service, uint64_t now)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];
		struct note *note = source->mark && source->state == SOURCE_STARTED ?
			note_take(&service->notes, NOTE_KEEP) : NULL;

		if (!note)
			continue;
		source_read(source);
		note->source = i;
		note->value_count = 2;
		note->values[0] = now - service->begun;
		note->values[1] = 1;
		source->mark = !send_note(service, note);
	}
}
