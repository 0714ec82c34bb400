/* SPDX-License-Identifier: MIT */
/* See registers.h. */
#if defined(__powerpc64__) && defined(_CALL_ELF) && _CALL_ELF == 2

#define GPRS 64
#define FPRS (GPRS + 8 * 18)
#define VRS (FPRS + 8 * 18)
#define STATUS (VRS + 16 * 12)
#define TO (STATUS + 16)
#define THIRD (TO + 8)
#define FRAME (THIRD + 24)

	.machine power8
	.abiversion 2
	.text

	.macro begin name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.endm

begin registers_pass
	mflr	0
	std	0, 16(1)
	mfcr	0
	std	0, 8(1)
	stdu	1, -FRAME(1)
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	std	\n, GPRS + 8 * (\n - 14)(1)
	stfd	\n, FPRS + 8 * (\n - 14)(1)
	.endr
	addi	5, 1, VRS
	.irp	n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	stvx	\n, 0, 5
	addi	5, 5, 16
	.endr
	mffs	0
	stfd	0, STATUS(1)
	std	4, TO(1)
	std	1, 8(3)
	std	2, 16(3)
	std	13, 104(3)
	lfd	0, 288(3)
	mtfsf	0xff, 0, 1, 0
	addi	5, 3, 304
	lvx	0, 0, 5
	mtvscr	0
	addi	5, 3, 320
	.set	at, 0
	.rept	64
	lxvd2x	at, 0, 5
	addi	5, 5, 16
	.set	at, at + 1
	.endr
	ld	5, 256(3)
	mtlr	5
	ld	5, 264(3)
	mtctr	5
	ld	5, 272(3)
	mtxer	5
	ld	5, 280(3)
	mtcrf	0xff, 5
	ld	0, 0(3)
	.irp	n, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld	\n, 8 * \n(3)
	.endr
	ld	3, 24(3)
	.globl	registers_quiet
registers_quiet:
	.rept	3000
	nop
	.endr
	.globl	registers_quiet_end
registers_quiet_end:
	std	3, THIRD(1)
	ld	3, TO(1)
	std	0, 0(3)
	.irp	n, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	std	\n, 8 * \n(3)
	.endr
	mfcr	4
	std	4, 280(3)
	ld	4, THIRD(1)
	std	4, 24(3)
	mflr	4
	std	4, 256(3)
	mfctr	4
	std	4, 264(3)
	mfxer	4
	std	4, 272(3)
	addi	5, 3, 320
	.set	at, 0
	.rept	64
	stxvd2x	at, 0, 5
	addi	5, 5, 16
	.set	at, at + 1
	.endr
	mfvscr	0
	addi	5, 3, 304
	stvx	0, 0, 5
	mffs	0
	stfd	0, 288(3)
	lfd	0, STATUS(1)
	mtfsf	0xff, 0, 1, 0
	addi	5, 1, VRS
	.irp	n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	lvx	\n, 0, 5
	addi	5, 5, 16
	.endr
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld	\n, GPRS + 8 * (\n - 14)(1)
	lfd	\n, FPRS + 8 * (\n - 14)(1)
	.endr
	addi	1, 1, FRAME
	ld	0, 8(1)
	mtcrf	0xff, 0
	ld	0, 16(1)
	mtlr	0
	blr
	.size	registers_pass, . - registers_pass

/* In 64 bits of other ones than any pattern. CR2 to CR4 are to be kept. */
	.macro trash
	li	0, -86
	mtctr	0
	mtxer	0
	mtcrf	0xc7, 0
	.irp	n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	mr	\n, 0
	.endr
	.endm

begin registers_trash
	trash
	blr
	.size	registers_trash, . - registers_trash

begin registers_trash_vectors
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
	vspltisw \n, 7
	.endr
	mtvscr	0
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
	xxlor	\n, 32, 32
	.endr
	.irp	n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	xxpermdi \n, \n, 32, 0
	.endr
	xxlxor	0, 0, 0
	mtfsf	0xff, 0, 1, 0
	trash
	blr
	.size	registers_trash_vectors, . - registers_trash_vectors

begin registers_reserve
	ldarx	5, 0, 3
	.globl	registers_reserved
registers_reserved:
	.rept	1000
	nop
	.endr
	.globl	registers_reserved_end
	stdcx.	5, 0, 3
registers_reserved_end:
	li	3, 0
	bnelr
	li	3, 1
	blr
	.size	registers_reserve, . - registers_reserve

#endif
	.section .note.GNU-stack, "", @progbits
