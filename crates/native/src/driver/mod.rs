//! The driver probe: the fixed computation as kernels of our own, through the vendor's driver alone.
//!
//! Main function: [`check`]. What the two vendors share is here; how each is called is an [`Api`]'s business. Neither path
//! beyond the count of devices has run on hardware yet (docs/hardware.md).

mod cuda;
mod hip;

use gpusweep_report::Stage;
use gpusweep_report::driver_result;
use gpusweep_report::wire::{
    Computed, DeviceFacts, DriverFacts, Failed, Message, Reason, RuntimeFacts, Target,
};

use crate::system::{libc_version, loaded_file};
use crate::teller::{Stop, Teller, failed};

/// A 2×2 matrix of float32, row by row.
type Matrix = [f32; 4];

const A: Matrix = [1.0, 2.0, 3.0, 4.0];
const B: Matrix = [2.0, 0.0, 1.0, 2.0];

/// More devices than any machine has.
const MAX_DEVICES: u32 = 64;

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    call: &'static str,
    code: i32,
}

type Outcome<T> = Result<T, Refused>;

/// Memory on the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer(u64);

/// A vendor's driver.
pub(crate) trait Api: Sized {
    /// `cuda` or `hip`.
    const NAME: &'static str;
    /// Beginning of the library's file name.
    const LIBRARY: &'static str;

    /// Loads the library; the error is the loader's text, or the name of what it lacks.
    fn load() -> Result<Self, String>;
    fn version(&self) -> Option<i32>;
    fn init(&self) -> Outcome<()>;
    fn device_count(&self) -> Outcome<u32>;
    fn describe(&self, index: u32) -> DeviceFacts;
    /// Makes a device the current one, with a context.
    fn select(&self, index: u32) -> Outcome<()>;
    /// Makes the kernels `product` and `gradient` ready. The error says also what is missing for that.
    fn prepare(&mut self) -> Result<(), Unprepared>;
    fn allocate(&self, values: &[f32]) -> Outcome<Buffer>;
    /// Runs four threads of a kernel with these arguments.
    fn launch(&self, kernel: Kernel, arguments: &[Buffer]) -> Outcome<()>;
    fn synchronize(&self) -> Outcome<()>;
    fn read(&self, buffer: Buffer, values: &mut [f32]) -> Outcome<()>;
    /// The vendor's name of a result.
    fn name_of(&self, code: i32) -> Option<String>;
}

/// The kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    /// `(a, b, p)`: p = a·b.
    Product,
    /// `(p, b, g, l)`: g = 2·p·bᵀ, l = Σp².
    Gradient,
}

/// Why the kernels are not ready.
pub(crate) enum Unprepared {
    /// A call failed.
    Refused(Refused),
    /// What kernels are built with is not there.
    NoCompiler(String),
}

impl From<Refused> for Unprepared {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// Checks the driver of a vendor.
pub(crate) fn check(teller: &Teller, target: &Target, device: &str) -> Result<Computed, Stop> {
    match target {
        Target::Hip => with::<hip::Hip>(teller, device),
        Target::Cuda | Target::Libtorch(_) => with::<cuda::Cuda>(teller, device),
    }
}

fn with<D: Api>(teller: &Teller, device: &str) -> Result<Computed, Stop> {
    let binding = Some(D::NAME.to_owned());
    let runtime = RuntimeFacts { python_version: None, libc: libc_version(), binding, torch_shadowed: false };
    teller.tell(&Message::Runtime(runtime));
    let mut facts = DriverFacts {
        api: D::NAME.to_owned(),
        library: None,
        version: None,
        init_result: None,
        init_name: None,
        device_count: None,
        devices: None,
    };
    teller.tell(&Message::Driver(Box::new(facts.clone())));
    let loaded = D::load();
    facts.library = loaded_file(D::LIBRARY);
    teller.tell(&Message::Driver(Box::new(facts.clone())));
    let mut driver = loaded.map_err(|error| failed(Reason::Unavailable, "LoadError", error))?;
    let index = find_device(teller, &driver, &mut facts, device)?;
    compute(teller, &mut driver, index, device)
}

fn find_device<D: Api>(
    teller: &Teller,
    driver: &D,
    facts: &mut DriverFacts,
    device: &str,
) -> Result<u32, Stop> {
    facts.version = driver.version();
    let started = driver.init();
    let code = started.err().map_or(0, |refused| refused.code);
    facts.init_result = Some(code);
    facts.init_name = Some(name_of(driver, code));
    teller.tell(&Message::Driver(Box::new(facts.clone())));
    started.map_err(|refused| stop(driver, Reason::Unavailable, refused))?;
    let count = driver.device_count().map_err(|refused| stop(driver, Reason::Unavailable, refused))?;
    facts.device_count = Some(count);
    facts.devices = Some((0..count.min(MAX_DEVICES)).map(|index| driver.describe(index)).collect());
    teller.tell(&Message::Driver(Box::new(facts.clone())));
    if count == 0 {
        return Err(failed(Reason::Unavailable, "NoDevice", "the driver counts no device"));
    }
    let index = device.strip_prefix("cuda:").and_then(|index| index.parse::<u32>().ok());
    let index = index.filter(|index| *index < count);
    let index = index.ok_or_else(|| {
        let message = format!("{device} is outside the devices that the driver counts");
        failed(Reason::Index, "IndexError", message)
    })?;
    driver.select(index).map_err(|refused| stop(driver, reason_of(refused.code), refused))?;
    Ok(index)
}

fn compute<D: Api>(teller: &Teller, driver: &mut D, _index: u32, device: &str) -> Result<Computed, Stop> {
    teller.stage(Stage::Allocate);
    driver.prepare().map_err(|unprepared| match unprepared {
        Unprepared::Refused(refused) => stop(driver, reason_of(refused.code), refused),
        Unprepared::NoCompiler(message) => failed(Reason::Misfit, "Misfit", message),
    })?;
    let refused = |refused: Refused| stop(driver, reason_of(refused.code), refused);
    let a = driver.allocate(&A).map_err(refused)?;
    let b = driver.allocate(&B).map_err(refused)?;
    // Not zeros: a kernel that never ran must not leave what looks like a result.
    let [p, g] = [
        driver.allocate(&[f32::NAN; 4]).map_err(refused)?,
        driver.allocate(&[f32::NAN; 4]).map_err(refused)?,
    ];
    let l = driver.allocate(&[f32::NAN]).map_err(refused)?;
    teller.stage(Stage::Product);
    driver.launch(Kernel::Product, &[a, b, p]).and_then(|()| driver.synchronize()).map_err(refused)?;
    teller.stage(Stage::Gradient);
    driver.launch(Kernel::Gradient, &[p, b, g, l]).map_err(refused)?;
    teller.stage(Stage::Synchronize);
    driver.synchronize().map_err(refused)?;
    let (mut product, mut gradient, mut loss) = ([0.0; 4], [0.0; 4], [0.0; 1]);
    driver.read(p, &mut product).map_err(refused)?;
    driver.read(g, &mut gradient).map_err(refused)?;
    driver.read(l, &mut loss).map_err(refused)?;
    Ok(Computed {
        product: rows(product),
        gradient: rows(gradient),
        loss: loss[0].to_string(),
        // The memory is the selected device's: there is no other place for these calls.
        product_device: device.to_owned(),
        gradient_device: device.to_owned(),
    })
}

fn rows(values: Matrix) -> Vec<Vec<String>> {
    values.chunks(2).map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

const OUT_OF_MEMORY: i32 = 2;

fn reason_of(code: i32) -> Reason {
    if code == OUT_OF_MEMORY { Reason::Memory } else { Reason::Error }
}

fn name_of<D: Api>(driver: &D, code: i32) -> String {
    driver
        .name_of(code)
        .or_else(|| driver_result(code).map(|result| result.name.to_owned()))
        .unwrap_or_else(|| format!("result {code}"))
}

fn stop<D: Api>(driver: &D, reason: Reason, refused: Refused) -> Stop {
    let Refused { call, code } = refused;
    let meaning = driver_result(code).map_or("a result that is not documented", |result| result.meaning);
    Failed { ..failed(reason, &name_of(driver, code), format!("{call} gives {code}: {meaning}")) }
}
