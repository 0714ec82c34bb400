// SPDX-License-Identifier: MIT
//! Where the library lies: $PERFMODES_LIB, a folder, else where the linker looks by itself.

fn main() {
    println!("cargo:rerun-if-env-changed=PERFMODES_LIB");
    if let Ok(folder) = std::env::var("PERFMODES_LIB") {
        println!("cargo:rustc-link-search=native={}", folder);
    }
    println!("cargo:rustc-link-lib=perfmodes");
}
