/* SPDX-License-Identifier: MIT */
/*
 * What a consumer asks of a data source, DataSourceConfig with its PerfEventConfig, as a
 * configuration of perfmodes-sampler (protos/perfetto/config of Perfetto's tree). Not installed.
 */
#ifndef PRODUCER_DEMAND_H
#define PRODUCER_DEMAND_H

#include <stddef.h>
#include <stdint.h>

#define DEMAND_LISTED 64	/* processes, patterns or CPUs of one list */
#define DEMAND_FOLLOWERS 8

struct demand {
	uint64_t buffer;	/* of the trace; packets go there */
	char *json;		/* to be freed */
	char left_out[512];	/* what was asked for and is not done; "": nothing */
};

/* -EINVAL with a sentence in `error`, -ENOMEM. `ret->json` is to be freed in either case. */
int demand_read(const unsigned char *bytes, size_t size, struct demand *ret, char *error,
		size_t room);

#endif
