//! The files of this machine.

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use super::{Fill, Opened, Storage, scheme};

/// A location of another kind than a path.
#[derive(Debug, thiserror::Error)]
#[error("only files of this machine can be used here, and {0}:// names another place")]
struct Elsewhere(String);

/// The files of this machine; locations of other kinds are refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Local;

impl Storage for Local {
    fn open(&self, location: &Path) -> io::Result<Opened> {
        here(location)?;
        let file = File::open(location)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        // A pipe has a length of 0 that means nothing.
        let size = meta.is_file().then_some(meta.len());
        // A second handle costs little, and none is no harm: the file is then read.
        let mappable = size.and_then(|_| file.try_clone().ok());
        Ok(Opened { reader: Box::new(file), size, file: mappable })
    }

    fn is_directory(&self, location: &Path) -> io::Result<bool> {
        Ok(location.is_dir())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        here(directory)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if !path.is_dir() {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn write(&self, location: &Path, fill: Fill<'_>) -> io::Result<()> {
        here(location)?;
        write_atomically(location, fill)
    }

    fn remove(&self, location: &Path) -> io::Result<()> {
        here(location)?;
        fs::remove_file(location)
    }

    fn prepare(&self, directory: &Path) -> io::Result<()> {
        here(directory)?;
        fs::create_dir_all(directory)?;
        let probe = directory.join(".ddiht-probe");
        fs::write(&probe, b"")?;
        fs::remove_file(probe)
    }
}

/// Taken as a path, `s3://bucket/file` would be a file in a directory called `s3:`.
fn here(location: &Path) -> io::Result<()> {
    let elsewhere = |kind: &str| io::Error::new(ErrorKind::Unsupported, Elsewhere(kind.to_owned()));
    scheme(location).map_or(Ok(()), |kind| Err(elsewhere(kind)))
}

/// Writes `path` through a temporary file beside it: whoever reads sees the old file or the new one.
fn write_atomically(path: &Path, fill: Fill<'_>) -> io::Result<()> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    let temporary = builder().tempfile_in(dir)?;
    let mut out = BufWriter::with_capacity(1 << 20, temporary.as_file());
    fill(&mut out)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_whole_listed_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a/b");
        Local.prepare(&place).unwrap();
        assert!(Local.is_directory(&place).unwrap() && Local.list(&place).unwrap().is_empty());
        let file = place.join("x");
        Local.write(&file, &mut |out| out.write_all(b"old")).unwrap();
        let failed = Local.write(&file, &mut |out| {
            out.write_all(b"new")?;
            Err(ErrorKind::Other.into())
        });
        assert!(failed.is_err());
        fs::create_dir(place.join("directory")).unwrap();
        assert_eq!(Local.list(&place).unwrap(), std::slice::from_ref(&file));
        let opened = Local.open(&file).unwrap();
        assert_eq!(io::read_to_string(opened.reader).unwrap(), "old");
        assert_eq!(opened.size, Some(3));
        Local.remove(&file).unwrap();
        assert_eq!(Local.open(&file).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(Local.open(&place).unwrap_err().kind(), ErrorKind::IsADirectory);
    }

    #[test]
    fn other_places_are_refused_by_name() {
        for location in ["s3://b/x.gz", "http://h/x", "https://h/x", "gs://b/x"] {
            let error = Local.open(Path::new(location)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(scheme(Path::new(location)).unwrap()), "{error}");
            assert!(Local.write(Path::new(location), &mut |_| Ok(())).is_err());
            assert!(Local.prepare(Path::new(location)).is_err());
        }
    }
}
