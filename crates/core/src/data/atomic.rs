//! Writing a file whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes `path` through a temporary file beside it: whoever reads sees the old file or the new one.
///
/// # Errors
/// What the system said; the old file is then as it was.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    let temporary = builder().tempfile_in(dir)?;
    let mut out = BufWriter::with_capacity(1 << 20, temporary.as_file());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    temporary.as_file().sync_all()?;
    temporary.persist(path)?;
    sync_dir(dir)
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ddiht-").suffix(".tmp");
    // The file is not a secret: it gets the permissions that the umask gives any other.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// A rename lasts only when its directory has been written too.
fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}
