//! The libtorch probe: the fixed computation with the image's own libtorch, without Python.
//!
//! Main function: [`check`]. How libtorch is called is a [`Binding`]'s business; `ops` serves every version whose entry
//! points it knows. The path through a GPU is written for real and has not run on hardware yet (docs/hardware.md).

mod identity;
pub(crate) mod ops;

use std::path::Path;

use gpusweep_report::Stage;
use gpusweep_report::wire::{Computed, Failed, Message, PytorchFacts, Reason, RuntimeFacts};

use crate::loader::Library;
use crate::system::libc_version;
use crate::teller::{Stop, Teller, failed};
use identity::Identity;

/// A 2×2 matrix of the fixed computation, row by row.
pub type Matrix = [f32; 4];

const A: Matrix = [1.0, 2.0, 3.0, 4.0];
const B: Matrix = [2.0, 0.0, 1.0, 2.0];

/// A way to call libtorch. Errors of libtorch itself are C++ exceptions: they end the process with their text on standard
/// error.
pub trait Binding {
    /// A tensor.
    type Tensor;
    /// Name as in the report's `runtime.binding`.
    const NAME: &'static str;

    /// `torch::cuda::is_available`, also in builds for ROCm.
    fn is_available(&self) -> bool;
    /// Devices that libtorch sees.
    fn device_count(&self) -> usize;
    /// A 2×2 tensor of float32 on a device; `None` = CPU.
    fn tensor(&self, values: Matrix, device: Option<u8>, requires_grad: bool) -> Self::Tensor;
    /// The product.
    fn matmul(&self, a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
    /// The sum of all values squared.
    fn square_sum(&self, tensor: &Self::Tensor) -> Self::Tensor;
    /// Computes gradients of all that requires one.
    fn backward(&self, loss: &Self::Tensor);
    /// The gradient that a backward pass left at a tensor.
    fn gradient(&self, tensor: &Self::Tensor) -> Self::Tensor;
    /// Waits for the device.
    fn synchronize(&self, device: u8);
    /// The first `N` values, copied to the host.
    fn values<const N: usize>(&self, tensor: &Self::Tensor) -> [f32; N];
}

/// Checks the libtorch in a folder.
pub(crate) fn check<B: Binding>(
    teller: &Teller,
    folder: &Path,
    device: &str,
    bind: impl FnOnce() -> Result<B, &'static str>,
) -> Result<Computed, Stop> {
    let index = device.strip_prefix("cuda:").map(|index| index.parse::<u32>().unwrap_or(u32::MAX));
    tell_runtime(teller, None);
    let identity = Identity::read(folder);
    let mut facts = identity.facts();
    teller.tell(&Message::Pytorch(Box::new(facts.clone())));
    load(folder, &identity, index.is_some())?;
    let binding = bind().map_err(|missing| misfit(&identity, missing))?;
    tell_runtime(teller, Some(B::NAME));
    let ordinal = match index {
        Some(index) => Some(find_device(teller, &binding, &mut facts, index)?),
        None => None,
    };
    Ok(compute(teller, &binding, ordinal, device))
}

/// Version of the libtorch in a folder, told by its files.
#[must_use]
pub fn version_in(folder: &Path) -> Option<String> {
    Identity::read(folder).version
}

fn tell_runtime(teller: &Teller, binding: Option<&str>) {
    let binding = binding.map(str::to_owned);
    let facts = RuntimeFacts { python_version: None, libc: libc_version(), binding, torch_shadowed: false };
    teller.tell(&Message::Runtime(facts));
}

/// Only what the check needs: the libraries of a GPU are not loaded for the CPU.
fn load(folder: &Path, identity: &Identity, wants_gpu: bool) -> Result<(), Stop> {
    let names = ["libc10.so", "libtorch_cpu.so"].into_iter();
    let names = names.chain(identity.gpu_library().filter(|_| wants_gpu));
    for name in names {
        let Some(file) = identity::file_of(folder, name) else {
            return Err(failed(Reason::Error, "LoadError", format!("{name} is not beside libtorch_cpu.so")));
        };
        let path = file.to_string_lossy();
        Library::open(&path).map_err(|error| failed(Reason::Error, "LoadError", error))?;
    }
    Ok(())
}

fn misfit(identity: &Identity, missing: &str) -> Stop {
    let version = identity.version.as_deref().unwrap_or("of unknown version");
    failed(Reason::Misfit, "Misfit", format!("no native probe for libtorch {version}: it has no {missing}"))
}

fn find_device<B: Binding>(
    teller: &Teller,
    binding: &B,
    facts: &mut PytorchFacts,
    index: u32,
) -> Result<u8, Stop> {
    teller.stage(Stage::Backend);
    if facts.cuda_build.is_none() && facts.hip_build.is_none() {
        return Err(Failed { reason: Reason::Absent, error: None });
    }
    teller.stage(Stage::Device);
    let count = binding.device_count();
    let usable = binding.is_available() && count > 0;
    facts.gpu_available = Some(usable);
    facts.visible_device_count = Some(u32::try_from(count).unwrap_or(u32::MAX));
    teller.tell(&Message::Pytorch(Box::new(facts.clone())));
    if !usable {
        return Err(Failed { reason: Reason::Unavailable, error: None });
    }
    // libtorch's own index is a signed byte.
    match u8::try_from(index) {
        Ok(ordinal) if usize::from(ordinal) < count && ordinal <= 127 => Ok(ordinal),
        Ok(_) | Err(_) => Err(Failed { reason: Reason::Index, error: None }),
    }
}

fn compute<B: Binding>(teller: &Teller, binding: &B, ordinal: Option<u8>, device: &str) -> Computed {
    teller.stage(Stage::Allocate);
    let a = binding.tensor(A, ordinal, true);
    let b = binding.tensor(B, ordinal, false);
    teller.stage(Stage::Product);
    let product = binding.matmul(&a, &b);
    let loss = binding.square_sum(&product);
    teller.stage(Stage::Gradient);
    binding.backward(&loss);
    let gradient = binding.gradient(&a);
    teller.stage(Stage::Synchronize);
    if let Some(ordinal) = ordinal {
        binding.synchronize(ordinal);
    }
    let [loss] = binding.values::<1>(&loss);
    Computed {
        product: rows(binding.values(&product)),
        gradient: rows(binding.values(&gradient)),
        loss: loss.to_string(),
        // The operators keep the device of their inputs or fail.
        product_device: device.to_owned(),
        gradient_device: device.to_owned(),
    }
}

fn rows(values: Matrix) -> Vec<Vec<String>> {
    values.chunks(2).map(|row| row.iter().map(ToString::to_string).collect()).collect()
}
