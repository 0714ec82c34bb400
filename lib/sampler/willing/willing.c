/* SPDX-License-Identifier: MIT */
/* The target's side: a signal handler that passes descriptors of this process's memory. */
#define _GNU_SOURCE
#include "../../perfmodes_willing.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Written before the handler is installed, and read by it alone. */
static struct {
	struct sockaddr_un address;
	socklen_t address_size;
	int signal;
	unsigned int flags;
	unsigned int sampler;
} willing;
static atomic_bool started;
static atomic_ullong answered, refused, untrusted, failed;

/*
 * Who listens, by the kernel's word at the time of listen(2): the sender that siginfo_t names is
 * what the sender wrote there.
 */
static bool is_trusted(int fd)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0)
		return false;
	return cred.uid == 0 || cred.uid == geteuid() ||
		(willing.sampler != 0 && cred.uid == willing.sampler - 1);
}

static int open_both(int *fds)
{
	int error;

	fds[0] = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fds[0] < 0)
		return errno;
	fds[1] = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (fds[1] >= 0)
		return 0;
	error = errno;
	close(fds[0]);
	return error;
}

static int open_raised(int *fds)
{
	int error = open_both(fds);
	int was;

	if (error != EACCES || !(willing.flags & PM_WILLING_RAISE_DUMPABLE))
		return error;
	was = prctl(PR_GET_DUMPABLE);
	if (was == 1 || prctl(PR_SET_DUMPABLE, 1) != 0)
		return error;
	error = open_both(fds);
	/* 2 cannot be set from here; 0 is the stricter of the two that can. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	return error;
}

static bool send_answer(int fd, const struct willing_answer *answer, const int *fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec part = { (void *)answer, sizeof(*answer) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	memset(&control, 0, sizeof(control));
	if (answer->error == 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, 2 * sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*answer);
}

static void answer_on(int fd, int token)
{
	struct willing_answer answer = {
		.magic = WILLING_MAGIC, .version = WILLING_VERSION, .token = token,
	};
	int fds[2];

	answer.error = open_raised(fds);
	if (!send_answer(fd, &answer, fds))
		atomic_fetch_add(&failed, 1);
	else
		atomic_fetch_add(answer.error == 0 ? &answered : &refused, 1);
	if (answer.error != 0)
		return;
	close(fds[0]);
	close(fds[1]);
}

static void handle(int number, siginfo_t *info, void *context)
{
	int error = errno;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)number;
	(void)context;
	if (fd < 0 || connect(fd, (const void *)&willing.address, willing.address_size) != 0)
		atomic_fetch_add(&failed, 1);
	else if (!is_trusted(fd))
		atomic_fetch_add(&untrusted, 1);
	else
		answer_on(fd, info->si_value.sival_int);
	if (fd >= 0)
		close(fd);
	errno = error;
}

static int take(const struct pm_willing_opts *opts)
{
	struct pm_willing_opts own = { .size = 0 };

	if (!opts || opts->size < offsetof(struct pm_willing_opts, signal))
		return -EINVAL;
	memcpy(&own, opts, opts->size < sizeof(own) ? opts->size : sizeof(own));
	willing.signal = own.signal ? own.signal : PM_WILLING_SIGNAL;
	willing.flags = own.flags;
	willing.sampler = own.sampler;
	willing.address_size = own.socket ? willing_address(own.socket, &willing.address) : 0;
	if (willing.address_size == 0 || own.flags & ~(unsigned int)PM_WILLING_RAISE_DUMPABLE ||
	    willing.signal < SIGRTMIN || willing.signal > SIGRTMAX)
		return -EINVAL;
	return 0;
}

int pm_willing_start(const struct pm_willing_opts *opts)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction old;
	bool expected = false;
	int err;

	if (!atomic_compare_exchange_strong(&started, &expected, true))
		return -EBUSY;
	err = take(opts);
	if (err == 0 && sigaction(willing.signal, NULL, &old) != 0)
		err = -errno;
	if (err == 0 && (old.sa_flags & SA_SIGINFO || (old.sa_handler != SIG_DFL &&
						       old.sa_handler != SIG_IGN)))
		err = -EBUSY;
	action.sa_sigaction = handle;
	sigemptyset(&action.sa_mask);
	if (err == 0 && sigaction(willing.signal, &action, NULL) != 0)
		err = -errno;
	if (err < 0)
		atomic_store(&started, false);
	return err;
}

int pm_willing_stop(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	if (!atomic_load(&started))
		return -EALREADY;
	sigemptyset(&action.sa_mask);
	if (sigaction(willing.signal, &action, NULL) != 0)
		return -errno;
	atomic_store(&started, false);
	return 0;
}

int pm_willing_stats(struct pm_willing_stats *ret)
{
	struct pm_willing_stats stats = {
		.size = ret->size,
		.answered = atomic_load(&answered), .refused = atomic_load(&refused),
		.untrusted = atomic_load(&untrusted), .failed = atomic_load(&failed),
	};

	if (ret->size < offsetof(struct pm_willing_stats, refused))
		return -EINVAL;
	memcpy(ret, &stats, ret->size < sizeof(stats) ? ret->size : sizeof(stats));
	return 0;
}
