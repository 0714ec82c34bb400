/* SPDX-License-Identifier: MIT */
/* What who reads a trace as it is written asks for by signals. */
#define _GNU_SOURCE
#include <signal.h>

#include "service.h"

#define MARK_TURNS 1000		/* of what comes faster than it is read, no more is waited for */
#define DELAY_NS 10000000ull	/* so long records wait for older ones: opts.delay of a sampler */

void request_take(struct service *service, uint32_t signal)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		if (signal == SIGUSR1) {
			source->mark = MARK_TURNS;
			source->mark_at = pm_now() + DELAY_NS;
		} else {
			source_tell_rate(source);
		}
	}
}

/* Rings are read to their end first. A full queue does not take a mark: it stays due. */
void requests_due(struct service *service, uint64_t now)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct source *source = &service->sources[i];

		if (source->mark == 0 || source->state != SOURCE_STARTED || now < source->mark_at ||
		    (!source_read(source) && --source->mark > 0))
			continue;
		source->mark = 1;	/* until the queue takes it */
		if (send_note(source, &(struct note){
			    .kind = NOTE_KEEP, .values = { now - service->begun, true } }))
			source->mark = 0;
	}
}
