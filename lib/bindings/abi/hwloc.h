/* SPDX-License-Identifier: MIT */
/*
 * What perfmodes_topology.h names of hwloc, for a compiler that reads the interface where hwloc's
 * headers are not: pointers to structures that nobody here looks into.
 */
#ifndef HWLOC_H
#define HWLOC_H
typedef struct hwloc_topology *hwloc_topology_t;
typedef const struct hwloc_bitmap_s *hwloc_const_cpuset_t;
#endif
