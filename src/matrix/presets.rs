//! The registry of visibility presets: one row each.
//!
//! Main type: [`Preset`]. A new way of exposing a GPU is one more row here; help, errors and tests read the table.

use crate::model::{Grant, Visibility};

/// A way of exposing a GPU that has a name of its own.
pub(crate) struct Preset {
    /// Name in matrices.
    pub(crate) name: &'static str,
    /// What it gives the container, in a few words.
    pub(crate) about: &'static str,
    grants: fn() -> Vec<Grant>,
}

impl Preset {
    /// The preset as a visibility.
    pub(crate) fn visibility(&self) -> Visibility {
        Visibility { name: self.name.to_owned(), grants: (self.grants)() }
    }
}

/// The preset of a matrix without `visibility:`.
pub(super) const DEFAULT: &str = "none";

/// Every preset, in the order in which they are listed.
pub(crate) const PRESETS: [Preset; 9] = [
    Preset {
        name: DEFAULT,
        about: "nothing exposed: the isolation proof",
        // CUDA base images ask for every GPU in a variable of their own, and a host may have NVIDIA's runtime as its
        // default: without these two, a container that was given nothing would still see the GPUs.
        grants: || vec![runtime("runc"), env("NVIDIA_VISIBLE_DEVICES", "void")],
    },
    Preset { name: "nvidia-all", about: "--gpus all", grants: || vec![request(-1, &[])] },
    Preset { name: "nvidia-0", about: "--gpus device=0", grants: || vec![request(0, &["0"])] },
    Preset {
        name: "nvidia-cdi",
        about: "--device nvidia.com/gpu=all",
        grants: || vec![Grant::Cdi("nvidia.com/gpu=all".to_owned())],
    },
    Preset {
        name: "nvidia-runtime",
        about: "--runtime nvidia, and the variables that it reads",
        grants: || {
            vec![
                runtime("nvidia"),
                env("NVIDIA_VISIBLE_DEVICES", "all"),
                env("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),
            ]
        },
    },
    Preset {
        name: "amd-all",
        about: "/dev/kfd and /dev/dri with the groups that own them",
        grants: || vec![node("/dev/kfd"), node("/dev/dri"), Grant::HostGroups],
    },
    Preset {
        name: "amd-no-group",
        about: "/dev/kfd and /dev/dri without the groups that own them",
        grants: || vec![node("/dev/kfd"), node("/dev/dri")],
    },
    Preset {
        name: "amd-cdi",
        about: "--device amd.com/gpu=all",
        grants: || vec![Grant::Cdi("amd.com/gpu=all".to_owned())],
    },
    Preset {
        name: "amd-runtime",
        about: "--runtime amd, and the variable that it reads",
        grants: || vec![runtime("amd"), env("AMD_VISIBLE_DEVICES", "all")],
    },
];

/// The preset of that name.
pub(crate) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

fn runtime(name: &str) -> Grant {
    Grant::Runtime(name.to_owned())
}

fn env(name: &str, value: &str) -> Grant {
    Grant::Env { name: name.to_owned(), value: value.to_owned() }
}

fn node(path: &str) -> Grant {
    Grant::DeviceNode { path: path.to_owned(), permissions: "rwm".to_owned() }
}

fn request(count: i64, ids: &[&str]) -> Grant {
    Grant::DeviceRequest {
        driver: String::new(),
        count,
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        capabilities: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{PRESETS, find};
    use crate::model::Vendor;

    #[test]
    fn names_are_unique_and_say_whose_gpu_they_expose() {
        for preset in &PRESETS {
            assert_eq!(find(preset.name).unwrap().about, preset.about);
            let visibility = preset.visibility();
            let vendor = visibility.grants.iter().find_map(crate::model::Grant::vendor);
            let expected = match preset.name.split('-').next() {
                Some("nvidia") => Some(Vendor::Nvidia),
                Some("amd") => Some(Vendor::Amd),
                Some(_) | None => None,
            };
            assert_eq!(vendor, expected, "{}", preset.name);
            assert_eq!(visibility.exposes_gpu(), expected.is_some(), "{}", preset.name);
        }
    }
}
