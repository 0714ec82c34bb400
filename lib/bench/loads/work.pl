# SPDX-License-Identifier: MIT
# Hashes, patterns and sorting, for SECONDS, in no step with a clock.
use strict;
use warnings;
use Time::HiRes qw(time);

my $end = time + $ARGV[0];
while (time < $end) {
	my %words;
	$words{$_ % 300} .= "x$_" for 1 .. 1000 + int rand 8000;
	my $text = join ',', map { "$_=$words{$_}" } sort { $a <=> $b } keys %words;
	my $count = () = $text =~ /x\d+7/g;
}
