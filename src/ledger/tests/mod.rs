//! Every rule of judgement, and every transition that is refused.

mod transitions;
mod verdicts;
