use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Disk, FileStart, FileType, Stat, parent_of, system};

/// Chunk size for files that are not read whole.
const PIECE: usize = 256 * 1024;

/// The machine's real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn read_into(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
        let (mut file, meta) = open_regular(path)?;
        let expected = usize::try_from(meta.len()).unwrap_or(0);
        if buffer.capacity() < expected {
            buffer.clear();
            buffer.reserve_exact(expected);
            return file.read_to_end(buffer).map(drop);
        }
        // The buffer is large enough: `read_to_end` would query the file size again.
        buffer.resize(expected, 0);
        let mut read = 0;
        while read < expected {
            match file.read(&mut buffer[read..]) {
                Ok(0) => break,
                Ok(length) => read += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer.truncate(read);
        // Reads anything appended in the meantime, up to the end of the file.
        let mut more = [0; 64];
        match file.read(&mut more)? {
            0 => Ok(()),
            length => {
                buffer.extend_from_slice(&more[..length]);
                file.read_to_end(buffer).map(drop)
            }
        }
    }

    fn visit(&self, path: &Path, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let (mut file, _) = open_regular(path)?;
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(length) => see(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn read_start(&self, path: &Path, until: u8) -> io::Result<FileStart> {
        let (mut file, meta) = open_regular(path)?;
        let bytes = read_until(&mut file, until)?;
        Ok(FileStart { bytes, len: meta.len(), modified: meta.modified()? })
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            // `NotADirectory`: a parent of the path is a file, so there is nothing here.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let kind = if meta.is_file() {
            FileType::File
        } else if meta.is_dir() {
            FileType::Dir
        } else if meta.is_symlink() {
            FileType::Link
        } else {
            FileType::Other
        };
        let modified = meta.modified()?;
        Ok(Some(Stat { kind, len: meta.len(), modified, inode: system::inode(&meta) }))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names =
            entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn make_dirs(&self, folder: &Path) -> io::Result<()> {
        match system::make_dir(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = parent_of(folder);
                if parent == folder {
                    return Err(error);
                }
                self.make_dirs(parent)?;
                return self.make_dirs(folder);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.sync_dir(parent_of(folder))
    }

    fn write_new(&self, path: &Path, like: Option<&Path>, parts: &[&[u8]]) -> io::Result<()> {
        let mut file = system::create_new(path)?;
        if let Some(like) = like {
            system::make_like(&file, &fs::metadata(like)?)?;
        }
        let mut expected = 0;
        for part in parts {
            // `write_all` continues after a short write. SillyTavern's own writer does not, and so
            // truncates files.
            file.write_all(part)?;
            expected += part.len() as u64;
        }
        file.sync_all()?;
        let written = file.metadata()?.len();
        if written != expected {
            return Err(io::Error::new(
                io::ErrorKind::WriteZero,
                format!("{written} of {expected} bytes were written"),
            ));
        }
        Ok(())
    }

    fn append(&self, path: &Path, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let mut file = File::options().write(true).open(path)?;
        let length = file.metadata()?.len();
        if length < at {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("it has {length} bytes, not {at}"),
            ));
        }
        if length > at {
            file.set_len(at)?;
        }
        file.seek(SeekFrom::Start(at))?;
        // A single write if possible, so that a crash leaves either a prefix or nothing.
        file.write_all(&parts.concat())?;
        file.sync_data()
    }

    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        system::sync_dir(folder)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        match system::rename_no_replace(from, to) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => link_if_free(from, to),
            other => other,
        }
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        system::exchange(a, b)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        system::open_lock(path)
    }
}

fn link_if_free(from: &Path, to: &Path) -> io::Result<()> {
    use io::ErrorKind::{AlreadyExists, NotFound};
    match fs::hard_link(from, to) {
        Ok(()) => {
            // The file is in place; a leftover second name is harmless.
            let _ = fs::remove_file(from);
            Ok(())
        }
        Err(error) if matches!(error.kind(), AlreadyExists | NotFound) => Err(error),
        // The file system has no hard links (FAT, Android).
        Err(_) => rename_if_free(from, to),
    }
}

/// Not atomic: another program can create `to` between the check and the rename. Last resort.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    if RealDisk.stat(to)?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

fn open_regular(path: &Path) -> io::Result<(File, fs::Metadata)> {
    let file = system::open_for_reading(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok((file, meta))
}

fn read_until(file: &mut impl Read, until: u8) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = 64 * 1024;
    loop {
        let seen = bytes.len();
        let read = file.by_ref().take(chunk).read_to_end(&mut bytes)?;
        if let Some(at) = bytes[seen..].iter().position(|&byte| byte == until) {
            bytes.truncate(seen + at + 1);
            return Ok(bytes);
        }
        if read == 0 {
            return Ok(bytes);
        }
        chunk *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_core::digest::{Algorithm, Digest};

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[track_caller]
    fn check_start(content: &[u8], expected: &[u8]) {
        let folder = folder();
        let path = folder.path().join("chat.jsonl");
        fs::write(&path, content).unwrap();
        let start = RealDisk.read_start(&path, b'\n').unwrap();
        assert_eq!(start.bytes.len(), expected.len());
        assert!(start.bytes == expected);
        assert_eq!(start.len, content.len() as u64);
    }

    #[test]
    fn the_start_ends_with_the_first_newline_wherever_it_is() {
        check_start(b"", b"");
        check_start(b"header\nmessage\n", b"header\n");
        check_start(b"no newline", b"no newline");
        for at in [65_535, 65_536, 65_537, 196_607, 196_608, 196_609, 1_000_000] {
            let mut content = vec![b'x'; at];
            content.extend_from_slice(b"\nrest");
            check_start(&content, &content[..=at]);
        }
    }

    #[test]
    fn the_start_of_a_large_chat_is_not_the_whole_of_it() {
        struct Counting(u64);
        impl Read for Counting {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b'\n');
                self.0 += buffer.len() as u64;
                Ok(buffer.len())
            }
        }
        let mut file = Counting(0);
        assert_eq!(read_until(&mut file, b'\n').unwrap(), b"\n");
        assert!(file.0 <= 64 * 1024, "{} bytes were read", file.0);
    }

    #[track_caller]
    fn check_matches(content: &[u8], parts: &[&[u8]], expected: bool) {
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, content).unwrap();
        assert_eq!(RealDisk.matches(&path, parts).unwrap(), expected, "{}", content.len());
    }

    #[test]
    fn a_file_matches_its_parts_however_they_are_cut() {
        check_matches(b"", &[], true);
        check_matches(b"", &[b"", b""], true);
        check_matches(b"abc", &[b"a", b"", b"bc"], true);
        check_matches(b"abc", &[b"abc", b""], true);
        for other in [&b""[..], b"ab", b"abcd", b"abd", b"xbc"] {
            check_matches(b"abc", &[other], false);
            check_matches(other, &[b"a", b"bc"], false);
        }
    }

    #[test]
    fn a_file_of_many_pieces_is_told_from_one_that_differs_at_any_place() {
        let content: Vec<u8> = (0..2 * PIECE + 3).map(|n| (n % 251) as u8).collect();
        for cut in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, content.len()] {
            let (start, end) = content.split_at(cut);
            check_matches(&content, &[start, end], true);
            check_matches(&content, &[start], cut == content.len());
            let mut other = content.clone();
            other[cut.min(content.len() - 1)] ^= 1;
            check_matches(&other, &[start, end], false);
        }
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, &content).unwrap();
        assert_eq!(RealDisk.digest(&path, Algorithm::Blake3).unwrap(), Digest::of(&content));
    }

    #[test]
    fn reading_again_forgets_what_the_buffer_held() {
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, b"short").unwrap();
        let mut buffer = b"something much longer".to_vec();
        RealDisk.read_into(&path, &mut buffer).unwrap();
        assert_eq!(buffer, b"short");
    }

    #[test]
    fn an_absent_path_is_not_an_error_to_look_at_or_list() {
        let folder = folder();
        let absent = folder.path().join("absent");
        assert_eq!(RealDisk.stat(&absent).unwrap(), None);
        assert_eq!(RealDisk.list(&absent).unwrap(), Vec::<OsString>::new());
        fs::write(&absent, b"").unwrap();
        assert_eq!(RealDisk.stat(&absent.join("below a file")).unwrap(), None);
        assert!(RealDisk.list(&absent).is_err());
    }

    #[test]
    fn parts_are_written_one_after_another_and_never_over_a_file() {
        let folder = folder();
        let path = folder.path().join("a");
        RealDisk.write_new(&path, None, &[b"one ", b"", b"two"]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one two");
        let again = RealDisk.write_new(&path, None, &[b"three"]).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one two");
    }

    #[track_caller]
    fn check_publish(publish: fn(&Path, &Path) -> io::Result<()>) {
        let folder = folder();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, b"new").unwrap();
        publish(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert!(!from.exists());

        fs::write(&from, b"newer").unwrap();
        let error = publish(&from, &to).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert_eq!(fs::read(&from).unwrap(), b"newer");
    }

    #[test]
    fn publishing_moves_but_never_replaces() {
        check_publish(|from, to| RealDisk.publish(from, to));
        check_publish(link_if_free);
        check_publish(rename_if_free);
    }

    #[test]
    fn missing_parents_are_made() {
        let folder = folder();
        let deep = folder.path().join("a/b/c");
        RealDisk.make_dirs(&deep).unwrap();
        assert_eq!(RealDisk.stat(&deep).unwrap().unwrap().kind, FileType::Dir);
        RealDisk.make_dirs(&deep).unwrap();
        fs::write(folder.path().join("file"), b"").unwrap();
        assert!(RealDisk.make_dirs(&folder.path().join("file")).is_err());
        assert!(RealDisk.make_dirs(&folder.path().join("file/below")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn exchanging_swaps_both_files() {
        let folder = folder();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, b"A").unwrap();
        fs::write(&b, b"B").unwrap();
        RealDisk.exchange(&a, &b).unwrap();
        assert_eq!(fs::read(&a).unwrap(), b"B");
        assert_eq!(fs::read(&b).unwrap(), b"A");
    }

    #[cfg(unix)]
    mod unix {
        use super::*;
        use std::os::unix::fs::{PermissionsExt, symlink};

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o7777
        }

        #[test]
        fn what_we_make_for_ourselves_is_private() {
            let folder = folder();
            RealDisk.make_dirs(&folder.path().join("a/b")).unwrap();
            let file = folder.path().join("a/b/c");
            RealDisk.write_new(&file, None, &[b"x"]).unwrap();
            assert_eq!(mode(&folder.path().join("a")), 0o700);
            assert_eq!(mode(&folder.path().join("a/b")), 0o700);
            assert_eq!(mode(&file), 0o600);
        }

        #[test]
        fn what_we_make_for_sillytavern_is_as_readable_as_its_model() {
            let folder = folder();
            let (model, file) = (folder.path().join("model"), folder.path().join("file"));
            fs::write(&model, b"").unwrap();
            for bits in [0o644, 0o666, 0o640, 0o4755] {
                fs::set_permissions(&model, fs::Permissions::from_mode(bits)).unwrap();
                RealDisk.write_new(&file, Some(&model), &[b"x"]).unwrap();
                assert_eq!(mode(&file), bits & 0o777);
                RealDisk.remove(&file).unwrap();
            }
        }

        #[test]
        fn a_link_in_the_way_is_not_written_through() {
            let folder = folder();
            let (target, link) = (folder.path().join("target"), folder.path().join("link"));
            symlink(&target, &link).unwrap();
            assert!(RealDisk.write_new(&link, None, &[b"x"]).is_err());
            assert!(RealDisk.open_lock(&link).is_err());
            assert!(!target.exists());
            assert_eq!(RealDisk.stat(&link).unwrap().unwrap().kind, FileType::Link);
        }

        #[test]
        fn a_pipe_or_a_folder_is_refused_at_once() {
            let folder = folder();
            let pipe = folder.path().join("pipe.jsonl");
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &pipe,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
            for path in [pipe.as_path(), folder.path()] {
                let error = RealDisk.read_start(path, b'\n').unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
                assert!(RealDisk.read(path).is_err());
            }
        }
    }
}
