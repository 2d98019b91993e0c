//! The catalog and the register of requirements are part of the program: a change in them is a change of it.

fn main() {
    println!("cargo::rerun-if-changed=catalog");
    println!("cargo::rerun-if-changed=requirements");
    println!("cargo::rerun-if-changed=shapes");
}
