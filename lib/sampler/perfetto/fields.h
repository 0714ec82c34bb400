/* SPDX-License-Identifier: MIT */
/*
 * Field numbers of Perfetto's published trace format, those that are written here:
 * perfetto.dev/docs/reference/trace-packet-proto. lib/test/sampler/trace.proto says where each was
 * read. Not installed.
 */
#ifndef PM_PERFETTO_FIELDS_H
#define PM_PERFETTO_FIELDS_H

enum { TRACE_PACKET = 1 };
enum trace_packet {
	PACKET_PROCESS_TREE = 2, PACKET_CLOCKS = 6, PACKET_TIME = 8, PACKET_SEQUENCE = 10,
	PACKET_INTERNED = 12, PACKET_FLAGS = 13, PACKET_CLOCK_ID = 58, PACKET_DEFAULTS = 59,
	PACKET_PERF_SAMPLE = 66, PACKET_FIRST = 87,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum process_tree { TREE_PROCESS = 1, TREE_THREAD = 2 };
enum { PROCESS_PID = 1, PROCESS_PARENT = 2, PROCESS_CMDLINE = 3, PROCESS_UID = 5 };
enum { THREAD_TID = 1, THREAD_NAME = 2, THREAD_PID = 3 };
enum interned_data {
	DATA_FUNCTION = 5, DATA_FRAME = 6, DATA_STACK = 7, DATA_BUILD_ID = 16, DATA_PATH = 17,
	DATA_MAPPING = 19,
};
enum { STRING_IID = 1, STRING_BYTES = 2 };
enum mapping { MAPPING_IID = 1, MAPPING_BUILD_ID = 2, MAPPING_START = 4, MAPPING_END = 5,
	       MAPPING_PATH = 7, MAPPING_OFFSET = 8 };
enum { FRAME_IID = 1, FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_PC = 4 };
enum { STACK_IID = 1, STACK_FRAME = 2 };
enum { DEFAULTS_PERF = 12, DEFAULTS_CLOCK_ID = 58 };
enum { PERF_TIMEBASE = 1, PERF_SHARDS = 2, PERF_SHARD = 3, PERF_FOLLOWER = 4 };
enum timebase { TIMEBASE_PERIOD = 1, TIMEBASE_FREQUENCY = 2, TIMEBASE_POLL_MS = 6,
		TIMEBASE_NAME = 10 };
enum { FOLLOWER_NAME = 4 };
enum perf_sample {
	SAMPLE_CPU = 1, SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_STACK = 4, SAMPLE_MODE = 5,
	SAMPLE_COUNT = 6, SAMPLE_FOLLOWER = 7, SAMPLE_UNWIND_ERROR = 16, SAMPLE_LOST = 17,
	SAMPLE_SKIPPED = 18, SAMPLE_EVENT = 19,
};
enum { EVENT_STOP_REASON = 1, STOP_GUARDRAIL = 1 };

/* BuiltinClock: the numbers of Perfetto's own */
enum { BUILTIN_REALTIME = 1, BUILTIN_MONOTONIC = 3, BUILTIN_MONOTONIC_RAW = 5,
       BUILTIN_BOOTTIME = 6 };

#endif
