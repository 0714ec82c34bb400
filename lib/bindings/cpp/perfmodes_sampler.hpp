// SPDX-License-Identifier: MIT
/*
 * libperfmodes-sampler for C++11 and later: watching other processes. Header only, over
 * perfmodes_sampler.h, whose structures, constants and meaning these are; errors as in
 * perfmodes.hpp.
 */
#ifndef PERFMODES_SAMPLER_HPP
#define PERFMODES_SAMPLER_HPP

#include <atomic>

#include <perfmodes.hpp>
#include <perfmodes_sampler.h>

namespace perfmodes {

/* The target of that text: "any", "pid:42", "cmd:PATTERN"...; it points into the text. */
inline pm_target target(const char *text)
{
	pm_target made = sized<pm_target>();
	pm_diag diag = sized<pm_diag>();

	check(pm_target_parse(text, &diag, &made), text, diag);
	return made;
}

/* Each may be empty. They run in the thread that calls start, poll or stop. */
struct sampler_listener {
	std::function<void(const pm_sampled &)> sample;
	std::function<void(const pm_side &)> side;
	std::function<void(const pm_process &, pm_process_change, uint64_t time)> process;
	std::function<void(uint32_t cpu, uint64_t count)> lost;
};

/*
 * A sampler. One thread at a time may call it, and no callback may: such a call throws EBUSY; in a
 * forked process it throws ECHILD. A callback may destroy, move or replace it: that is done when
 * the call that delivers has returned, which delivers no more. A profile that is handed in has to
 * outlive it.
 */
class sampler {
public:
	/*
	 * Events of a text as of event_list, with its groups; targets as texts. What else a text
	 * tells of an event beside its spec (S, W, name, call-graph, stack-size) does not count.
	 */
	sampler(const std::string &events, const std::vector<std::string> &targets,
		sampler_listener heard = sampler_listener(),
		const pm_sampler_opts &opts = sized<pm_sampler_opts>(), profile *known = nullptr)
		: sampler(listed(event_list(events)), parsed(targets), std::move(heard), opts, known)
	{
	}
	/* Events whose specs `event.spec` points to, which need not last. */
	sampler(const std::vector<pm_sampler_event> &events, const std::vector<pm_target> &targets,
		sampler_listener heard = sampler_listener(),
		const pm_sampler_opts &opts = sized<pm_sampler_opts>(), profile *known = nullptr)
		: events_(events.size()), inner_(std::make_shared<inner>(std::move(heard)))
	{
		open(events.data(), targets, opts, known);
	}
	sampler(sampler &&) = default;
	sampler &operator=(sampler &&other)
	{
		if (this != &other) {
			close();
			events_ = other.events_;
			inner_ = std::move(other.inner_);
		}
		return *this;
	}
	~sampler() { close(); }

	/* Enables the events and tells the processes that there are. */
	void start()
	{
		pm_diag diag = sized<pm_diag>();

		call("pm_sampler_start", [&](pm_sampler *own) {
			return pm_sampler_start(own, &diag);
		}, &diag);
	}
	/* Waits for records (-1: without limit) and delivers them. Returns how many. */
	int poll(int timeout_ms)
	{
		return call("pm_sampler_poll", [=](pm_sampler *own) {
			return pm_sampler_poll(own, timeout_ms);
		});
	}
	/* Disables the events and delivers what is left. Returns the number of records. */
	int stop() { return call("pm_sampler_stop", pm_sampler_stop); }
	/* Another rate of an event, whichever it was asked for; the other is 0. */
	void rate(size_t event, uint64_t period, uint64_t frequency)
	{
		call("pm_sampler_rate", [=](pm_sampler *own) {
			return pm_sampler_rate(own, event, period, frequency);
		});
	}
	/* For event loops: readable when poll has something to do. */
	int fd() { return call("pm_sampler_fd", pm_sampler_fd); }
	/* Sums of all events since the start. */
	std::vector<pm_value> read()
	{
		std::vector<pm_value> values(events_, sized<pm_value>());

		values.resize(static_cast<size_t>(call("pm_sampler_read", [&](pm_sampler *own) {
			return pm_sampler_read(own, values.data(), values.size());
		})));
		return values;
	}
	/* For every process known now; what `each` throws is thrown on. */
	void each(const std::function<void(const pm_process &)> &each)
	{
		walk all = { &each, nullptr };

		call("pm_sampler_each", [&](pm_sampler *own) {
			return pm_sampler_each(own, on_each, &all) ? 0 : 0;
		});
		if (all.failure)
			std::rethrow_exception(all.failure);
	}
	/* The way and why not the others; the clock; a line for each event. */
	std::string explain()
	{
		std::string text;

		call("pm_sampler_explain", [&](pm_sampler *own) {
			text = text_of([own](char *to, size_t size) {
				return pm_sampler_explain(own, to, size);
			});
			return 0;
		});
		return text;
	}
	struct pm_sampler_stats stats()
	{
		struct pm_sampler_stats stats = sized<struct pm_sampler_stats>();

		call("pm_sampler_stats", [&](pm_sampler *own) {
			return pm_sampler_stats(own, &stats);
		});
		return stats;
	}
	pm_sampler *get() const noexcept { return inner_ ? inner_->own.get() : nullptr; }

private:
	struct closer { void operator()(pm_sampler *s) const { pm_sampler_destroy(s); } };

	/* It stays where it is when the sampler is moved, and as long as a call delivers. */
	struct inner {
		explicit inner(sampler_listener &&heard)
			: heard(std::move(heard)), closed(false), busy(false) {}

		sampler_listener heard;
		std::exception_ptr failure;
		std::atomic<bool> closed;	/* nobody hears any more */
		std::atomic<bool> busy;		/* a call is under way */
		std::unique_ptr<pm_sampler, closer> own;	/* goes first */

		template <typename Call> void keep(Call call)
		{
			if (failure || closed)
				return;
			try {
				call();
			} catch (...) {
				failure = std::current_exception();
			}
		}
	};

	struct turn {
		std::atomic<bool> &busy;
		~turn() { busy = false; }
	};

	struct walk {
		const std::function<void(const pm_process &)> *each;
		std::exception_ptr failure;
	};

	/* The events of a list, which owns their specs. */
	struct listed {
		explicit listed(std::vector<listed_event> &&given) : list(std::move(given))
		{
			for (const listed_event &each : list) {
				pm_sampler_event made = sized<pm_sampler_event>();

				made.spec = &each.spec;
				made.leader = each.listed.leader;
				events.push_back(made);
			}
		}
		std::vector<listed_event> list;
		std::vector<pm_sampler_event> events;
	};

	sampler(const listed &events, const std::vector<pm_target> &targets,
		sampler_listener &&heard, const pm_sampler_opts &opts, profile *known)
		: sampler(events.events, targets, std::move(heard), opts, known)
	{
	}
	static std::vector<pm_target> parsed(const std::vector<std::string> &texts)
	{
		std::vector<pm_target> made;

		for (const std::string &each : texts)
			made.push_back(target(c_text(each)));
		return made;
	}
	void open(const pm_sampler_event *events, const std::vector<pm_target> &targets,
		  const pm_sampler_opts &opts, profile *known)
	{
		pm_sampler_listener calls = sized<pm_sampler_listener>();
		pm_diag diag = sized<pm_diag>();
		pm_sampler *made = nullptr;

		calls.sample = inner_->heard.sample ? on_sample : nullptr;
		calls.side = inner_->heard.side ? on_side : nullptr;
		calls.process = inner_->heard.process ? on_process : nullptr;
		calls.lost = inner_->heard.lost ? on_lost : nullptr;
		check(pm_sampler_open(events, events_, targets.data(), targets.size(), &opts,
				      known != nullptr ? owned(known->get()) : nullptr, &calls,
				      inner_.get(), &diag, &made), "pm_sampler_open", diag);
		inner_->own.reset(made);
	}
	static inner *self(void *context) { return static_cast<inner *>(context); }
	static void on_sample(void *context, const pm_sampled *sample)
	{
		self(context)->keep([&] { self(context)->heard.sample(*sample); });
	}
	static void on_side(void *context, const pm_side *side)
	{
		self(context)->keep([&] { self(context)->heard.side(*side); });
	}
	static void on_process(void *context, const pm_process *process,
			       enum pm_process_change change, uint64_t time)
	{
		self(context)->keep([&] { self(context)->heard.process(*process, change, time); });
	}
	static void on_lost(void *context, uint32_t cpu, uint64_t count)
	{
		self(context)->keep([&] { self(context)->heard.lost(cpu, count); });
	}
	static int on_each(const pm_process *process, void *context)
	{
		walk *all = static_cast<walk *>(context);

		try {
			(*all->each)(*process);
		} catch (...) {
			all->failure = std::current_exception();
		}
		return all->failure ? 1 : 0;
	}
	/* A call of the library, alone; throws what a callback threw meanwhile. */
	template <typename Function>
	int call(const char *name, Function function, const pm_diag *diag = nullptr)
	{
		const std::shared_ptr<inner> kept = inner_;	/* this object may be gone after it */
		std::exception_ptr thrown;
		int result;

		if (owned(kept.get())->busy.exchange(true))
			throw error(EBUSY, "perfmodes: the sampler is in use, by another thread or "
					   "by the call whose callback this is");
		turn ends = { kept->busy };
		result = function(kept->own.get());
		std::swap(thrown, kept->failure);
		if (thrown)
			std::rethrow_exception(thrown);
		if (kept->closed && result < 0)
			return 0;	/* by its own callback */
		return diag != nullptr ? check(result, name, *diag) : check(result, name);
	}
	void close() noexcept
	{
		if (inner_)
			inner_->closed = true;
		inner_.reset();
	}

	size_t events_;
	std::shared_ptr<inner> inner_;
};

} // namespace perfmodes

#endif
