/* SPDX-License-Identifier: MIT */
/* Any bytes as what traced asks of a data source; what is taken is read as a configuration. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../sampler/producer/demand.h"
#include "../../sampler/service/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[512] = "", *end = memset(malloc(256), 'x', 256);
	struct config config;
	struct demand demand;
	const int err = demand_read(data, size, &demand, end, 256);

	/* A refusal says why; what is left out ends. */
	if (err > 0 || (err < 0 && end[0] == '\0') || !memchr(end, 0, 256) ||
	    !memchr(demand.left_out, 0, sizeof(demand.left_out)) ||
	    (err == 0) != (demand.json != NULL))
		abort();
	if (err == 0 && config_parse(demand.json, &config, error, sizeof(error)) < 0 &&
	    error[0] == '\0')
		abort();
	if (err == 0)
		config_free(&config);
	free(demand.json);
	free(end);
	return 0;
}
