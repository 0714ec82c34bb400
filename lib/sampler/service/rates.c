/* SPDX-License-Identifier: MIT */
/* What the CPU guardrail asks for first: fewer samples of all instead of stacks of some. */
#include "service.h"

#include "../../perfmodes.h"

#define PERIODS_MOST 16			/* halvings where no frequency says how few are too few */

unsigned int source_halvings(const struct source *source)
{
	unsigned int halvings = 0;
	uint64_t frequency = source->frequencies[0];

	if (!source->sampler || source->fixed || source->state != SOURCE_STARTED)
		return 0;
	if (frequency == 0)
		return PERIODS_MOST;
	for (; frequency > 1; frequency /= 2)
		halvings++;
	return halvings;
}

static uint64_t half(uint64_t rate, unsigned int halvings)
{
	return rate != 0 && rate >> halvings == 0 ? 1 : rate >> halvings;
}

/* In front of what is sampled by it; where the queue is full it is told at the next change. */
static void tell(struct source *source, unsigned int halvings)
{
	(void)send_note(source, &(struct note){
		.kind = NOTE_RATE,
		.values = { source->periods[0] << halvings,
			    half(source->frequencies[0], halvings) },
	});
}

void source_tell_rate(struct source *source)
{
	if (source->state == SOURCE_STARTED)
		tell(source, source->halved);
}

void source_slow_down(struct source *source, unsigned int halvings)
{
	const unsigned int most = source_halvings(source);
	int err = 0;

	if (halvings > most)
		halvings = most;
	if (most == 0 || halvings == source->halved)
		return;
	for (size_t i = 0; i < source->leaders && err == 0; i++)
		err = pm_sampler_rate(source->sampler, i, source->periods[i] << halvings,
				      half(source->frequencies[i], halvings));
	source->fixed = err < 0;
	if (err == 0)
		source->halved = halvings;
	report_event(&source->service->report, err == 0 ? "rate" : "rate is fixed", "source",
		     source->config->name, "#halvings", (int64_t)source->halved, "#period",
		     (int64_t)(source->periods[0] << source->halved), "#frequency",
		     (int64_t)half(source->frequencies[0], source->halved), NULL);
	if (err == 0)
		tell(source, halvings);
}
