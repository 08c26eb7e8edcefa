//! The files of chunks: their names, and reading them beneath a directory.

use super::Keys;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

impl Keys {
    /// Add the name of a chunk's file.
    pub fn write(&self, coordinates: &[usize], name: &mut Vec<u8>) {
        name.extend_from_slice(&self.before);
        for (axis, &coordinate) in coordinates.iter().enumerate() {
            if axis > 0 {
                name.push(self.between);
            }
            write_number(coordinate, name);
        }
        name.extend_from_slice(&self.behind);
    }
}

fn write_number(mut number: usize, to: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to.extend_from_slice(&digits[first..]);
}

/// Why there is no file.
pub enum Absent {
    /// Nothing has this name.
    Missing,
    /// Anything else: a link, no right to read it, …
    Unusual,
}

/// `struct open_how` of Linux.
#[repr(C)]
struct How {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// Opening fails with ELOOP if any part of the path is a link.
pub const NO_SYMLINKS: u64 = 0x04;
const READ: i32 = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
/// To look names up in a directory.
pub const SEARCH: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;

/// Opens the files of chunks, one after the other, in one thread.
pub struct Opener<'a> {
    /// The path of the store and the prefix of the chunks.
    root: &'a [u8],
    keys: &'a Keys,
    follow_links: bool,
    /// The path of the file, with a 0 at its end, and how long its directory is.
    path: Vec<u8>,
    split: usize,
    /// The same of the file before.
    before: Vec<u8>,
    split_before: usize,
    /// The directory, and how many files of it were opened.
    folder: Option<OwnedFd>,
    uses: usize,
}

/// So many files of one directory are opened by their path before the directory is opened.
const FEW: usize = 2;
/// Memory for the part of a path that tells a chunk from others; there may be more.
const NAME: usize = 64;

impl<'a> Opener<'a> {
    /// Files beneath `root`, which is a path without links. Links below it are followed or not.
    pub fn new(root: &'a [u8], keys: &'a Keys, follow_links: bool) -> Opener<'a> {
        Opener {
            root,
            keys,
            follow_links,
            path: Vec::new(),
            split: 0,
            before: Vec::new(),
            split_before: 0,
            folder: None,
            uses: 0,
        }
    }

    /// Open the file of a chunk.
    pub fn open(&mut self, coordinates: &[usize]) -> Result<OwnedFd, Absent> {
        self.name(coordinates);
        let same = self.before.get(..self.split_before) == self.path.get(..self.split);
        if !same {
            self.folder = None;
            self.uses = 0;
        }
        self.uses += 1;
        let path = CStr::from_bytes_with_nul(&self.path).map_err(|_| Absent::Unusual)?;
        if self.follow_links {
            return found(open_path(libc::AT_FDCWD, path, READ, 0));
        }
        if self.uses == FEW {
            // Where it cannot be opened, opening the file says why.
            let directory = &self.path[..self.split];
            self.folder = open(libc::AT_FDCWD, directory, SEARCH, NO_SYMLINKS).ok();
        }
        let flags = READ | libc::O_NOFOLLOW;
        match &self.folder {
            Some(folder) => {
                let name = self.path.get(self.split + 1..).unwrap_or_default();
                let name = CStr::from_bytes_with_nul(name).map_err(|_| Absent::Unusual)?;
                found(open_path(folder.as_raw_fd(), name, flags, 0))
            }
            None => found(open_path(libc::AT_FDCWD, path, flags, NO_SYMLINKS)),
        }
    }

    /// Make the path of a chunk's file.
    fn name(&mut self, coordinates: &[usize]) {
        std::mem::swap(&mut self.path, &mut self.before);
        self.split_before = self.split;
        self.path.clear();
        self.path.reserve(self.root.len() + NAME);
        self.path.extend_from_slice(self.root);
        self.keys.write(coordinates, &mut self.path);
        let slash = self.path.iter().rposition(|&byte| byte == b'/');
        self.split = slash.unwrap_or(0);
        self.path.push(0);
    }
}

/// Open a file of a directory to read it, unless it is a link.
pub fn open_in(folder: RawFd, name: &[u8]) -> Result<OwnedFd, Absent> {
    found(open(folder, name, READ | libc::O_NOFOLLOW, 0))
}

fn found(answer: Result<OwnedFd, i32>) -> Result<OwnedFd, Absent> {
    answer.map_err(|error| match error {
        libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG => Absent::Missing,
        _ => Absent::Unusual,
    })
}

/// Open a path with these flags, and `RESOLVE_…` of `openat2`; the number of the error otherwise.
pub fn open(folder: RawFd, path: &[u8], flags: i32, resolve: u64) -> Result<OwnedFd, i32> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    open_path(folder, &path, flags, resolve)
}

fn open_path(folder: RawFd, path: &CStr, flags: i32, resolve: u64) -> Result<OwnedFd, i32> {
    // SAFETY: a path that ends with 0, and a structure of the size that is told.
    let file = unsafe {
        match resolve {
            0 => libc::openat(folder, path.as_ptr(), flags) as libc::c_long,
            _ => {
                let how = How {
                    flags: flags as u64,
                    mode: 0,
                    resolve,
                };
                libc::syscall(
                    libc::SYS_openat2,
                    folder,
                    path.as_ptr(),
                    &how,
                    size_of::<How>(),
                )
            }
        }
    };
    opened(file as RawFd)
}

/// Open a file of a directory, or make it.
pub fn create(folder: RawFd, name: &CStr, flags: i32) -> Result<OwnedFd, i32> {
    let mode: libc::mode_t = 0o666;
    // SAFETY: an open directory, and a name that ends with 0.
    opened(unsafe { libc::openat(folder, name.as_ptr(), flags, mode) })
}

fn opened(file: RawFd) -> Result<OwnedFd, i32> {
    if file < 0 {
        return Err(std::io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO));
    }
    // SAFETY: a new descriptor, which nothing else closes.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// The length of a regular file; None of anything else.
pub fn length(file: &OwnedFd) -> Option<usize> {
    // SAFETY: plain numbers, all of which may be 0.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: an open file, and room for its status.
    let answer = unsafe { libc::fstat(file.as_raw_fd(), &mut status) };
    if answer != 0 || status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return None;
    }
    usize::try_from(status.st_size).ok()
}

/// Read exactly so many bytes; false if there are fewer, or reading fails.
///
/// # Safety
/// So many bytes may be written at `to`.
pub unsafe fn read_to(file: &OwnedFd, start: usize, to: *mut u8, length: usize) -> bool {
    let mut done = 0;
    while done < length {
        let Ok(offset) = libc::off_t::try_from(start + done) else {
            return false;
        };
        // SAFETY: what is left of the room that the caller promises.
        let read = unsafe {
            let rest = to.add(done).cast();
            libc::pread(file.as_raw_fd(), rest, (length - done).min(1 << 30), offset)
        };
        match read {
            1.. => done += read as usize,
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return false,
        }
    }
    true
}

/// Read exactly so many bytes into a buffer that is used again; None if that fails.
pub fn read<'a>(
    file: &OwnedFd,
    start: usize,
    length: usize,
    buffer: &'a mut Vec<u8>,
) -> Option<&'a mut [u8]> {
    buffer.clear();
    buffer.try_reserve_exact(length).ok()?;
    // SAFETY: so much was reserved, and is written before it is part of the buffer.
    unsafe {
        if !read_to(file, start, buffer.as_mut_ptr(), length) {
            return None;
        }
        buffer.set_len(length);
    }
    Some(buffer)
}
