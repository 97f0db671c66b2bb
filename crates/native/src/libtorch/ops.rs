//! The version-agnostic binding: libtorch's operator entry points, by their C++ names.
//!
//! Main type: [`Ops`]. `at::_ops::NAME::call` has the same parameters from libtorch 1.13 on; only the name of the optional
//! type changed (`c10::optional`, later `std::optional`). A tensor is one pointer to a counted object. All of this is
//! undocumented, so a missing name means that this binding does not fit, never that libtorch is at fault.

use std::ffi::c_void;
use std::mem::{MaybeUninit, transmute};
use std::ptr::{null, null_mut};

use super::{Binding, Matrix};
use crate::loader::symbol_anywhere;

/// `c10::intrusive_ptr<TensorImpl>`, which is all that `at::Tensor` is.
type Raw = *mut c_void;

/// A tensor that a function returned. It is never released: the process ends soon.
pub(crate) struct Tensor(Raw);

/// What a function that returns a tensor is declared to return. A C++ object that is not trivial comes back through
/// memory; Rust does the same for a structure that is too big for registers, of which only the first word is written.
#[repr(C)]
struct Returned {
    tensor: Raw,
    room: [MaybeUninit<usize>; 2],
}

impl From<Returned> for Tensor {
    fn from(returned: Returned) -> Self {
        Self(returned.tensor)
    }
}

/// `c10::ScalarType::Float`.
const FLOAT: i8 = 6;
/// `c10::DeviceType::CUDA`, in builds for ROCm too.
const CUDA: u8 = 1;
/// `c10::Device(CPU, -1)`: type in the low byte, index in the high one.
const CPU_DEVICE: u16 = 0xff00;
/// An optional of a small type without a value.
const NONE: u16 = 0;

type Flag = unsafe extern "C" fn() -> bool;
type Count = unsafe extern "C" fn() -> usize;
type EmptyCpu = unsafe extern "C" fn(*const i64, usize, i8, bool, u16) -> Returned;
type DataPointer = unsafe extern "C" fn(*const Raw) -> *mut f32;
type SetRequiresGrad = unsafe extern "C" fn(Raw, bool);
type Binary = unsafe extern "C" fn(*const Raw, *const Raw) -> Returned;
type Sum = unsafe extern "C" fn(*const Raw, u16) -> Returned;
type Backward = unsafe extern "C" fn(*const Raw, *const Raw, usize, *const [u64; 4], u16, bool);
type Grad = unsafe extern "C" fn(Raw) -> *const Raw;
type ToDevice = unsafe extern "C" fn(*const Raw, u16, i8, bool, bool, u16) -> Returned;
type Synchronize = unsafe extern "C" fn(i64);

/// The entry points.
pub(crate) struct Ops {
    is_available: Flag,
    device_count: Count,
    empty_cpu: EmptyCpu,
    data: DataPointer,
    set_requires_grad: SetRequiresGrad,
    matmul: Binary,
    mul: Binary,
    sum: Sum,
    backward: Backward,
    grad: Grad,
    to_device: ToDevice,
    synchronize: Synchronize,
}

/// Looks up the first of several names, and gives it its type.
macro_rules! entry {
    ($kind:ty: $($name:literal),+) => {{
        let names = [$($name),+];
        let found = names.iter().find_map(|name| symbol_anywhere(name)).ok_or(names[0])?;
        // SAFETY: the mangled name spells the parameters, and the type repeats them.
        unsafe { transmute::<*mut c_void, $kind>(found) }
    }};
}

impl Ops {
    /// Finds every entry point among the loaded libraries; the error is the name of one that is missing.
    pub(crate) fn bind() -> Result<Self, &'static str> {
        Ok(Self {
            is_available: entry!(Flag: "_ZN5torch4cuda12is_availableEv"),
            device_count: entry!(Count: "_ZN5torch4cuda12device_countEv"),
            empty_cpu: entry!(
                EmptyCpu: "_ZN2at6detail9empty_cpuEN3c108ArrayRefIlEENS1_10ScalarTypeEbSt8optionalINS1_12MemoryFormatEE",
                "_ZN2at6detail9empty_cpuEN3c108ArrayRefIlEENS1_10ScalarTypeEbNS1_8optionalINS1_12MemoryFormatEEE"
            ),
            data: entry!(DataPointer: "_ZNK2at10TensorBase8data_ptrIfEEPT_v"),
            set_requires_grad: entry!(SetRequiresGrad: "_ZN3c1010TensorImpl17set_requires_gradEb"),
            matmul: entry!(Binary: "_ZN2at4_ops6matmul4callERKNS_6TensorES4_"),
            mul: entry!(Binary: "_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_"),
            sum: entry!(
                Sum: "_ZN2at4_ops3sum4callERKNS_6TensorESt8optionalIN3c1010ScalarTypeEE",
                "_ZN2at4_ops3sum4callERKNS_6TensorEN3c108optionalINS5_10ScalarTypeEEE"
            ),
            backward: entry!(
                Backward: "_ZN2at4_ops9_backward4callERKNS_6TensorEN3c108ArrayRefIS2_EERKSt8optionalIS2_ES8_IbEb",
                "_ZN2at4_ops9_backward4callERKNS_6TensorEN3c108ArrayRefIS2_EERKNS5_8optionalIS2_EENS8_IbEEb"
            ),
            grad: entry!(Grad: "_ZNK3c1010TensorImpl4gradEv"),
            to_device: entry!(
                ToDevice: "_ZN2at4_ops9to_device4callERKNS_6TensorEN3c106DeviceENS5_10ScalarTypeEbbSt8optionalINS5_12MemoryFormatEE",
                "_ZN2at4_ops9to_device4callERKNS_6TensorEN3c106DeviceENS5_10ScalarTypeEbbNS5_8optionalINS5_12MemoryFormatEEE"
            ),
            synchronize: entry!(Synchronize: "_ZN5torch4cuda11synchronizeEl"),
        })
    }

    fn moved(&self, tensor: &Tensor, device: u16) -> Tensor {
        // SAFETY: the tensor is alive, and the device is one that the library counted, or the CPU.
        unsafe { (self.to_device)(&tensor.0, device, FLOAT, false, false, NONE) }.into()
    }
}

// SAFETY, for all blocks below: the tensors are alive, as none is ever released; the parameters are those of the entry
// points that `bind` found by their whole signature.
impl Binding for Ops {
    type Tensor = Tensor;
    const NAME: &'static str = "ops";

    fn is_available(&self) -> bool {
        // SAFETY: see above.
        unsafe { (self.is_available)() }
    }

    fn device_count(&self) -> usize {
        // SAFETY: see above.
        unsafe { (self.device_count)() }
    }

    fn tensor(&self, values: Matrix, device: Option<u8>, requires_grad: bool) -> Tensor {
        let sizes = [2_i64, 2];
        // SAFETY: see above; the storage that was just made has room for four values of float32.
        let mut tensor: Tensor = unsafe {
            let made = (self.empty_cpu)(sizes.as_ptr(), sizes.len(), FLOAT, false, NONE);
            (self.data)(&made.tensor).copy_from(values.as_ptr(), values.len());
            made.into()
        };
        if let Some(index) = device {
            tensor = self.moved(&tensor, u16::from_le_bytes([CUDA, index]));
        }
        // Set behind the move, so that the gradient is left at the tensor on the device.
        // SAFETY: see above.
        unsafe { (self.set_requires_grad)(tensor.0, requires_grad) };
        tensor
    }

    fn matmul(&self, a: &Tensor, b: &Tensor) -> Tensor {
        // SAFETY: see above.
        unsafe { (self.matmul)(&a.0, &b.0) }.into()
    }

    fn square_sum(&self, tensor: &Tensor) -> Tensor {
        // SAFETY: see above.
        unsafe {
            let square = (self.mul)(&tensor.0, &tensor.0);
            (self.sum)(&square.tensor, NONE)
        }
        .into()
    }

    fn backward(&self, loss: &Tensor) {
        let no_gradient = [0_u64; 4];
        // SAFETY: see above; an empty list of inputs means all leaves.
        unsafe { (self.backward)(&loss.0, null(), 0, &no_gradient, NONE, false) };
    }

    fn gradient(&self, tensor: &Tensor) -> Tensor {
        // SAFETY: see above; `grad` gives a reference to a tensor that lives as long as its owner.
        let found = unsafe { (self.grad)(tensor.0) };
        // SAFETY: as before; a null here would be a reference to nothing, which C++ does not give.
        Tensor(if found.is_null() { null_mut() } else { unsafe { *found } })
    }

    fn synchronize(&self, device: u8) {
        // SAFETY: see above.
        unsafe { (self.synchronize)(i64::from(device)) }
    }

    fn values<const N: usize>(&self, tensor: &Tensor) -> [f32; N] {
        let host = self.moved(tensor, CPU_DEVICE);
        let mut values = [0.0; N];
        // SAFETY: see above; callers ask for as many values as the tensor has.
        unsafe { (self.data)(&host.0).copy_to(values.as_mut_ptr(), N) };
        values
    }
}
