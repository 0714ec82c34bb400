/* SPDX-License-Identifier: MIT */
/* Any bytes as the configuration of the service. What is taken is within its bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../sampler/service/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_source(const struct source_config *source)
{
	const int ways = (source->period != 0) + (source->frequency != 0) + (source->poll_ms != 0);

	if (ways != 1 || source->name == NULL || source->event == NULL ||
	    (source->ring_pages & (source->ring_pages - 1)) != 0 ||
	    (!source->poll_ms && (source->ring_pages < 1 || source->read_ms < 1)) ||
	    source->follower_count > FOLLOWERS || source->target_count > TARGETS ||
	    source->stack_bytes > 65528 || (source->shards && source->shard >= source->shards))
		abort();
	for (size_t i = 0; i < source->target_count; i++)
		if (source->targets[i] == NULL)
			abort();
}

static void check(const struct config *config)
{
	if (config->source_count < 1 || config->source_count > SOURCES ||
	    config->output_count > OUTPUTS || config->queue_records < 1 ||
	    (config->signal != 0 && (config->signal < 34 || config->signal > 64)))
		abort();
	for (size_t i = 0; i < config->source_count; i++)
		check_source(&config->sources[i]);
	for (size_t i = 0; i < config->output_count; i++)
		if (config->outputs[i].path == NULL ||
		    config->outputs[i].source_at >= config->source_count)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config;
	char error[512] = "", *text = malloc(size + 1);
	int err;

	memcpy(text, data, size);
	text[size] = '\0';
	err = config_parse(text, &config, error, sizeof(error));
	if (err == 0)
		check(&config);
	/* A refusal says why. */
	if (err > 0 || (err < 0 && error[0] == '\0') || strlen(error) >= sizeof(error))
		abort();
	config_free(&config);
	free(text);
	return 0;
}
