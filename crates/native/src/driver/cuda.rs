//! NVIDIA's driver API, through `libcuda.so.1` as every CUDA program loads it.
//!
//! Main type: [`Cuda`]. Signatures are those of `cuda.h`; the kernels are PTX text that any driver compiles for its device.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use gpusweep_report::wire::DeviceFacts;

use super::{Api, Buffer, Kernel, Outcome, Refused, Unprepared};
use crate::loader::{Library, function, optional};

/// Ends in a zero byte, as the driver wants it.
const PTX: &str = concat!(include_str!("kernels.ptx"), "\0");

const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const COMPUTE_CAPABILITY_MINOR: c_int = 76;

type Handle = *mut c_void;

/// The entry points that are used.
pub(crate) struct Cuda {
    get_version: unsafe extern "C" fn(*mut c_int) -> c_int,
    init: unsafe extern "C" fn(c_uint) -> c_int,
    get_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    get_name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
    get_attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int,
    total_memory: unsafe extern "C" fn(*mut usize, c_int) -> c_int,
    get_uuid: Option<unsafe extern "C" fn(*mut [u8; 16], c_int) -> c_int>,
    retain_context: unsafe extern "C" fn(*mut Handle, c_int) -> c_int,
    set_context: unsafe extern "C" fn(Handle) -> c_int,
    load_module: unsafe extern "C" fn(*mut Handle, *const c_char) -> c_int,
    get_function: unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> c_int,
    allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int,
    to_device: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int,
    to_host: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int,
    launch: Launch,
    synchronize: unsafe extern "C" fn() -> c_int,
    kernels: [Handle; 2],
}

/// Function, grid, block, shared memory, stream, arguments, extras; HIP's has the same parameters.
pub(super) type Launch = unsafe extern "C" fn(
    Handle,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Handle,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;

pub(super) fn done(call: &'static str, code: c_int) -> Outcome<()> {
    if code == 0 { Ok(()) } else { Err(Refused { call, code }) }
}

/// Four threads, each argument the address of a buffer.
pub(super) fn launch(launch: Launch, kernel: Handle, arguments: &[Buffer]) -> c_int {
    let mut values: Vec<u64> = arguments.iter().map(|buffer| buffer.0).collect();
    let mut pointers: Vec<*mut c_void> =
        values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
    // SAFETY: the kernel is one of ours, whose parameters are as many addresses; the driver copies them in the call.
    unsafe { launch(kernel, 1, 1, 1, 4, 1, 1, 0, null_mut(), pointers.as_mut_ptr(), null_mut()) }
}

impl Cuda {
    fn attribute(&self, attribute: c_int, index: c_int) -> Option<c_int> {
        let mut value = 0;
        // SAFETY: as declared; the value has room for what is written.
        (unsafe { (self.get_attribute)(&raw mut value, attribute, index) } == 0).then_some(value)
    }

    /// In the usual form, without the word that tools put before it.
    fn uuid(&self, index: c_int) -> Option<String> {
        let mut bytes = [0; 16];
        // SAFETY: as declared; there is room for 16 bytes.
        let told = unsafe { self.get_uuid?(&raw mut bytes, index) } == 0;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        told.then(|| parts.join("-"))
    }
}

// SAFETY, for all blocks below: signatures are those of cuda.h, and every pointer is to a live place of the right size.
impl Api for Cuda {
    const NAME: &'static str = "cuda";
    const LIBRARY: &'static str = "libcuda.so";

    fn load() -> Result<Self, String> {
        let library = Library::open("libcuda.so.1")?;
        Ok(Self {
            get_version: function!(library, "cuDriverGetVersion"),
            init: function!(library, "cuInit"),
            get_count: function!(library, "cuDeviceGetCount"),
            get_name: function!(library, "cuDeviceGetName"),
            get_attribute: function!(library, "cuDeviceGetAttribute"),
            total_memory: function!(library, "cuDeviceTotalMem_v2"),
            // The second form, of CUDA 11.4, knows a part of a GPU from the whole.
            get_uuid: optional!(library, "cuDeviceGetUuid_v2").or(optional!(library, "cuDeviceGetUuid")),
            retain_context: function!(library, "cuDevicePrimaryCtxRetain"),
            set_context: function!(library, "cuCtxSetCurrent"),
            load_module: function!(library, "cuModuleLoadData"),
            get_function: function!(library, "cuModuleGetFunction"),
            allocate: function!(library, "cuMemAlloc_v2"),
            to_device: function!(library, "cuMemcpyHtoD_v2"),
            to_host: function!(library, "cuMemcpyDtoH_v2"),
            launch: function!(library, "cuLaunchKernel"),
            synchronize: function!(library, "cuCtxSynchronize"),
            kernels: [null_mut(); 2],
        })
    }

    fn version(&self) -> Option<i32> {
        let mut version = 0;
        // SAFETY: see above.
        (unsafe { (self.get_version)(&raw mut version) } == 0).then_some(version)
    }

    fn init(&self) -> Outcome<()> {
        // SAFETY: see above.
        done("cuInit", unsafe { (self.init)(0) })
    }

    fn device_count(&self) -> Outcome<u32> {
        let mut count = 0;
        // SAFETY: see above.
        done("cuDeviceGetCount", unsafe { (self.get_count)(&raw mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// For the driver API a device is its index.
    fn describe(&self, index: u32) -> DeviceFacts {
        let device = index.cast_signed();
        let mut name: [c_char; 128] = [0; 128];
        let mut memory = 0;
        // SAFETY: see above; the last byte of the name is never written.
        let (named, measured) = unsafe {
            ((self.get_name)(name.as_mut_ptr(), 127, device), (self.total_memory)(&raw mut memory, device))
        };
        // SAFETY: the last byte is zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let major = self.attribute(COMPUTE_CAPABILITY_MAJOR, device);
        let minor = self.attribute(COMPUTE_CAPABILITY_MINOR, device);
        DeviceFacts {
            index,
            name: if named == 0 { name } else { String::new() },
            architecture: major.zip(minor).map(|(major, minor)| format!("sm_{major}{minor}")),
            memory_bytes: (measured == 0).then_some(memory as u64),
            uuid: self.uuid(device),
        }
    }

    fn select(&self, index: u32) -> Outcome<()> {
        let mut context = null_mut();
        // SAFETY: see above.
        done("cuDevicePrimaryCtxRetain", unsafe {
            (self.retain_context)(&raw mut context, index.cast_signed())
        })?;
        // SAFETY: see above.
        done("cuCtxSetCurrent", unsafe { (self.set_context)(context) })
    }

    fn prepare(&mut self) -> Result<(), Unprepared> {
        let mut module = null_mut();
        // SAFETY: see above; the text ends in a zero byte.
        done("cuModuleLoadData", unsafe { (self.load_module)(&raw mut module, PTX.as_ptr().cast()) })?;
        for (kernel, name) in self.kernels.iter_mut().zip([c"product", c"gradient"]) {
            // SAFETY: see above.
            done("cuModuleGetFunction", unsafe { (self.get_function)(kernel, module, name.as_ptr()) })?;
        }
        Ok(())
    }

    fn allocate(&self, values: &[f32]) -> Outcome<Buffer> {
        let mut address = 0;
        let size = size_of_val(values);
        // SAFETY: see above.
        done("cuMemAlloc", unsafe { (self.allocate)(&raw mut address, size) })?;
        // SAFETY: see above.
        done("cuMemcpyHtoD", unsafe { (self.to_device)(address, values.as_ptr().cast(), size) })?;
        Ok(Buffer(address))
    }

    fn launch(&self, kernel: Kernel, arguments: &[Buffer]) -> Outcome<()> {
        done("cuLaunchKernel", launch(self.launch, self.kernels[kernel as usize], arguments))
    }

    fn synchronize(&self) -> Outcome<()> {
        // SAFETY: see above.
        done("cuCtxSynchronize", unsafe { (self.synchronize)() })
    }

    fn read(&self, buffer: Buffer, values: &mut [f32]) -> Outcome<()> {
        let size = size_of_val(values);
        // SAFETY: see above.
        done("cuMemcpyDtoH", unsafe { (self.to_host)(values.as_mut_ptr().cast(), buffer.0, size) })
    }

    fn name_of(&self, code: i32) -> Option<String> {
        (code == 0).then(|| "CUDA_SUCCESS".to_owned())
    }
}
