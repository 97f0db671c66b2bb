//! AMD's HIP runtime, `libamdhip64.so`, and its run-time compiler, `libhiprtc.so`.
//!
//! Main type: [`Hip`]. Signatures are those of `hip_runtime_api.h` and `hiprtc.h`, which are the same from ROCm 5 to 7 for
//! the calls used. The device's properties are left alone: their structure is not.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use gpusweep_report::wire::DeviceFacts;

use super::cuda::{Launch, done, launch};
use super::{Api, Buffer, Kernel, Outcome, Refused, Unprepared};
use crate::loader::{Library, function};

/// Ends in a zero byte, as the compiler wants it.
const SOURCE: &str = concat!(include_str!("kernels.hip"), "\0");

/// Newest first; the plain name is a part of the development package in distributions.
const RUNTIMES: [&str; 4] = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];
const COMPILERS: [&str; 4] = ["libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5"];

type Handle = *mut c_void;

/// The entry points that are used.
pub(crate) struct Hip {
    runtime: Library,
    get_version: unsafe extern "C" fn(*mut c_int) -> c_int,
    init: unsafe extern "C" fn(c_uint) -> c_int,
    get_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    get_name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
    total_memory: unsafe extern "C" fn(*mut usize, c_int) -> c_int,
    set_device: unsafe extern "C" fn(c_int) -> c_int,
    load_module: unsafe extern "C" fn(*mut Handle, *const c_char) -> c_int,
    get_function: unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> c_int,
    allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int,
    to_device: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int,
    to_host: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int,
    launch: Launch,
    synchronize: unsafe extern "C" fn() -> c_int,
    error_name: unsafe extern "C" fn(c_int) -> *const c_char,
    kernels: [Handle; 2],
}

/// The compiler; from ROCm 5 on it is a library of its own, and before and for a while after it is in the runtime too.
struct Compiler {
    create: Create,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    code_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    code: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
}

/// Program, source, name, headers.
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

impl Compiler {
    fn find(runtime: Library) -> Result<Self, String> {
        let own = COMPILERS.iter().find_map(|name| Library::open(name).ok());
        Self::in_library(own.unwrap_or(runtime))
    }

    fn in_library(library: Library) -> Result<Self, String> {
        Ok(Self {
            create: function!(library, "hiprtcCreateProgram"),
            compile: function!(library, "hiprtcCompileProgram"),
            code_size: function!(library, "hiprtcGetCodeSize"),
            code: function!(library, "hiprtcGetCode"),
        })
    }

    /// Compiles the kernels for the current device.
    fn compile(&self) -> Result<Vec<c_char>, Refused> {
        let mut program = null_mut();
        let mut size = 0;
        // SAFETY: signatures are those of hiprtc.h; texts end in a zero byte, and there are no headers and no options.
        unsafe {
            let made = (self.create)(
                &raw mut program,
                SOURCE.as_ptr().cast(),
                c"kernels".as_ptr(),
                0,
                null(),
                null(),
            );
            done("hiprtcCreateProgram", made)?;
            done("hiprtcCompileProgram", (self.compile)(program, 0, null()))?;
            done("hiprtcGetCodeSize", (self.code_size)(program, &raw mut size))?;
            let mut code = vec![0; size];
            done("hiprtcGetCode", (self.code)(program, code.as_mut_ptr()))?;
            Ok(code)
        }
    }
}

// SAFETY, for all blocks below: signatures are those of HIP's headers, and every pointer is to a live place of the right
// size.
impl Api for Hip {
    const NAME: &'static str = "hip";
    const LIBRARY: &'static str = "libamdhip64.so";

    fn load() -> Result<Self, String> {
        let mut reason = String::new();
        let open = |name: &&str| Library::open(name).map_err(|error| reason = error).ok();
        let runtime = RUNTIMES.iter().find_map(open);
        let Some(library) = runtime else { return Err(reason) };
        Ok(Self {
            runtime: library,
            get_version: function!(library, "hipRuntimeGetVersion"),
            init: function!(library, "hipInit"),
            get_count: function!(library, "hipGetDeviceCount"),
            get_name: function!(library, "hipDeviceGetName"),
            total_memory: function!(library, "hipDeviceTotalMem"),
            set_device: function!(library, "hipSetDevice"),
            load_module: function!(library, "hipModuleLoadData"),
            get_function: function!(library, "hipModuleGetFunction"),
            allocate: function!(library, "hipMalloc"),
            to_device: function!(library, "hipMemcpyHtoD"),
            to_host: function!(library, "hipMemcpyDtoH"),
            launch: function!(library, "hipModuleLaunchKernel"),
            synchronize: function!(library, "hipDeviceSynchronize"),
            error_name: function!(library, "hipGetErrorName"),
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
        done("hipInit", unsafe { (self.init)(0) })
    }

    fn device_count(&self) -> Outcome<u32> {
        let mut count = 0;
        // SAFETY: see above.
        done("hipGetDeviceCount", unsafe { (self.get_count)(&raw mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

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
        DeviceFacts {
            index,
            name: if named == 0 { name } else { String::new() },
            architecture: None,
            memory_bytes: (measured == 0).then_some(memory as u64),
            uuid: None,
        }
    }

    fn select(&self, index: u32) -> Outcome<()> {
        // SAFETY: see above.
        done("hipSetDevice", unsafe { (self.set_device)(index.cast_signed()) })
    }

    fn prepare(&mut self) -> Result<(), Unprepared> {
        let compiler = Compiler::find(self.runtime).map_err(|missing| {
            Unprepared::NoCompiler(format!(
                "no kernel can be built in this image without libhiprtc: {missing}"
            ))
        })?;
        // Its results are numbers of its own, so they must not be taken for those of HIP.
        let code = compiler.compile().map_err(|Refused { call, code }| {
            Unprepared::NoCompiler(format!("no kernel can be built in this image: {call} gives {code}"))
        })?;
        let mut module = null_mut();
        // SAFETY: see above.
        done("hipModuleLoadData", unsafe { (self.load_module)(&raw mut module, code.as_ptr()) })?;
        for (kernel, name) in self.kernels.iter_mut().zip([c"product", c"gradient"]) {
            // SAFETY: see above.
            done("hipModuleGetFunction", unsafe { (self.get_function)(kernel, module, name.as_ptr()) })?;
        }
        Ok(())
    }

    fn allocate(&self, values: &[f32]) -> Outcome<Buffer> {
        let mut address = 0;
        let size = size_of_val(values);
        // SAFETY: see above.
        done("hipMalloc", unsafe { (self.allocate)(&raw mut address, size) })?;
        // SAFETY: see above.
        done("hipMemcpyHtoD", unsafe { (self.to_device)(address, values.as_ptr().cast(), size) })?;
        Ok(Buffer(address))
    }

    fn launch(&self, kernel: Kernel, arguments: &[Buffer]) -> Outcome<()> {
        done("hipModuleLaunchKernel", launch(self.launch, self.kernels[kernel as usize], arguments))
    }

    fn synchronize(&self) -> Outcome<()> {
        // SAFETY: see above.
        done("hipDeviceSynchronize", unsafe { (self.synchronize)() })
    }

    fn read(&self, buffer: Buffer, values: &mut [f32]) -> Outcome<()> {
        let size = size_of_val(values);
        // SAFETY: see above.
        done("hipMemcpyDtoH", unsafe { (self.to_host)(values.as_mut_ptr().cast(), buffer.0, size) })
    }

    fn name_of(&self, code: i32) -> Option<String> {
        // SAFETY: see above; HIP gives a static text for every number.
        let text = unsafe { (self.error_name)(code) };
        // SAFETY: it ends in a zero byte.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}
