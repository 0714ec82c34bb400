/* SPDX-License-Identifier: MIT */
/* perfmodes-sampler as a producer of Perfetto's traced. Not installed. */
#ifndef PRODUCER_PRODUCER_H
#define PRODUCER_PRODUCER_H

/*
 * Offers a data source until SIGINT or SIGTERM: each consumer that asks for it is served by a
 * process of its own, this program with the configuration that demand.h makes. `socket` NULL: where
 * traced is looked for by default. Returns an exit status: 0 a signal ended it, 1 traced cannot be
 * reached or is gone, with a sentence on standard error.
 */
int producer_run(const char *socket, const char *data_source);

#endif
