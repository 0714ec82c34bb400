// SPDX-License-Identifier: MIT
//! Prints how this crate lays out each structure, to be held against what a C compiler says.

fn main() {
    for (name, size, members) in perfmodes::abi::layouts() {
        println!("{} {}", name, size);
        for (member, offset) in members {
            println!("{}.{} {}", name, member, offset);
        }
    }
}
