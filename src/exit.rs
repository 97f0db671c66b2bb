//! The exit codes of `gpusweep`, in one place.

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Every row is green, or the command did what it was asked.
    Green,
    /// Some row is not green, or something could not be done.
    NotGreen,
    /// The command line or the matrix is wrong; nothing was launched.
    Usage,
    /// No engine could be reached.
    NoEngine,
    /// The user stopped the sweep.
    Interrupted,
}

impl Exit {
    /// The status that the shell sees.
    #[must_use]
    pub const fn status(self) -> u8 {
        match self {
            Self::Green => 0,
            Self::NotGreen => 1,
            Self::Usage => 2,
            Self::NoEngine => 3,
            Self::Interrupted => 130,
        }
    }
}

/// The table that `gpusweep --help` ends with.
pub const HELP: &str = "Exit status:
  0    every row is green
  1    some row is not green, or something could not be done
  2    usage or matrix error; nothing was launched
  3    no engine could be reached
  130  interrupted";
