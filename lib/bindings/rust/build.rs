// SPDX-License-Identifier: MIT
//! Where the library lies: $PERFMODES_LIB, a folder, else where the linker looks by itself. The optional
//! libraries, each a feature, are static, and come with the static core.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-env-changed=PERFMODES_LIB");
    if let Ok(folder) = var("PERFMODES_LIB") {
        println!("cargo:rustc-link-search=native={}", folder);
    }
    let asked = |name: &str| var(format!("CARGO_FEATURE_{}", name)).is_ok();
    let with_papi = asked("TOPOLOGY") && has_papi();
    let parts: [(&str, &[&str]); 4] = [
        ("SAMPLER", &[]),
        ("STACKS", &["dw", "elf", "z"]),
        ("TOPOLOGY", if with_papi { &["hwloc", "papi"] } else { &["hwloc"] }),
        ("PFM", &["dl"]),
    ];
    for (name, needs) in parts.iter().filter(|(name, _)| asked(name)) {
        println!("cargo:rustc-link-lib=static:-bundle=perfmodes-{}", name.to_lowercase());
        for each in needs.iter() {
            println!("cargo:rustc-link-lib={}", each);
        }
    }
    // The sampler calls what the shared library does not show.
    if asked("SAMPLER") {
        println!("cargo:rustc-link-lib=static:-bundle=perfmodes");
        println!("cargo:rustc-link-lib=yajl");
    } else {
        println!("cargo:rustc-link-lib=perfmodes");
    }
}

/// Whether libperfmodes-topology was built with event sets of PAPI.
fn has_papi() -> bool {
    match var("PERFMODES_LIB") {
        Ok(folder) => std::fs::read(format!("{}/libperfmodes-topology.a", folder))
            .map_or(false, |all| all.windows(12).any(|word| word == b"PAPI_get_opt")),
        Err(_) => std::process::Command::new("pkg-config")
            .args(["--print-requires", "perfmodes-topology"])
            .output()
            .map_or(false, |told| String::from_utf8_lossy(&told.stdout).contains("papi")),
    }
}
