# SPDX-License-Identifier: MIT
"""The launcher: time and output limits, personas, and no process left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import NEVER, TREE, heeding, needs_mounts, needs_root, processes_of, run, wait_for


def launch(build: Path, out: Path, program: Path | str, *options: str, **more):
    return run(build / "launch", *options, "--out", out, "--", program, **more)


def footer(out: Path) -> dict[str, int]:
    last = out.read_bytes().rstrip(b"\n").rpartition(b"\n")[2].decode()
    assert last.startswith("#:launch: "), last
    return {key: int(value) for key, value in (part.split("=") for part in last.split()[1:])}


def test_complete_output_ends_in_a_footer(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.ktap"
    assert launch(build, out, build / "probes/meta/pass").returncode == 0
    assert footer(out) | {"ms": 0, "bytes": 0, "kernel": 0} == {
        "exit": 0, "signal": 0, "ms": 0, "timeout": 0, "truncated": 0, "leftover": 0, "kernel": 0,
        "bytes": 0}
    assert not list(tmp_path.glob("*.part"))


# As a user who sees own processes alone, where process numbers begin anew: $2 leaves one behind whose number is
# lower than all others.
LOWEST = """set -eu
mount -t proc -o hidepid=2 proc /proc
cd "$1" && echo 300 >/proc/sys/kernel/ns_last_pid
setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all ./launch --out "$1/out/ktap" -- "$1/probe" &
while [ ! -e out/begun ] && kill -0 $!; do sleep 0.05; done
echo 20 >/proc/sys/kernel/ns_last_pid
: >out/go
wait $!
"""
LEAVES = """
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	fclose(fopen("PLACE/begun", "w"));
	while (access("PLACE/go", F_OK) < 0)
		usleep(10000);
	int left = fork();
	if (left == 0)
		return setsid() < 0 || close(1) < 0 || close(2) < 0 || pause();
	printf("left %d of %d\\n", left, getpid());
	return 0;
}
"""


@needs_root
@needs_mounts
@pytest.mark.skipif(not Path("/proc/sys/kernel/ns_last_pid").exists(), reason="this kernel lets nobody choose numbers of processes")
def test_nothing_is_left_where_numbers_of_processes_begin_anew(build: Path, compile_c) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folder = Path(place)
        folder.chmod(0o755)
        (folder / "out").mkdir()
        os.chown(folder / "out", 1000, 1000)
        shutil.copy(build / "launch", folder)
        shutil.copy(compile_c(LEAVES.replace("PLACE", f"{folder}/out")), folder / "probe")
        done = run("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", LOWEST,
                   "sh", place)
        assert (done.returncode, done.stderr) == (0, "")
        left, probe = re.search(r"left (\d+) of (\d+)", (folder / "out/ktap").read_text()).groups()
        assert int(left) < 300 < int(probe) and footer(folder / "out/ktap")["leftover"] == 1


@pytest.mark.parametrize(("good", "runs"), [(2, 2), (9, 6)])
def test_who_asks_again_is_run_again_and_the_last_run_counts(good: int, runs: int, build: Path, tmp_path: Path,
                                                            compile_c) -> None:
    """It asks, and fails, in all runs before the good one."""
    program = compile_c(f"""#include <stdio.h>
        int main(void) {{ FILE *f = fopen("{tmp_path}/count", "a+"); int n; fputc('x', f); n = ftell(f); fclose(f);
        printf("TAP version 13\\nrun %d\\n", n); if (n < {good}) printf("# ask again: a reason\\n");
        return n < {good}; }}""")
    assert launch(build, tmp_path / "x", program).returncode == 0
    assert (tmp_path / "count").read_text() == runs * "x"
    told = (tmp_path / "x").read_text()
    assert told.startswith(f"TAP version 13\nrun {runs}\n") and told.count("run ") == 1
    assert footer(tmp_path / "x")["exit"] == int(runs < good)


@pytest.mark.parametrize(("end", "runs"), [("return 0", 6), ("abort()", 1), ("pause()", 1)], ids=["passes", "crashes", "is cut off"])
def test_only_a_run_that_ended_is_repeated(end: str, runs: int, build: Path, tmp_path: Path, compile_c) -> None:
    program = compile_c(f"""#include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) {{ FILE *f = fopen("{tmp_path}/count", "a"); fputc('x', f); fclose(f);
        printf("TAP version 13\\n# ask again: a reason\\n"); fflush(stdout); {end}; }}""")
    assert launch(build, tmp_path / "x", program, "--timeout", "5" if end == "pause()" else "100").returncode == 0
    assert (tmp_path / "count").read_text() == runs * "x"


def test_a_probe_that_ignores_sigterm_is_ended_in_time(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.ktap"
    assert launch(build, out, build / "probes/meta/stubborn", "--timeout", "5").returncode == 0
    assert footer(out)["timeout"] == 1 and footer(out)["signal"] == signal.SIGKILL
    assert not list(processes_of(build / "probes/meta/stubborn"))


def test_a_daemon_that_keeps_the_pipe_is_found_and_killed(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.ktap"
    assert launch(build, out, build / "probes/meta/daemon", "--timeout", "100").returncode == 0
    assert footer(out)["leftover"] == 1 and footer(out)["timeout"] == 0, "it waits for no end of the daemon's"
    assert not list(processes_of(build / "probes/meta/daemon"))


def test_output_that_comes_byte_by_byte_is_whole(build: Path, tmp_path: Path, compile_c) -> None:
    """It goes on for longer than the launcher leaves a pipe unread; the pipe is empty before each byte."""
    program = compile_c("#include <sys/ioctl.h>\n#include <unistd.h>\nint main(void) { for (int i = 0, n; i < 3; i++) {"
                        " write(1, &\"abc\"[i], 1); do { usleep(1000); n = 0; ioctl(1, FIONREAD, &n); } while (n); }"
                        " return 0; }")
    assert launch(build, tmp_path / "x", program).returncode == 0
    assert (tmp_path / "x").read_text().startswith("abc\n#:launch: ")


def test_endless_output_is_cut_off(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.ktap"
    assert launch(build, out, build / "probes/meta/flood", "--output-limit", "100000").returncode == 0
    assert footer(out)["truncated"] == 1
    assert 100000 <= out.stat().st_size < 100500


def test_signal_ends_all_and_leaves_no_file(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.ktap"
    process = subprocess.Popen([build / "launch", "--out", out, "--", build / "probes/meta/hang"],
                               preexec_fn=heeding())
    wait_for((tmp_path / "x.ktap.part").exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(NEVER) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
    assert not list(processes_of(build / "probes/meta/hang"))


OF_LIBC = 0b111 << 31      # signals 32 to 34: no libc lets a program change them


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_probe_ignores_no_signal_and_the_launcher_what_it_was_told(number: signal.Signals, build: Path, tmp_path: Path,
                                                                     compile_c) -> None:
    """The probe ends when it reads the end of a FIFO, after the signal."""
    program = compile_c("#include <stdio.h>\nint main(void) { int c; FILE *f = fopen(\"/proc/self/status\", \"r\");"
                        " while ((c = getc(f)) != EOF) putchar(c); f = fopen(\"wait\", \"r\");"
                        " return getc(f) != EOF; }")
    os.mkfifo(tmp_path / "wait")
    process = subprocess.Popen([build / "launch", "--out", "x", "--", program], cwd=tmp_path,
                               preexec_fn=heeding([number]))
    with open(tmp_path / "wait", "w", encoding="ascii"):
        process.send_signal(number)
    assert process.wait(NEVER) == 0
    text = (tmp_path / "x").read_text()
    sets = [int(word, 16) & ~OF_LIBC for word in re.findall(r"^Sig(?:Ign|Blk):\t(\w+)$", text, re.M)]
    assert sets == [0, 0] and footer(tmp_path / "x")["signal"] == 0


def test_missing_program_and_bad_usage_say_so(build: Path, tmp_path: Path) -> None:
    missing = launch(build, tmp_path / "x", tmp_path / "nothing")
    assert missing.returncode == 3 and "No such file" in missing.stderr
    assert launch(build, tmp_path / "x", "p", "--persona", "king").returncode == 2
    assert run(build / "launch").returncode == 2
    assert launch(build, tmp_path / "x", "p", "--timeout", "nan").returncode == 2
    king = run(build / "launch", "--check", "king")
    assert king.returncode == 2 and "no persona called 'king'" in king.stderr


def test_a_side_channel_that_is_not_to_be_had_is_named_with_its_reason(build: Path, tmp_path: Path) -> None:
    done = launch(build, tmp_path / "x", build / "probes/meta/pass", "--tee", f"{tmp_path}/no/where=x")
    assert done.returncode == 3 and "no/where: No such file" in done.stderr


@pytest.mark.perf
@needs_root
def test_personas_have_exactly_their_privileges(build: Path, tmp_path: Path) -> None:
    def facts(persona: str) -> dict[str, str]:
        out = tmp_path / persona
        assert run(build / "launch", "--persona", persona, "--out", out, "--",
                   build / "identify", "--persona").returncode == 0
        return dict(line.split("=", 1) for line in out.read_text().splitlines()
                    if not line.startswith("#"))
    assert facts("root")["uid"] == "0"
    user = facts("user")
    assert (user["uid"], int(user["caps"], 16), user["seccomp"]) == ("65534", 0, "0")
    perfmon = facts("perfmon")
    assert (perfmon["uid"], int(perfmon["caps"], 16)) == ("65534", 1 << 38)
    seccomp = facts("seccomp")
    assert (seccomp["seccomp"], seccomp["gate"], seccomp["uid"]) == ("2", "filtered", "65534")


@pytest.mark.perf
@needs_root
def test_a_persona_needs_no_right_to_walk_the_path(build: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    program = closed / "pass"
    program.write_bytes((build / "probes/meta/pass").read_bytes())
    program.chmod(0o755)
    out = tmp_path / "x.ktap"
    assert launch(build, out, program, "--persona", "user").returncode == 0
    assert b"\nok 1 global.counts\n" in out.read_bytes()


# Changes a file that is kept, and makes cgroups in a folder that is as good as theirs; then it hangs,
# and where it is told to writes without end.
DISTURBER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cgroup.h"
#include "privilege.h"
int main(int argc, char **argv)
{
	struct cgroups cgroups;
	restore_at_exit(argv[1]);
	if (cgroups_make(argv[2], &cgroups) || write_file(argv[1], "gone"))
		return 1;
	if (fork() == 0)
		for (;;)
			pause();
	while (argc > 3)
		puts("more");
	for (;;)
		pause();
}
"""


@pytest.fixture
def disturber(tmp_path: Path) -> list[str]:
    """The command line of a program below tmp_path that disturbs the machine."""
    (tmp_path / "d.c").write_text(DISTURBER)
    sources = [*(TREE / "probes/kit").glob("*.c"), *(TREE / "lib").glob("*.c")]
    subprocess.run(["gcc", "-static", "-pthread", "-I", TREE / "probes/kit", "-o", tmp_path / "disturber",
                    tmp_path / "d.c", *sources], check=True)
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "groups").mkdir()
    return ["./disturber", "kept", "groups"]


@pytest.mark.parametrize("why", ["time", "output", "signal"])
def test_who_is_cut_off_can_put_back_what_it_changed(why: str, build: Path, disturber: list[str],
                                                     tmp_path: Path) -> None:
    more = ["more"] if why == "output" else []
    process = subprocess.Popen([build / "launch", "--timeout", "1" if why == "time" else "100", "--output-limit", "1000",
                                "--out", "x", "--", *disturber, *more],
                               env={"PERFMODES_MAY_DISTURB": "1"}, cwd=tmp_path, preexec_fn=heeding())
    if why == "signal":
        wait_for(lambda: (tmp_path / "kept").read_text() == "gone")
        process.send_signal(signal.SIGINT)
    assert process.wait(NEVER) == (128 + signal.SIGINT if why == "signal" else 0)
    if why != "signal":
        assert footer(tmp_path / "x")["timeout" if why == "time" else "truncated"] == 1
    assert (tmp_path / "kept").read_text() == "kept"
    assert not list((tmp_path / "groups").iterdir())
    assert not list(processes_of(tmp_path / "disturber"))


@needs_mounts
def test_full_disk_is_an_error_and_leaves_nothing_half(build: Path, tmp_path: Path) -> None:
    script = (f"mount -t tmpfs -o size=16k t {tmp_path} && "
              f"'{build}/launch' --out {tmp_path}/x.ktap -- '{build}/probes/meta/flood'; "
              f"echo rc=$?; ls {tmp_path}")
    done = run("unshare", "-m", "sh", "-c", script)
    assert done.stdout == "rc=3\n"
    assert "No space left" in done.stderr


NEWER_CALLS = r"""
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	char byte;
	long random = syscall(SYS_getrandom, &byte, 1, 0);	/* v3.17 */
	printf("getrandom=%ld errno=%d\n", random, random < 0 ? errno : 0);
	syscall(SYS_perf_event_open, 0, 0, -1, -1, 8);		/* PERF_FLAG_FD_CLOEXEC, v3.14 */
	printf("cloexec errno=%d\n", errno);
	return 0;
}
"""


@pytest.mark.perf
def test_old_kernel_hides_newer_calls_and_flags(build: Path, tmp_path: Path, compile_c) -> None:
    out = tmp_path / "x"
    program = compile_c(NEWER_CALLS)
    launch(build, out, program)
    assert "getrandom=1 errno=0\n" in out.read_text()
    assert "cloexec errno=14\n" in out.read_text()	# EFAULT: the flag is known
    run(build / "falsify/launch", "--old-kernel", "--out", out, "--", program)
    assert "getrandom=-1 errno=38\n" in out.read_text()
    assert "cloexec errno=22\n" in out.read_text()


@needs_root
def test_what_the_kernel_says_meanwhile_is_kept(build: Path, tmp_path: Path) -> None:
    """A file in the place of the kernel's log, in a mount namespace of the test."""
    log, probe, out = tmp_path / "kmsg", tmp_path / "probe", tmp_path / "x.ktap"
    log.write_text("4,1,10,-;BUG: before the probe began\n")
    probe.write_text(f"""set -e
printf 'ok 1 x'
{{
	echo '4,2,20,-;perf: nothing to report'
	echo '4,3,30,-;Oops: 0002 [#1] SMP'
	echo ' SUBSYSTEM=none'
	echo '12,4,40,-;BUG: a program wrote this'
	echo '4,5,50,-;RIP: 0010:some_function+0x1/0x2'
	echo '4,6,60,-;RIP: 0010:of_no_report+0x1/0x2'
	echo '6,7,70,-;perf: interrupt took too long (2 > 1), lowering'
}} >> {log}
""")
    script = 'mount --bind "$0" /dev/kmsg 2> /dev/null || exit 77; exec "$@"'
    done = run("unshare", "-m", "sh", "-c", script, log, build / "launch", "--out", out, "--",
               "/bin/sh", probe)
    if done.returncode in (1, 77):
        pytest.skip("no mount namespace, or no /dev/kmsg to mount over")
    assert done.returncode == 0, done.stderr
    lines = out.read_text().splitlines()
    assert lines[:-1] == ["ok 1 x", "#:kernel: 3 oops: Oops: 0002 [#1] SMP",
                          "#:kernel: 5 at: RIP: 0010:some_function+0x1/0x2",
                          "#:kernel: 7 slow interrupts: perf: interrupt took too long (2 > 1), "
                          "lowering"]
    assert footer(out)["kernel"] == 3 and footer(out)["bytes"] == len("ok 1 x")


HIDES = """
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
int main(int count, char **words)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_%s, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (count < 2 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ 4, code }) < 0)
		return 77;
	execv(words[1], words + 1);
	return 78;
}
"""


@pytest.mark.parametrize("call", ["ppoll", "wait4", "close", "sendto"])
def test_where_nothing_can_be_followed_nothing_is_begun(call: str, build: Path, tmp_path: Path, compile_c) -> None:
    """Behind such a filter no probe would be seen to end, no worker be dismissed, and no SIGTERM be heard."""
    hides = compile_c(HIDES % call)
    (tmp_path / "plan").write_text("same meta.pass\nsame meta.hang\n")
    done = run(hides, build / "launch", "--queue", tmp_path, "--programs", build)
    assert done.returncode == 3 and f"launch: {call}(2): Function not implemented: " in done.stderr, done.stderr
    assert not list(tmp_path.rglob("*.ktap"))
    if call != "sendto":
        done = run(hides, build / "launch", "--out", tmp_path / "x", "--", build / "probes/meta/pass")
        assert done.returncode == 3 and f"launch: {call}(2): " in done.stderr and not (tmp_path / "x").exists()
