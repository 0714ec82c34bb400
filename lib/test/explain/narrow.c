/* SPDX-License-Identifier: MIT */
/*
 * A 32-bit program for x86 without a library, to be built where there is none of 32 bits: opens a
 * counter of its page faults in user mode, maps a ring of it by mmap2, asks for its id, switches it
 * on, and opens an event that no kernel has. Exits with 3 when all but the last did, else with 4.
 */
void _start(void);

enum { EXIT_GROUP = 252, IOCTL = 54, OPEN = 336, MMAP2 = 192 };
enum { ENABLE = 0x2400, ID = 0x80042407, PAGE = 4096, SHARED = 1, READ_WRITE = 3 };

static unsigned int attr[28];	/* type, size, config in words 2 and 3, period in 4, flags in 10 */

/* %ebp, which holds the sixth argument, is saved: the compiler may use it. */
static long call(long number, long a, long b, long c, long d, long e)
{
	long result;

	__asm__ volatile("push %%ebp\n\txor %%ebp, %%ebp\n\tint $0x80\n\tpop %%ebp" : "=a"(result) :
			 "0"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
	return result;
}

void _start(void)
{
	unsigned long long id = 0;
	long fd, ring, all;

	attr[0] = 1;
	attr[1] = sizeof(attr);
	attr[2] = 2;
	attr[4] = 1000000;
	attr[10] = 1 | 1 << 5 | 1 << 6;
	fd = call(OPEN, (long)attr, 0, -1, -1, 0);
	ring = call(MMAP2, 0, 9 * PAGE, READ_WRITE, SHARED, fd);
	all = fd >= 0 && (unsigned long)ring < -4095ul &&
	      call(IOCTL, fd, (long)ID, (long)&id, 0, 0) == 0 &&
	      call(IOCTL, fd, ENABLE, 0, 0, 0) == 0;
	attr[2] = 99;
	(void)call(OPEN, (long)attr, 0, -1, -1, 0);
	(void)call(EXIT_GROUP, all ? 3 : 4, 0, 0, 0, 0);
}
