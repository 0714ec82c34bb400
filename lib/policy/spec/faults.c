/* SPDX-License-Identifier: MIT */
/* An event that can be caused on purpose. */
#include <sys/mman.h>
#include <unistd.h>

#include "spec.h"

size_t pm_cause_faults(size_t count)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = count * page;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return 0;
#ifdef MADV_NOHUGEPAGE
	(void)madvise(area, size, MADV_NOHUGEPAGE);
#endif
	for (size_t i = 0; i < count; i++)
		(void)((volatile char *)area)[i * page];
	(void)munmap(area, size);
	return count;
}
