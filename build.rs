//! Tells the linker how to build a Node-API addon; does nothing for the pure core.

fn main() {
    #[cfg(feature = "napi")]
    napi_build::setup();
}
