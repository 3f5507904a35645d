//! Buckets in memory, and a web server that fails in every way it can.

mod web;

use std::{io::Read, net::TcpListener};

use ddiht_core::{
    data::{
        self, CsrMatrix, DataError, ReadOptions, ShardInfo, inspect_shard, shard_path, write_shard,
    },
    storage::is_outage,
};
use object_store::memory::InMemory;

use super::*;
use web::{Reply, Request, Web};

/// Small requests, so that a small file takes many.
const CUT: Cut = Cut { first: 100, chunk: 1000, ahead: 2 };

/// A store that knows the bucket `s3://b`, which is in memory.
fn in_memory() -> Store {
    let store = Store::new(Duration::ZERO);
    let mut network = Network::start().unwrap();
    network.buckets.insert((Service::S3, "b".to_owned()), Arc::new(InMemory::new()));
    *store.network.lock().unwrap() = Some(network);
    store
}

/// Bytes that differ from place to place.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn put(store: &Store, location: &str, bytes: &[u8]) {
    store.write(Path::new(location), &mut |out| out.write_all(bytes)).unwrap();
}

fn all(opened: io::Result<Opened>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    opened?.reader.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads by small requests.
fn by_small_requests(store: &Store, location: &str) -> io::Result<Vec<u8>> {
    let place = parse(Path::new(location))?.unwrap();
    let (handle, object) = store.object(place)?;
    all(download::open(&handle, object, CUT))
}

#[test]
fn objects_are_written_read_listed_and_removed() {
    let store = in_memory();
    for length in [0, 1, 99, 100, 101, 1100, 12_345] {
        put(&store, "s3://b/x", &bytes(length));
        let opened = store.open(Path::new("s3://b/x")).unwrap();
        assert_eq!(opened.size, Some(length as u64));
        assert_eq!(all(Ok(opened)).unwrap(), bytes(length));
        assert_eq!(by_small_requests(&store, "s3://b/x").unwrap(), bytes(length));
    }
    put(&store, "s3://b/dir/2", b"2");
    put(&store, "s3://b/dir/1", b"1");
    put(&store, "s3://b/dir/below/3", b"3");
    for directory in ["s3://b/dir", "s3://b/dir/"] {
        let listed = store.list(Path::new(directory)).unwrap();
        assert_eq!(listed, [Path::new("s3://b/dir/1"), Path::new("s3://b/dir/2")]);
        assert!(store.is_directory(Path::new(directory)).unwrap());
    }
    assert!(!store.is_directory(Path::new("s3://b/x")).unwrap());
    assert!(!store.is_directory(Path::new("s3://b/di")).unwrap());
    assert!(store.list(Path::new("s3://b/none")).unwrap().is_empty());
    store.remove(Path::new("s3://b/dir/1")).unwrap();
    let gone = store.open(Path::new("s3://b/dir/1")).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    assert_eq!(gone.to_string(), "there is no such object");
    store.prepare(Path::new("s3://b/dir")).unwrap();
    assert_eq!(store.list(Path::new("s3://b/dir")).unwrap(), [Path::new("s3://b/dir/2")]);
}

#[test]
fn large_objects_are_written_in_parts_and_appear_at_once_or_never() {
    let store = in_memory();
    let upload = |name: &str| {
        let place = parse(Path::new(name)).unwrap().unwrap();
        let (handle, object) = store.object(place).unwrap();
        Upload::new(handle, object, 1000)
    };
    for length in [999, 1000, 1001, 5000, 5432] {
        let mut writing = upload("s3://b/x");
        io::Write::write_all(&mut writing, &bytes(length)).unwrap();
        writing.finish().unwrap();
        assert_eq!(all(store.open(Path::new("s3://b/x"))).unwrap(), bytes(length));
    }
    let mut writing = upload("s3://b/y");
    io::Write::write_all(&mut writing, &bytes(5432)).unwrap();
    writing.abort();
    assert!(store.open(Path::new("s3://b/y")).is_err());
    let failed = store.write(Path::new("s3://b/x"), &mut |out| {
        out.write_all(b"new")?;
        Err(ErrorKind::Other.into())
    });
    assert!(failed.is_err());
    assert_eq!(all(store.open(Path::new("s3://b/x"))).unwrap(), bytes(5432));
}

#[test]
fn shards_in_a_bucket_are_data_like_any_other() {
    let store = in_memory();
    let directory = Path::new("s3://b/shards");
    for shard in 0..3 {
        let mut x = CsrMatrix::new(4);
        x.push_row(&[1 + shard], &[1.0]);
        let info = ShardInfo {
            shard: u64::from(shard),
            of: 3,
            first_row: u64::from(shard),
            stride: 3,
            total_rows: 3,
            zero_based: false,
        };
        let path = shard_path(directory, shard as usize, 3);
        write_shard(&store, &path, &info, &x, &[1.0]).unwrap();
        assert_eq!(inspect_shard(&store, &path).unwrap().info, info);
    }
    let raw = data::read(&store, &[directory.into()], &ReadOptions::default()).unwrap();
    assert_eq!((raw.x.rows(), raw.x.cols(), raw.total_rows), (3, 4, 3));
    let empty = data::read(&store, &["s3://b/none/".into()], &ReadOptions::default());
    assert!(matches!(empty, Err(DataError::Directory(_))));
}

#[test]
fn a_bad_line_is_named_by_its_location() {
    let store = in_memory();
    put(&store, "s3://b/bad.svm", b"+1 1:1\n-1 2:x\n");
    let read = data::read(&store, &["s3://b/bad.svm".into()], &ReadOptions::default());
    let error = read.unwrap_err().to_string();
    assert!(error.starts_with("s3://b/bad.svm:2:"), "{error}");
}

/// A server that cuts every answer short, with and without a tag for its contents.
#[test]
fn a_broken_answer_is_gone_on_with_where_it_broke() {
    for tag in [None, Some("one")] {
        let file = bytes(5000);
        let served = file.clone();
        let server = Web::start(move |_, request| {
            let part = Reply::part(&served, request).cut(300);
            match tag {
                Some(tag) => part.tagged(tag),
                None => part,
            }
        });
        let store = Store::new(Duration::from_secs(20));
        let read = by_small_requests(&store, &format!("{}/x", server.address)).unwrap();
        assert!(read == file, "{tag:?}");
        let seen: Vec<_> = server.seen().into_iter().filter_map(|r| r.range).collect();
        assert!(seen.contains(&(0..100)) && seen.contains(&(400..1100)), "{seen:?}");
        let asked: usize = seen.iter().map(|range| range.len().min(300)).sum();
        assert_eq!(asked, file.len(), "no byte is sent twice");
    }
}

#[test]
fn a_server_without_ranges_sends_everything() {
    let file = bytes(300_000);
    let served = file.clone();
    let server = Web::start(move |_, _| Reply::whole(&served));
    let store = Store::new(Duration::ZERO);
    let location = format!("{}/x", server.address);
    let opened = store.open(Path::new(&location)).unwrap();
    assert_eq!(opened.size, Some(300_000));
    assert!(all(Ok(opened)).unwrap() == file);
    let broken = Web::start(move |_, _| Reply::whole(&file).cut(1000));
    let location = format!("{}/x", broken.address);
    let error = all(store.open(Path::new(&location))).unwrap_err();
    assert!(is_outage(&error), "{error}");
}

#[test]
fn failures_that_pass_are_tried_again() {
    let file = bytes(2500);
    let served = file.clone();
    let server = Web::start(move |n, request| match n {
        0 | 3 => Reply::status("503 Service Unavailable"),
        1 => Reply::part(&served, request).cut(0),
        _ => Reply::part(&served, request).tagged("a"),
    });
    let store = Store::new(Duration::from_secs(20));
    let location = format!("{}/x", server.address);
    assert!(by_small_requests(&store, &location).unwrap() == file);
}

#[test]
fn failures_that_stay_are_told_in_a_sentence() {
    let said = |status: &'static str| {
        let server = Web::start(move |_, _| Reply::status(status));
        let location = format!("{}/x?sig=hunter2", server.address);
        let error = Store::new(Duration::ZERO).open(Path::new(&location)).unwrap_err();
        let text = error.to_string();
        assert!(!text.contains("hunter2") && !text.contains('\n'), "{text}");
        (text, is_outage(&error))
    };
    assert_eq!(said("404 Not Found"), ("there is no such object".to_owned(), false));
    assert_eq!(said("403 Forbidden"), ("the server does not allow it".to_owned(), false));
    let (text, outage) = said("500 Internal Server Error");
    assert!(text.contains("status 500") && outage, "{text}");

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let location = format!("http://{nobody}/x");
    let error = Store::new(Duration::ZERO).open(Path::new(&location)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("cannot connect") && text.contains(&nobody.to_string()), "{text}");
    assert!(is_outage(&error));
}

#[test]
fn a_file_that_changes_while_it_is_read_is_noticed() {
    let served = bytes(5000);
    let server = Web::start(move |n, request| {
        Reply::part(&served, request).tagged(if n < 3 { "old" } else { "new" })
    });
    let store = Store::new(Duration::ZERO);
    let error = by_small_requests(&store, &format!("{}/x", server.address)).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}

/// Whoever reads on after an error must not get the bytes that come after those that were lost.
#[test]
fn nothing_is_read_after_a_part_that_was_lost() {
    let served = bytes(5000);
    let server = Web::start(move |_, request| match &request.range {
        Some(range) if range.start == 1100 => Reply::status("404 Not Found"),
        _ => Reply::part(&served, request),
    });
    let store = Store::new(Duration::ZERO);
    let place = parse(Path::new(&format!("{}/x", server.address))).unwrap().unwrap();
    let (handle, object) = store.object(place).unwrap();
    let mut reader = download::open(&handle, object, CUT).unwrap().reader;
    let mut read = Vec::new();
    assert!(reader.read_to_end(&mut read).is_err());
    assert!(read == bytes(5000)[..1100]);
    assert!(reader.read(&mut [0; 10]).is_err());
}

#[test]
fn web_addresses_are_asked_for_as_they_are() {
    let served = bytes(10);
    let server = Web::start(move |_, request| Reply::part(&served, request));
    let store = Store::new(Duration::ZERO);
    let location = format!("{}/a%20b/x.svm?X-Amz-Signature=a%2Fb&c=d", server.address);
    assert_eq!(all(store.open(Path::new(&location))).unwrap(), bytes(10));
    let Request { line, range } = server.seen().remove(0);
    assert_eq!(line, "GET /a%20b/x.svm?X-Amz-Signature=a%2Fb&c=d");
    assert_eq!(range, Some(0..64 << 10));
    let slash = PathBuf::from(format!("{}/shards/", server.address));
    assert!(store.is_directory(&slash).unwrap());
    assert!(store.list(&slash).unwrap_err().to_string().contains("name the files"));
    for refused in [store.write(&slash.join("x"), &mut |_| Ok(())), store.prepare(&slash)] {
        assert!(refused.unwrap_err().to_string().contains("can only be read"));
    }
}

#[test]
fn an_empty_file_on_the_web_is_empty() {
    let server = Web::start(|_, request| Reply::part(b"", request));
    let store = Store::new(Duration::ZERO);
    let opened = store.open(Path::new(&format!("{}/x", server.address))).unwrap();
    assert_eq!(opened.size, Some(0));
    assert!(all(Ok(opened)).unwrap().is_empty());
}

#[test]
fn paths_of_this_machine_are_local() {
    let store = Store::new(Duration::ZERO);
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("a");
    store.prepare(&place).unwrap();
    let file = place.join("x");
    store.write(&file, &mut |out| out.write_all(b"abc")).unwrap();
    assert_eq!(all(store.open(&file)).unwrap(), b"abc");
    assert_eq!(store.list(&place).unwrap(), std::slice::from_ref(&file));
    assert!(store.is_directory(&place).unwrap());
    store.remove(&file).unwrap();
    assert!(store.network.lock().unwrap().is_none(), "no threads are started for local files");
    let unknown = store.open(Path::new("ftp://h/x")).unwrap_err();
    assert!(unknown.to_string().contains("ftp://"), "{unknown}");
}
