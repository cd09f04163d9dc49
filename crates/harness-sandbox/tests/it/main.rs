//! Commands in the sandbox of the kernel that the tests run on.
#![cfg(test)]
