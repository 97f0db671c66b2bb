//! Behaviour of the whole, one module per part.

mod render;
