//! The coordinates of a cell, by name.
//!
//! Main type: [`Axis`], used wherever a user names one: in selections and in tables.

/// One coordinate of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Image.
    Image,
    /// Variant.
    Variant,
    /// Exposure.
    Visibility,
    /// Host.
    Host,
    /// Device asked for.
    Device,
    /// Stack.
    Stack,
    /// Family.
    Family,
}

impl Axis {
    /// Every axis.
    pub const ALL: [Self; 7] =
        [Self::Image, Self::Variant, Self::Visibility, Self::Host, Self::Device, Self::Stack, Self::Family];

    /// The name as it stands on the command line and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Variant => "variant",
            Self::Visibility => "visibility",
            Self::Host => "host",
            Self::Device => "device",
            Self::Stack => "stack",
            Self::Family => "family",
        }
    }
}
