//! The native worker for libtorch 2.13, through `tch`: the same check as with the operator binding, by another way.
//!
//! `gpusweep-native` starts it, with the task as its only argument, where the image's libtorch is exactly this version. An
//! error of libtorch is a panic here, which aborts with its text on standard error.

use std::process::ExitCode;

use gpusweep_native::{Binding, Matrix, run_with};
use gpusweep_report::wire::Task;
use tch::{Cuda, Device, Kind, Tensor};

/// Calls through tch.
struct Tch;

impl Binding for Tch {
    type Tensor = Tensor;
    const NAME: &'static str = "tch";

    fn is_available(&self) -> bool {
        Cuda::is_available()
    }

    fn device_count(&self) -> usize {
        usize::try_from(Cuda::device_count()).unwrap_or(0)
    }

    fn tensor(&self, values: Matrix, device: Option<u8>, requires_grad: bool) -> Tensor {
        let device = device.map_or(Device::Cpu, |index| Device::Cuda(usize::from(index)));
        Tensor::from_slice(&values).view([2, 2]).to_device(device).set_requires_grad(requires_grad)
    }

    fn matmul(&self, a: &Tensor, b: &Tensor) -> Tensor {
        a.matmul(b)
    }

    fn square_sum(&self, tensor: &Tensor) -> Tensor {
        (tensor * tensor).sum(Kind::Float)
    }

    fn backward(&self, loss: &Tensor) {
        loss.backward();
    }

    fn gradient(&self, tensor: &Tensor) -> Tensor {
        tensor.grad()
    }

    fn synchronize(&self, device: u8) {
        Cuda::synchronize(i64::from(device));
    }

    fn values<const N: usize>(&self, tensor: &Tensor) -> [f32; N] {
        let mut values = [0.0; N];
        tensor.detach().to_device(Device::Cpu).contiguous().copy_data(&mut values, N);
        values
    }
}

fn main() -> ExitCode {
    let task = std::env::args().nth(1).and_then(|text| serde_json::from_str::<Task>(&text).ok());
    let Some(task) = task else {
        eprintln!("gpusweep-native-tch is started by gpusweep-native, which tells it what to check");
        return ExitCode::from(2);
    };
    run_with(&task, || Ok(Tch))
}
