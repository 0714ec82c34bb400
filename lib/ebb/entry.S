/* SPDX-License-Identifier: MIT */
/*
 * Where an event-based branch arrives, between any two instructions of the program: all registers
 * are live, and so is the red zone below the stack pointer (288 bytes of the ELFv2 ABI; twice that
 * is left alone). C keeps r14 to r31, CR2 to CR4, f14 to f31 and v20 to v31 by itself.
 *
 * Power ISA 2.07, Book II 4.4 (rfebb); 64-bit ELF V2 ABI 2.2 (registers, stack frame).
 */
#if defined(__powerpc64__) && defined(_CALL_ELF) && _CALL_ELF == 2 && defined(__LITTLE_ENDIAN__)

#define RED_ZONE 576
#define SAVED 96			/* behind the header and what a callee may save there */
#define VECTORS 224
#define STATUS 1056			/* VSCR, then FPSCR */
#define SMALL (RED_ZONE + 224)
#define LARGE (RED_ZONE + 1088)
#define MMCR0 779
#define RFEBB_1 0x4c000924		/* rfebb 1: old assemblers do not know it */

	.machine power8
	.abiversion 2
	.text

/* Offsets are those of struct ebb_frame. */
	.macro enter size
	stdu	1, -\size(1)
	std	0, SAVED(1)
	std	2, SAVED + 8(1)
	.irp	n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	std	\n, SAVED - 8 + 8 * \n(1)
	.endr
	mflr	3
	mfctr	4
	mfxer	5
	mfcr	6
	std	3, SAVED + 96(1)
	std	4, SAVED + 104(1)
	std	5, SAVED + 112(1)
	std	6, SAVED + 120(1)
	bcl	20, 31, 1f
1:	mflr	12
	addis	2, 12, .TOC. - 1b@ha
	addi	2, 2, .TOC. - 1b@l
	addi	3, 1, SAVED
	.endm

/*
 * A reservation that C left would make a store of the interrupted code succeed that must fail, and
 * one of that code was lost to C: a conditional store to our own frame ends either.
 * Counters go on last, so that the way back is not sampled.
 */
	.macro leave size
	addi	4, 1, 32
	stdcx.	3, 0, 4
	ld	4, SAVED + 96(1)
	ld	5, SAVED + 104(1)
	ld	6, SAVED + 112(1)
	ld	7, SAVED + 120(1)
	mtlr	4
	mtctr	5
	mtxer	6
	mtcrf	0xff, 7
	.irp	n, 4, 5, 6, 7, 8, 9, 10, 11, 12
	ld	\n, SAVED - 8 + 8 * \n(1)
	.endr
	ld	2, SAVED + 8(1)
	ld	0, SAVED(1)
2:	mtspr	MMCR0, 3
	ld	3, SAVED + 16(1)
	addi	1, 1, \size
	.long	RFEBB_1
	.pushsection pm_ebb_writes, "a"
	.balign	4
	.long	2b - .
	.popsection
	.endm

	.hidden	pm_ebb_entry
	.globl	pm_ebb_entry
	.type	pm_ebb_entry, @function
	.p2align 5
pm_ebb_entry:
	enter	SMALL
	bl	pm_ebb_dispatch
	nop
	leave	SMALL
	.size	pm_ebb_entry, . - pm_ebb_entry

/* The halves of vs14 to vs31 that are not f14 to f31 are C's to change, too. */
	.hidden	pm_ebb_entry_vectors
	.globl	pm_ebb_entry_vectors
	.type	pm_ebb_entry_vectors, @function
	.p2align 5
pm_ebb_entry_vectors:
	enter	LARGE
	addi	4, 1, VECTORS
	.set	at, 0
	.rept	52
	stxvd2x	at, 0, 4
	addi	4, 4, 16
	.set	at, at + 1
	.endr
	mfvscr	0
	mffs	0
	li	5, STATUS
	stvx	0, 5, 1
	stfd	0, STATUS + 16(1)
	bl	pm_ebb_dispatch
	nop
	li	5, STATUS
	lvx	0, 5, 1
	lfd	0, STATUS + 16(1)
	mtvscr	0
	mtfsf	0xff, 0, 1, 0
	addi	4, 1, VECTORS
	.set	at, 0
	.rept	52
	lxvd2x	at, 0, 4
	addi	4, 4, 16
	.set	at, at + 1
	.endr
	leave	LARGE
	.size	pm_ebb_entry_vectors, . - pm_ebb_entry_vectors

/* void pm_ebb_call_on(char *stack_top, callback, void *context, branch) */
	.hidden	pm_ebb_call_on
	.globl	pm_ebb_call_on
	.type	pm_ebb_call_on, @function
	.p2align 4
pm_ebb_call_on:
	addis	2, 12, .TOC. - pm_ebb_call_on@ha
	addi	2, 2, .TOC. - pm_ebb_call_on@l
	.localentry pm_ebb_call_on, . - pm_ebb_call_on
	mflr	0
	std	0, 16(1)
	std	2, 24(1)
	rldicr	3, 3, 0, 59
	stdu	1, -96(3)
	mr	1, 3
	mr	12, 4
	mtctr	12
	mr	3, 5
	mr	4, 6
	bctrl
	ld	1, 0(1)
	ld	2, 24(1)
	ld	0, 16(1)
	mtlr	0
	blr
	.size	pm_ebb_call_on, . - pm_ebb_call_on

#endif
	.section .note.GNU-stack, "", @progbits
