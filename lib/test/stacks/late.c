/* SPDX-License-Identifier: MIT */
/* A library that a program loads late: it calls back. */
int late(void (*back)(const char *));
int late(void (*back)(const char *))
{
	back("spin late by_library main");
	return 1;
}
