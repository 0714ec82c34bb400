# SPDX-License-Identifier: MIT
"""Is KVM usable here? Runs a loop of a million turns in it, under an alarm.

/dev/kvm alone says little: a nested host may run guests through an instruction emulator, where
every ioctl succeeds but a kernel boots a thousand times too slowly. On such a host this loop took
1.4 s, and a hundredth of it 17 ms, so a shorter loop cannot tell. Real hardware needs about a
millisecond.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import signal
import struct
import time
from pathlib import Path

KVM_GET_API_VERSION, KVM_CREATE_VM, KVM_CREATE_VCPU, KVM_RUN = 0xAE00, 0xAE01, 0xAE41, 0xAE80
KVM_GET_VCPU_MMAP_SIZE = 0xAE04
KVM_SET_USER_MEMORY_REGION = 0x4020AE46
KVM_SET_REGS, KVM_GET_SREGS, KVM_SET_SREGS = 0x4090AE82, 0x8138AE83, 0x4138AE84
KVM_EXIT_HLT = 5
SREGS_SIZE = 0x138
# mov $1000000, %ecx; 1: dec %ecx; jnz 1b; hlt -- in 16-bit code
LOOP = bytes.fromhex("66b940420f00" "6649" "75fc" "f4")
FAST_ENOUGH = 0.05
ALARM = 0.4


def _trial(device: str) -> bool:
    """Runs in a child that an alarm kills, so that a KVM that hangs does not stop the parent."""
    kvm = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    if fcntl.ioctl(kvm, KVM_GET_API_VERSION, 0) != 12:
        return False
    vm = fcntl.ioctl(kvm, KVM_CREATE_VM, 0)
    memory = mmap.mmap(-1, 0x1000, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    memory[: len(LOOP)] = LOOP
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(
        vm, KVM_SET_USER_MEMORY_REGION, struct.pack("=IIQQQ", 0, 0, 0x1000, 0x1000, address)
    )
    vcpu = fcntl.ioctl(vm, KVM_CREATE_VCPU, 0)
    run = mmap.mmap(vcpu, fcntl.ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0))
    sregs = bytearray(SREGS_SIZE)
    fcntl.ioctl(vcpu, KVM_GET_SREGS, sregs)
    struct.pack_into("=QIH", sregs, 0, 0, 0xFFFF, 0)  # cs: base 0, limit 64 KiB, selector 0
    fcntl.ioctl(vcpu, KVM_SET_SREGS, bytes(sregs))
    regs = struct.pack("=18Q", *[0] * 16, 0x1000, 2)  # rip, rflags
    fcntl.ioctl(vcpu, KVM_SET_REGS, regs)
    start = time.monotonic()
    fcntl.ioctl(vcpu, KVM_RUN, 0)
    taken = time.monotonic() - start
    return struct.unpack_from("=I", run, 8)[0] == KVM_EXIT_HLT and taken < FAST_ENOUGH


def _child(device: str) -> None:
    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, ALARM)
        status = 0 if _trial(device) else 1
    except (OSError, ValueError):
        pass
    finally:
        os._exit(status)


def usable(device: str = "/dev/kvm") -> bool:
    """True if KVM runs code at the speed of hardware. Takes at most half a second."""
    if platform.machine() != "x86_64" or Path("/sys/module/kvm_pvm").exists():
        return False
    if not os.access(device, os.R_OK | os.W_OK):
        return False
    return timed_trial(device)


def timed_trial(device: str = "/dev/kvm") -> bool:
    """True if the loop ran fast enough on this device."""
    pid = os.fork()
    if pid == 0:
        _child(device)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
