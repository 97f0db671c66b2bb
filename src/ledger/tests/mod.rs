//! Every rule of judgement, and every transition that is refused.

mod isolation;
mod transitions;
mod verdicts;
