// SPDX-License-Identifier: MIT
// Recursion, JSON and sorting, for SECONDS.
function fib(n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

function text(count) {
	return JSON.stringify(Array.from({ length: count }, (_, i) => ({ key: i, name: "n" + i })));
}

const end = Date.now() + 1000 * Number(process.argv[2]);
let sum = 0;
while (Date.now() < end) {
	sum += fib(20) + JSON.parse(text(500)).length;
	sum += Array.from({ length: 2000 }, (_, i) => (i * 7919) % 2003).sort((a, b) => a - b)[7];
}
