// SPDX-License-Identifier: MIT
/** Recursion and text, for SECONDS. */
public class Work {
	static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static int parts(int count) {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < count; i++)
			text.append(i).append(',');
		return text.toString().split(",").length;
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
		long sum = 0;
		while (System.nanoTime() < end)
			sum = (sum + fib(22) + parts(2000)) & 65535;
		System.exit(sum < 0 ? 1 : 0);
	}
}
