//! Stand-ins for the C library to link against, so that a program asks for no version of glibc.
//!
//! Main function: [`stand_ins`]. A program that is linked against this machine's glibc asks for this machine's version or
//! a newer one, and does not start in an older image. Where a reference has no version, glibc's loader takes the default
//! one of whatever glibc is there (`dl-lookup.c`), so it is enough to link against libraries that have the same names and
//! no versions. They hold only what [`OLDEST`] had already: a program that needs more does not link.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Endianness, ObjectSymbol as _, SymbolKind};

/// The oldest glibc that programs of this build start with: that of CentOS 7 and `manylinux2014`.
const OLDEST: (u32, u32) = (2, 17);

/// Every library that has been a part of glibc; since 2.34 most are empty, before it their content was not in libc.
const LIBRARIES: [&str; 6] =
    ["libc.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libm.so.6"];

/// Makes the stand-ins in a folder and returns what the linker is to be told.
pub(crate) fn stand_ins(folder: &Path) -> io::Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let mut symbols = BTreeMap::new();
    for library in LIBRARIES {
        if let Some(path) = of_this_machine(library)? {
            symbols.extend(old_symbols(&fs::read(path)?).map_err(io::Error::other)?);
        }
    }
    // All in one: at run time a name without version is found in whichever of them has it.
    assemble(folder, "libc.so.6", &source(&symbols))?;
    for library in &LIBRARIES[1..] {
        assemble(folder, library, &source(&BTreeMap::new()))?;
    }
    // The unwinder, which a program that aborts does not need, is not in every image.
    run(Command::new("ar").arg("rcs").arg(folder.join("libgcc_s.a")))?;
    let mut arguments = vec![format!("-L{}", folder.display())];
    // `dlopen` was in libdl before glibc 2.34; both have to be loaded even where the stand-in says that libc has it.
    arguments.extend(["-nodefaultlibs", "-Wl,--no-as-needed", "-ldl", "-lpthread", "-lc"].map(Into::into));
    Ok(arguments)
}

fn of_this_machine(library: &str) -> io::Result<Option<PathBuf>> {
    let output = Command::new("cc").arg(format!("-print-file-name={library}")).output()?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // A name alone means that it was not found.
    Ok(path.is_absolute().then_some(path))
}

/// Size, and whether it is data rather than code.
type Symbol = (u64, bool);

/// What a library defines for programs as old as [`OLDEST`].
fn old_symbols(bytes: &[u8]) -> object::Result<BTreeMap<String, Symbol>> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let sections = file.elf_header().sections(file.endian(), bytes)?;
    let Some(versions) = sections.versions(file.endian(), bytes)? else { return Ok(BTreeMap::new()) };
    let mut found = BTreeMap::new();
    use object::Object as _;
    for symbol in file.dynamic_symbols().filter(|symbol| !symbol.is_undefined()) {
        let index = versions.version_index(file.endian(), symbol.index());
        let name = versions
            .version(index.into())?
            .map(|version| String::from_utf8_lossy(version.name()).into_owned());
        let is_data = match symbol.kind() {
            SymbolKind::Text | SymbolKind::Unknown => false,
            SymbolKind::Data => true,
            _ => continue,
        };
        if name.is_some_and(|version| is_old(&version)) {
            found.insert(symbol.name()?.to_owned(), (symbol.size(), is_data));
        }
    }
    Ok(found)
}

/// `GLIBC_2.2.5` and the like; names such as `GLIBC_PRIVATE` are not for programs.
fn is_old(version: &str) -> bool {
    let numbers = version.strip_prefix("GLIBC_").unwrap_or_default();
    let mut numbers = numbers.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) <= OLDEST,
        _ => false,
    }
}

fn source(symbols: &BTreeMap<String, Symbol>) -> String {
    let mut text = String::from(".section .note.GNU-stack,\"\",%progbits\n.data\n");
    for (name, (size, is_data)) in symbols {
        let kind = if *is_data { "object" } else { "function" };
        let _ = writeln!(
            text,
            ".globl {name}\n.type {name},%{kind}\n{name}:\n.space {}\n.size {name},{size}",
            size.max(&1)
        );
    }
    text
}

/// `libNAME.so` for the linker, which writes the versioned name into the program.
fn assemble(folder: &Path, library: &str, source: &str) -> io::Result<()> {
    let short = library.split_inclusive(".so").next().unwrap_or(library);
    let file = folder.join(short).with_extension("s");
    fs::write(&file, source)?;
    let name = format!("-Wl,-soname,{library}");
    run(Command::new("cc").args(["-shared", "-nostdlib", &name, "-o"]).arg(folder.join(short)).arg(file))
}

fn run(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?} ended with {status}"))) }
}
