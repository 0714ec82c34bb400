// SPDX-License-Identifier: MIT

// Goroutines that sort, hash and make text, for SECONDS.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"
)

func sorted(seed int) int {
	list := make([]int, 3000)
	for i := range list {
		seed = seed*1103515245 + 12345
		list[i] = seed >> 16
	}
	sort.Ints(list)
	return list[len(list)/2]
}

func hashed(seed int) int {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d-%d", seed, seed*7)))
	return int(sum[0])
}

func main() {
	seconds := 1.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	done := make(chan int)
	for worker := 0; worker < 2; worker++ {
		go func(value int) {
			for time.Now().Before(end) {
				value += sorted(value)
				for i := 0; i < 300; i++ {
					value += hashed(value)
				}
			}
			done <- value
		}(worker)
	}
	fmt.Fprintln(os.Stderr, <-done&1, <-done&1)
}
