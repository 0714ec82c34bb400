/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * * The numbers of the registers that unwinding starts from, by architecture. Included behind
 * probe.h.
 */
#ifndef REGISTER_NUMBERS_H
#define REGISTER_NUMBERS_H

#define NO_REGISTER -1

#if defined(__x86_64__) || defined(__i386__)
enum { BP = 6, SP = 7, IP = 8 };
#elif defined(__aarch64__)
enum { BP = 29, SP = 31, IP = 32 };
#elif defined(__arm__)
enum { BP = NO_REGISTER, SP = 13, IP = 15 };
#elif defined(__powerpc__)
enum { BP = NO_REGISTER, SP = 1, IP = 32 };
#elif defined(__s390x__)
enum { BP = NO_REGISTER, SP = 15, IP = 33 };
#elif defined(__riscv)
enum { BP = 8, SP = 2, IP = 0 };
#elif defined(__mips__)
enum { BP = NO_REGISTER, SP = 29, IP = 0 };
#elif defined(__loongarch__)
enum { BP = NO_REGISTER, SP = 3, IP = 0 };
#else
enum { BP = NO_REGISTER, SP = NO_REGISTER, IP = NO_REGISTER };
#endif

static inline uint64_t register_bit(int number)
{
	return number == NO_REGISTER ? 0 : 1ull << number;
}

/* The bits of IP, SP and the frame pointer; absent where nothing is known. */
static inline uint64_t known_registers(void)
{
	if (SP == NO_REGISTER)
		say_absent("the numbers of this architecture's registers are not known here");
	return register_bit(BP) | register_bit(SP) | register_bit(IP);
}

/* A register's value: they lie in the order of their numbers. */
static inline uint64_t register_value(const uint64_t *registers, int number)
{
	return registers[__builtin_popcountll(known_registers() & (register_bit(number) - 1))];
}

#endif
