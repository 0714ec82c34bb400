// SPDX-License-Identifier: MIT
/*
 * libperfmodes for C++11 and later: owners of what the library opens, and errors as exceptions.
 * Header only. The structures, constants and their meaning are those of perfmodes.h.
 *
 * An object closes what it owns when it is destroyed, cannot be copied, and can be moved; a call of
 * the old one then throws EINVAL. A callback may destroy its own session. A call that fails throws
 * perfmodes::error, whose what() is the library's diagnosis; its code() has the errno. Callbacks of
 * a session may throw: the call that delivered the record throws it on, and run() ends. One thread
 * at a time uses an object, but for session::interrupt.
 *
 * get() hands out the object of the C interface, which stays the owner's: for the functions that
 * have no method here, as pm_profile_merge, pm_plan_thread_tax or pm_counters_read_one.
 */
#ifndef PERFMODES_HPP
#define PERFMODES_HPP

#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <perfmodes.h>

namespace perfmodes {

/* A structure of the library, 0 but for its size. */
template <typename T> T sized()
{
	T made;

	std::memset(&made, 0, sizeof(made));
	made.size = sizeof(made);
	return made;
}

/* A failed call. */
class error : public std::system_error {
public:
	error(int number, const std::string &line, pm_cause cause = PM_CAUSE_NONE)
		: std::system_error(number, std::generic_category(), line), line_(line),
		  cause_(cause) {}
	const char *what() const noexcept override { return line_.c_str(); }
	pm_cause cause() const noexcept { return cause_; }

private:
	std::string line_;
	pm_cause cause_;
};

/* The result, unless it is a failure. */
inline int check(int result, const char *call)
{
	if (result < 0)
		throw error(-result, std::string(call) + ": " + std::strerror(-result));
	return result;
}

inline int check(int result, const char *call, const pm_diag &diag)
{
	if (result < 0 && diag.text[0] != '\0')
		throw error(-result, diag.text, diag.cause);
	return check(result, call);
}

/* What an object owns, unless it was moved from. */
template <typename T> T *owned(T *object)
{
	if (object == nullptr)
		throw error(EINVAL, "perfmodes: the object is empty: it was moved from");
	return object;
}

/* A text for the library, which would end at a NUL byte: a text with one is refused (EINVAL). */
inline const char *c_text(const std::string &text)
{
	if (text.find('\0') != std::string::npos)
		throw error(EINVAL, "perfmodes: a text has a NUL byte, behind \"" +
			    std::string(text.c_str()) + "\"");
	return text.c_str();
}

/* The event of that name, of every thread of this process; counted, unless it tells a rate. */
inline pm_event_spec event(const std::string &name, int tid = PM_ALL_THREADS)
{
	pm_event_spec spec = sized<pm_event_spec>();
	pm_diag diag = sized<pm_diag>();

	check(pm_event_parse(c_text(name), &diag, &spec), name.c_str(), diag);
	spec.tid = tid;
	return spec;
}

/* What a function writes that works as snprintf(3). */
template <typename Write> std::string text_of(Write write)
{
	std::string text(static_cast<size_t>(write(nullptr, size_t(0))) + 1, '\0');

	write(&text[0], text.size());
	text.pop_back();
	return text;
}

/* The name that the library gives an event, with its modes. */
inline std::string event_name(const pm_event_spec &spec)
{
	return text_of([&](char *to, size_t size) { return pm_event_name(&spec, to, size); });
}

/* An event of a list, and what the list tells of it. */
struct listed_event {
	pm_event_spec spec;
	pm_event_listed listed;
};

/*
 * The events of a text as perf(1) takes it behind -e, with groups in braces and patterns of
 * tracepoints, of every thread of this process.
 */
inline std::vector<listed_event> event_list(const std::string &text, int tid = PM_ALL_THREADS)
{
	std::vector<pm_event_spec> specs(32, sized<pm_event_spec>());
	std::vector<pm_event_listed> listed(32, sized<pm_event_listed>());
	std::vector<listed_event> found;
	pm_diag diag = sized<pm_diag>();
	size_t count;

	while ((count = static_cast<size_t>(check(pm_event_list(c_text(text), &diag, specs.data(),
								listed.data(), specs.size()),
						  text.c_str(), diag))) > specs.size()) {
		specs.resize(count, sized<pm_event_spec>());
		listed.resize(count, sized<pm_event_listed>());
	}
	for (size_t i = 0; i < count; i++) {
		specs[i].size = sizeof(specs[i]);
		specs[i].tid = tid;
		listed[i].size = sizeof(listed[i]);
		found.push_back({ specs[i], listed[i] });
	}
	return found;
}

inline pm_session_opts allow(unsigned int what = PM_ALLOW_ALL)
{
	pm_session_opts opts = sized<pm_session_opts>();

	opts.allow = what;
	return opts;
}

class profile {
public:
	/* That of this machine. */
	profile() : profile(std::string()) {}
	/* That of a file; of this machine when the path is empty. */
	explicit profile(const std::string &path)
	{
		pm_diag diag = sized<pm_diag>();
		pm_profile *made = nullptr;

		check(path.empty() ? pm_profile_load_default(&diag, &made) :
		      pm_profile_load_file(c_text(path), &diag, &made), "profile", diag);
		said_ = diag.text;
		own_.reset(made);
	}
	/* Why that of $PERFMODES_PROFILE is not used; empty where it is, or is not set. */
	const std::string &said() const noexcept { return said_; }
	pm_rank rank() const { return pm_profile_rank(owned(own_.get())); }
	int probe(uint64_t budget_ns = 0)
	{
		return check(pm_profile_probe(owned(own_.get()), nullptr, budget_ns), "pm_profile_probe");
	}
	/* PM_UNKNOWN for a fact that is not known, or is no verdict. */
	pm_verdict verdict(const std::string &key) const
	{
		pm_fact fact = sized<pm_fact>();

		return pm_profile_lookup(owned(own_.get()), c_text(key), &fact) < 0 ? PM_UNKNOWN :
			fact.verdict;
	}
	pm_profile *get() const noexcept { return own_.get(); }

private:
	struct closer { void operator()(pm_profile *p) const { pm_profile_destroy(p); } };
	std::unique_ptr<pm_profile, closer> own_;
	std::string said_;
};

inline std::string explained(const pm_plan *of)
{
	return text_of([of](char *to, size_t size) { return pm_plan_explain(of, to, size); });
}

/* Which way to observe works here. A profile that is handed in has to outlive it. */
class plan {
public:
	explicit plan(const std::vector<pm_event_spec> &specs,
		      const pm_session_opts &opts = allow(), profile *known = nullptr)
		: events_(specs.size())
	{
		pm_diag diag = sized<pm_diag>();
		pm_plan *made = nullptr;

		check(pm_plan_make(specs.data(), specs.size(), &opts,
				   known != nullptr ? owned(known->get()) : nullptr, &diag, &made),
		      "pm_plan_make", diag);
		own_.reset(made);
	}
	pm_strategy strategy() const { return pm_plan_strategy(owned(own_.get())); }
	std::string explain() const { return explained(owned(own_.get())); }
	pm_cost cost() const
	{
		pm_cost cost = sized<pm_cost>();

		check(pm_plan_cost(owned(own_.get()), &cost), "pm_plan_cost");
		return cost;
	}
	size_t events() const noexcept { return events_; }
	pm_plan *get() const noexcept { return own_.get(); }

private:
	struct closer { void operator()(pm_plan *p) const { pm_plan_destroy(p); } };
	std::unique_ptr<pm_plan, closer> own_;
	size_t events_;
};

/* Each may be empty. They run in the thread that calls poll, run, attach, read or detach. */
struct listener {
	std::function<void(const pm_observed &)> sample;
	std::function<void(int tid, int parent, uint64_t time)> task;
	std::function<void(uint64_t count)> lost;
	/* A whole record, header first, of a kind that the option `side` asks for. */
	std::function<void(const void *record, size_t size)> other;
};

/*
 * Events of a plan, which has to outlive it and belongs to one session at a time. A callback may
 * destroy, move or replace the session: that is done when the call that delivers has returned,
 * which delivers no more. Nothing of it may be used then but what was moved.
 */
class session {
public:
	/* Named events of every thread of this process, attached at once: pm_session_open. */
	explicit session(const std::string &events, listener heard = listener(),
			 const pm_session_opts &opts = allow())
		: events_(32), inner_(std::make_shared<inner>(std::move(heard)))
	{
		const pm_listener calls = inner_->calls();
		pm_diag diag = sized<pm_diag>();
		pm_session *made = nullptr;
		int err = pm_session_open(c_text(events), &opts, &calls, inner_.get(), &diag, &made);

		inner_->own.reset(made);
		inner_->done(err, "pm_session_open", &diag);
	}
	explicit session(plan &of, listener heard = listener())
		: events_(of.events()), inner_(std::make_shared<inner>(std::move(heard)))
	{
		const pm_listener calls = inner_->calls();

		inner_->own.reset(pm_session_create(owned(of.get()), &calls, inner_.get()));
		if (!inner_->own)
			throw std::bad_alloc();
	}
	session(session &&) = default;
	session &operator=(session &&other)
	{
		if (this != &other) {
			close();
			events_ = other.events_;
			inner_ = std::move(other.inner_);
		}
		return *this;
	}
	~session() { close(); }

	pm_strategy attach()
	{
		pm_diag diag = sized<pm_diag>();
		const std::shared_ptr<inner> kept = held();

		return static_cast<pm_strategy>(
			kept->done(pm_session_attach(kept->own.get(), &diag), "attach", &diag));
	}
	void detach() { call("pm_session_detach", pm_session_detach); }
	int poll(int timeout_ms) { return call("pm_session_poll", pm_session_poll, timeout_ms); }
	/* Polls until interrupt(), then delivers what is left. */
	void run()
	{
		const std::shared_ptr<inner> kept = held();

		kept->runs = true;
		const int result = pm_session_run(kept->own.get());
		kept->runs = false;
		kept->done(result, "pm_session_run");
	}
	/* For event loops: readable when poll has something to do. */
	int fd() { return call("pm_session_fd", pm_session_fd); }
	/* Ends run(), or the next poll, which throws ECANCELED; from any thread or callback. */
	void interrupt() noexcept
	{
		if (inner_)
			pm_session_interrupt(inner_->own.get());
	}
	std::vector<pm_value> read()
	{
		std::vector<pm_value> values(events_, sized<pm_value>());

		values.resize(static_cast<size_t>(
			call("pm_session_read", pm_session_read, values.data(), values.size())));
		return values;
	}
	std::vector<pm_part> read_parts()
	{
		const std::shared_ptr<inner> kept = held();
		size_t room = static_cast<size_t>(kept->done(
			pm_session_read_parts(kept->own.get(), nullptr, 0), "read_parts"));
		std::vector<pm_part> parts(room, sized<pm_part>());

		if (room > 0)
			kept->done(pm_session_read_parts(kept->own.get(), parts.data(), room),
				   "read_parts");
		return parts;
	}
	pm_stats stats() const
	{
		pm_stats stats = sized<pm_stats>();

		check(pm_session_stats(held()->own.get(), &stats), "pm_session_stats");
		return stats;
	}
	/* What the strategy is, and why. */
	std::string explain() const
	{
		return explained(pm_session_plan(held()->own.get()));
	}
	pm_session *get() const noexcept { return inner_ ? inner_->own.get() : nullptr; }

private:
	struct closer { void operator()(pm_session *s) const { pm_session_destroy(s); } };

	/* It stays where it is when the session is moved, and as long as a call delivers. */
	struct inner {
		explicit inner(listener &&heard) : heard(std::move(heard)), closed(false), runs(false) {}

		listener heard;
		std::exception_ptr failure;
		bool closed;		/* nobody hears any more */
		bool runs;		/* until it is interrupted */
		std::unique_ptr<pm_session, closer> own;	/* goes first: it may deliver */

		/* What is heard decides whether pm_session_open takes samples, and what wakes. */
		pm_listener calls() const
		{
			pm_listener made = sized<pm_listener>();

			made.sample = heard.sample ? on_sample : nullptr;
			made.task = heard.task ? on_task : nullptr;
			made.lost = heard.lost ? on_lost : nullptr;
			made.other = heard.other ? on_other : nullptr;
			return made;
		}
		template <typename Call> void keep(Call call)
		{
			if (failure || closed)
				return;
			try {
				call();
			} catch (...) {
				failure = std::current_exception();
				if (runs)
					pm_session_interrupt(own.get());
			}
		}
		int done(int result, const char *call, const pm_diag *diag = nullptr)
		{
			if (failure) {
				std::exception_ptr thrown;

				std::swap(thrown, failure);
				std::rethrow_exception(thrown);
			}
			if (closed && result < 0)
				return 0;	/* by its own callback */
			return diag != nullptr ? check(result, call, *diag) : check(result, call);
		}
	};

	static void on_sample(void *context, const pm_observed *sample)
	{
		inner *self = static_cast<inner *>(context);

		self->keep([&] { self->heard.sample(*sample); });
	}
	static void on_task(void *context, int tid, int parent, uint64_t time)
	{
		inner *self = static_cast<inner *>(context);

		self->keep([&] { self->heard.task(tid, parent, time); });
	}
	static void on_lost(void *context, uint64_t count)
	{
		inner *self = static_cast<inner *>(context);

		self->keep([&] { self->heard.lost(count); });
	}
	static void on_other(void *context, const void *record, size_t size)
	{
		inner *self = static_cast<inner *>(context);

		self->keep([&] { self->heard.other(record, size); });
	}
	/* For the time of a call, after which this object may be gone. */
	std::shared_ptr<inner> held() const
	{
		owned(inner_.get());
		return inner_;
	}
	template <typename Function, typename... Arguments>
	int call(const char *name, Function function, Arguments... arguments)
	{
		const std::shared_ptr<inner> kept = held();

		return kept->done(function(kept->own.get(), arguments...), name);
	}
	void close() noexcept
	{
		if (!inner_)
			return;
		inner_->closed = true;
		if (inner_.use_count() > 1)
			pm_session_interrupt(inner_->own.get());
		inner_.reset();
	}

	size_t events_;		/* at most */
	std::shared_ptr<inner> inner_;
};

/* Events counted together on one thread, the calling one if the specs say 0. */
class counters {
public:
	explicit counters(const std::vector<pm_event_spec> &specs,
			  unsigned int flags = PM_COUNTERS_MAY_USER_ONLY, profile *known = nullptr)
		: events_(specs.size())
	{
		pm_diag diag = sized<pm_diag>();
		pm_counters *made = nullptr;

		user_only_ = check(pm_counters_open(specs.data(), specs.size(), flags,
						    known != nullptr ? owned(known->get()) : nullptr,
						    &diag, &made), "pm_counters_open", diag) == 1;
		own_.reset(made);
	}
	/* Whether only user mode is counted, because the kernel may not be observed. */
	bool user_only() const noexcept { return user_only_; }
	void start() { done(pm_counters_start(owned(own_.get()))); }
	void stop() { done(pm_counters_stop(owned(own_.get()))); }
	void reset() { done(pm_counters_reset(owned(own_.get()))); }
	std::vector<pm_value> read()
	{
		std::vector<pm_value> values(events_, sized<pm_value>());

		done(pm_counters_read(owned(own_.get()), values.data(), events_));
		return values;
	}
	pm_counters *get() const noexcept { return own_.get(); }

private:
	struct closer { void operator()(pm_counters *c) const { pm_counters_destroy(c); } };

	void done(int result)
	{
		pm_diag diag = sized<pm_diag>();

		if (result < 0)
			pm_counters_diagnose(owned(own_.get()), result, &diag);
		check(result, "counters", diag);
	}

	std::unique_ptr<pm_counters, closer> own_;
	size_t events_;
	bool user_only_;
};

} // namespace perfmodes

#endif
