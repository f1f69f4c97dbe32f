//! The Node-API binding: converts, drives the core, and answers its questions
//! through the host's `ctx.fs` or the disk. No decision about files lives here.

mod desk;
mod engine;
mod host_disk;
mod objects;
mod standalone;
mod text;
