/* SPDX-License-Identifier: MIT */
/* A program that does nothing: what it takes to start one, and nothing else. */
int main(void)
{
	return 0;
}
