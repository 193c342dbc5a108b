//! Ways to damage a file.

use fastrand::Rng;

/// A kind of damage, applied by [`Damage::to`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    None,
    Torn,
    ByteOrderMark,
    WindowsLineEnds,
    BlankLines,
    Nuls,
    CutAnywhere,
    FlippedBytes,
    Empty,
    Deep,
    HugeHeader,
    NotUtf8,
    GarbageLine,
}

impl Damage {
    pub const ALL: [Self; 13] = [
        Self::None,
        Self::Torn,
        Self::ByteOrderMark,
        Self::WindowsLineEnds,
        Self::BlankLines,
        Self::Nuls,
        Self::CutAnywhere,
        Self::FlippedBytes,
        Self::Empty,
        Self::Deep,
        Self::HugeHeader,
        Self::NotUtf8,
        Self::GarbageLine,
    ];

    pub fn any(rng: &mut Rng) -> Self {
        Self::ALL[rng.usize(..Self::ALL.len())]
    }

    pub fn to(self, rng: &mut Rng, file: &[u8]) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> =
            file.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        let any_line = |rng: &mut Rng, lines: &[Vec<u8>]| rng.usize(..lines.len());
        match self {
            Self::None => {}
            Self::Torn => {
                let last = lines.last_mut().expect("a split gives at least one piece");
                last.truncate(rng.usize(..=last.len()));
            }
            Self::ByteOrderMark => return [b"\xEF\xBB\xBF", file].concat(),
            Self::WindowsLineEnds => {
                lines.iter_mut().for_each(|line| line.push(b'\r'));
            }
            Self::BlankLines => {
                for _ in 0..rng.usize(1..5) {
                    let blank = [&b""[..], b" ", b"\r", b"\t \t"][rng.usize(..4)].to_vec();
                    lines.insert(rng.usize(..=lines.len()), blank);
                }
            }
            Self::Nuls => {
                let at = any_line(rng, &lines);
                lines[at] = vec![0; rng.usize(1..5000)];
            }
            Self::CutAnywhere => return file[..rng.usize(..=file.len())].to_vec(),
            Self::FlippedBytes => {
                let mut file = file.to_vec();
                for _ in 0..rng.usize(1..20).min(file.len()) {
                    let at = rng.usize(..file.len());
                    file[at] ^= 1 << rng.u8(..8);
                }
                return file;
            }
            Self::Empty => return Vec::new(),
            Self::Deep => {
                let depth = rng.usize(600..20_000);
                let deep = [b"[".repeat(depth), b"]".repeat(depth)].concat();
                let at = any_line(rng, &lines);
                let nested = [&b"{\"chat_metadata\":{\"variables\":"[..], &deep, b"}}"].concat();
                lines[at] = if rng.bool() { deep } else { nested };
            }
            Self::HugeHeader => {
                let filler = "x".repeat(rng.usize(64 << 10..300 << 10));
                lines[0] = format!(
                    "{{\"chat_metadata\":{{\"filler\":\"{filler}\",\"world_info\":\"Huge\"}}}}"
                )
                .into_bytes();
            }
            Self::NotUtf8 => {
                let at = any_line(rng, &lines);
                let middle = lines[at].len() / 2;
                lines[at].splice(middle..middle, *b"\xff\xfe\xc3");
            }
            Self::GarbageLine => {
                let garbage = [&b"{\"mes\":"[..], b"not json", b"{\"a\":1,}", b"\"\x01\"", b"nul"]
                    [rng.usize(..5)]
                .to_vec();
                lines.insert(rng.usize(..=lines.len()), garbage);
            }
        }
        lines.join(&b'\n')
    }
}
