// SPDX-License-Identifier: MIT
/*
 * libperfmodes-stacks for C++11 and later: stacks of processes, and the names of addresses. Header
 * only, over perfmodes_stacks.h, whose constants and meaning these are; errors as in perfmodes.hpp.
 * What comes out is copied. Symbols and their unwinders may be used by several threads, which wait
 * for each other; symbols last as long as their unwinders, whoever goes first.
 */
#ifndef PERFMODES_STACKS_HPP
#define PERFMODES_STACKS_HPP

#include <mutex>

#include <perfmodes.hpp>
#include <perfmodes_stacks.h>

namespace perfmodes {

/* A frame: its address in the process, and enum pm_frame_bits. */
struct frame {
	uint64_t address;
	unsigned int bits;
};

/* Innermost frame first; `end` says why there are no more. Times are ns. */
struct stack {
	pid_t pid, tid;
	uint64_t time, weight;
	std::vector<frame> frames;
	pm_stack_end end;
};

/* A name for an address; texts are empty where there is none. As struct pm_symbol. */
struct symbol {
	pm_symbol_source source;
	std::string name, raw_name, module;
	uint64_t start, file_address;
	std::vector<uint8_t> build_id;
	uint64_t map_start, map_end, map_offset;
};

/* A function at an address, called there or inlined. As struct pm_line. */
struct line {
	std::string name, raw_name, file;
	unsigned int number;	/* from 1; 0: not known */
};

/* What a struct pm_sampled of perfmodes_sampler.h tells about a stack; it points into that. */
template <typename Sampled> pm_stack_sample stack_sample(const Sampled &from)
{
	pm_stack_sample made = sized<pm_stack_sample>();

	made.pid = static_cast<pid_t>(from.pid);
	made.tid = static_cast<pid_t>(from.tid);
	made.time = from.time;
	made.weight = from.period;
	made.ip = from.ip;
	made.callchain = from.chain;
	made.callchain_count = from.chain_count;
	made.regs_abi = from.registers_abi;
	made.regs_mask = from.registers_mask;
	made.regs = from.registers;
	made.stack = from.stack;
	made.stack_size = made.stack_used = from.stack_size;
	return made;
}

class unwinder;

/* Files and their symbols, which unwinders and copies of this share. */
class symbols {
public:
	explicit symbols(const pm_symbols_opts &opts = sized<pm_symbols_opts>())
		: inner_(std::make_shared<inner>(pm_symbols_create(&opts)))
	{
		if (inner_->own == nullptr)
			throw std::bad_alloc();
	}
	/* The symbol of an address of that process, or of the kernel (PM_FRAME_KERNEL). */
	symbol find(uint64_t address, unsigned int bits = 0, unwinder *of = nullptr);
	/* The functions there by DWARF, innermost first; none where there is no DWARF. */
	std::vector<line> lines(uint64_t address, unsigned int bits = 0, unwinder *of = nullptr);
	/* For pm_folded_add and the like, which no other thread may use them beside. */
	pm_symbols *get() const noexcept { return inner_ ? inner_->own : nullptr; }

private:
	friend class unwinder;

	struct inner {
		explicit inner(pm_symbols *made) : own(made) {}
		inner(const inner &) = delete;
		inner &operator=(const inner &) = delete;
		~inner() { pm_symbols_destroy(own); }

		pm_symbols *own;
		std::mutex one;
	};

	explicit symbols(const std::shared_ptr<inner> &names) : inner_(names) {}
	static std::string text(const char *given) { return given != nullptr ? given : ""; }
	pm_unwinder *process(unwinder *of) const;

	std::shared_ptr<inner> inner_;
};

/* The stacks of one process, whose maps are read now. */
class unwinder {
public:
	/* With symbols of its own, */
	explicit unwinder(pid_t pid) : unwinder(pid, symbols()) {}
	/* or with these, which it keeps: opts.symbols does not count. */
	unwinder(pid_t pid, const symbols &names,
		 pm_unwinder_opts opts = sized<pm_unwinder_opts>())
		: own_(nullptr, closer{ names.inner_ })
	{
		pm_unwinder *made = nullptr;

		opts.symbols = owned(names.inner_.get())->own;
		std::lock_guard<std::mutex> alone(names.inner_->one);
		check(pm_unwinder_open(pid, &opts, &made), "pm_unwinder_open");
		own_.reset(made);
	}
	/* The stack of a sample. An incomplete one has an `end` that says why. */
	perfmodes::stack stack(const pm_stack_sample &sample)
	{
		pm_stack made = sized<pm_stack>();
		perfmodes::stack found;

		owned(own_.get());
		std::lock_guard<std::mutex> alone(own_.get_deleter().names->one);
		check(pm_unwinder_stack(own_.get(), &sample, &made), "pm_unwinder_stack");
		found = { made.pid, made.tid, made.time, made.weight, {}, made.end };
		for (size_t i = 0; i < made.count; i++)
			found.frames.push_back({ made.addresses[i], made.frames[i] });
		return found;
	}
	symbol find(const frame &at) { return names().find(at.address, at.bits, this); }
	std::vector<line> lines(const frame &at)
	{
		return names().lines(at.address, at.bits, this);
	}
	/* Reads the maps anew, after an exec for example. */
	void refresh()
	{
		owned(own_.get());
		std::lock_guard<std::mutex> alone(own_.get_deleter().names->one);
		check(pm_unwinder_refresh(own_.get()), "pm_unwinder_refresh");
	}
	/* The registers that unwinding needs here, as a mask; 0: none. */
	static uint64_t registers() { return pm_unwinder_registers(); }
	pm_unwinder *get() const noexcept { return own_.get(); }

private:
	friend class symbols;

	/* Keeps the symbols until the unwinder has ended. */
	struct closer {
		void operator()(pm_unwinder *u) const
		{
			std::lock_guard<std::mutex> alone(names->one);

			pm_unwinder_destroy(u);
		}
		std::shared_ptr<symbols::inner> names;
	};

	symbols names() const
	{
		owned(own_.get());
		return symbols(own_.get_deleter().names);
	}

	std::unique_ptr<pm_unwinder, closer> own_;
};

inline pm_unwinder *symbols::process(unwinder *of) const
{
	owned(inner_.get());
	if (of == nullptr)
		return nullptr;
	if (owned(of->own_.get()) != nullptr && of->own_.get_deleter().names != inner_)
		throw error(EINVAL, "perfmodes: the unwinder was not opened with these symbols");
	return of->own_.get();
}

inline symbol symbols::find(uint64_t address, unsigned int bits, unwinder *of)
{
	pm_unwinder *process = this->process(of);
	pm_symbol made = sized<pm_symbol>();

	std::lock_guard<std::mutex> alone(inner_->one);
	check(pm_symbols_find(inner_->own, process, address, bits, &made), "pm_symbols_find");
	return { made.source, text(made.name), text(made.raw_name), text(made.module), made.start,
		 made.file_address,
		 { made.build_id, made.build_id + (made.build_id ? made.build_id_size : 0) },
		 made.map_start, made.map_end, made.map_offset };
}

inline std::vector<line> symbols::lines(uint64_t address, unsigned int bits, unwinder *of)
{
	pm_unwinder *process = this->process(of);
	std::vector<pm_line> made(64, sized<pm_line>());	/* there are no more */
	pm_symbol named = sized<pm_symbol>();
	std::vector<line> found;
	int count;

	std::lock_guard<std::mutex> alone(inner_->one);
	check(pm_symbols_find(inner_->own, process, address, bits, &named), "pm_symbols_find");
	count = check(pm_symbols_lines(inner_->own, process, address, bits, made.data(), 64),
		      "pm_symbols_lines");
	for (const pm_line *each = made.data(); count > 0; each++, count--)
		found.push_back({ text(each->name), text(each->raw_name), text(each->file),
				  each->line });
	return found;
}

} // namespace perfmodes

#endif
