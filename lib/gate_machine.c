/* SPDX-License-Identifier: MIT */
/* Advice on what only the owner of the machine under this one can change, in its own words. */
#include "gate_advice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * How a guest is given the PMU of its host's CPUs. Whoever made the machine says more than the
 * hypervisor below: the first row that fits is taken.
 */
static const struct host {
	const char *hypervisor, *vendor;	/* NULL: any */
	const char *change;
} hosts[] = {
	{ NULL, "Amazon EC2",
		"EC2 passes a PMU to some types of instances only, and all of it to the .metal "
		"ones" },
	{ NULL, "Google",
		"Compute Engine passes a PMU to some types of machines (C4, C4A) when it is asked "
		"to as they are made: gcloud compute instances create "
		"--performance-monitoring-unit=standard" },
	{ "wsl1", NULL,
		"WSL 1 has no kernel of Linux: wsl --set-version DISTRIBUTION 2" },
	{ "wsl2", NULL,
		"WSL 2 has a PMU where Windows' hypervisor can pass it on, unless "
		"%UserProfile%\\.wslconfig says hardwarePerformanceCounters=false below [wsl2]" },
	{ "hyper-v", NULL,
		"on the host, in PowerShell: Set-VMProcessor NAME -Perfmon @(\"pmu\"); in a cloud "
		"(Azure, runners of GitHub) its owner decides, by the size of the machine" },
	{ "vmware", NULL,
		"in the settings of this machine's processors: Virtualize CPU performance "
		"counters, or vpmc.enable = \"TRUE\" in its .vmx file" },
	{ "xen", NULL,
		"the owner of the host boots Xen with vpmu=on" },
	{ "virtualbox", NULL,
		"VirtualBox passes no PMU on, which KVM, VMware and Hyper-V do" },
	{ "qemu-tcg", NULL,
		"QEMU emulates no PMU of x86: run it with KVM and -cpu host,pmu=on" },
	{ "kvm", NULL,
		"the host has to pass its PMU through (QEMU: -cpu host,pmu=on, libvirt: <pmu "
		"state='on'/> in <features>); in a cloud its owner decides, by the type of the "
		"machine" },
	{ "", NULL,
		"in a virtual machine the host has to pass its PMU through (QEMU: -cpu "
		"host,pmu=on); else this kernel lacks the driver of the CPU's PMU (dmesg names it "
		"at boot), the device tree its node, or the firmware has switched it off" },
	{ NULL, NULL,
		"the host has to pass its PMU through, or the PMU's driver is not loaded" },
};

static bool fits(const struct host *host, const struct pm_place *place)
{
	return (host->hypervisor == NULL || strcmp(host->hypervisor, place->hypervisor) == 0) &&
		(host->vendor == NULL || strncmp(host->vendor, place->vendor,
						 strlen(host->vendor)) == 0);
}

void pm_advise_pmu(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	static const struct pm_place unknown = { .hypervisor = "" };
	const struct host *host = hosts;

	while (!fits(host, refused->place ? refused->place : &unknown))
		host++;
	pm_advise(ret, "%s", host->change);
}

void pm_advise_kernel(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	if (refused->place != NULL && strcmp(refused->place->hypervisor, "wsl1") == 0)
		pm_advise_pmu(refused, ret);
	else if (refused->perf_errno == ENODEV)
		pm_advise(ret, "run it on Linux itself: for gVisor (runsc) that is docker run "
			  "--runtime=runc, in Kubernetes a pod without its runtimeClassName");
	else
		pm_advise(ret, "a kernel with CONFIG_PERF_EVENTS=y");
}
