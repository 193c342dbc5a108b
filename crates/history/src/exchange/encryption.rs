//! Encrypts files in the `age` format (age-encryption.org/v1). They can be decrypted with any age
//! implementation, without Forklore.

use std::io::{self, Read as _, Write as _};
use std::str::FromStr as _;

use age::secrecy::SecretString;
use age::{DecryptError, EncryptError, scrypt, x25519};

const TITLE: &[u8] = b"age-encryption.org/v1\n";
const ARMOR: &[u8] = b"-----BEGIN AGE";

/// About a second and 256 MB for each guess at a passphrase, the same as in the `age` program.
const WORK: u8 = 18;
/// A file that demands more is an attempt to keep us busy.
const MOST_WORK: u8 = 22;

/// Who can open the encrypted file.
#[derive(Clone)]
pub enum SealFor {
    Passphrase(SecretString),
    /// `age1...`
    Recipients(Vec<String>),
}

/// The key to open an encrypted file.
#[derive(Clone)]
pub enum Key {
    Passphrase(SecretString),
    /// The text of a file with lines `AGE-SECRET-KEY-1...`
    Identities(SecretString),
}

/// A file could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("{0:?} is not a recipient")]
    NotARecipient(String),
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    #[error("there is no key in the identity file")]
    NoIdentity,
    #[error("it is encrypted")]
    KeyNeeded,
    #[error("it is encrypted with a passphrase")]
    PassphraseNeeded,
    #[error("it is encrypted for a key")]
    IdentityNeeded,
    #[error("it was not encrypted for this key or passphrase")]
    WrongKey,
    #[error("it is encrypted as text")]
    Armored,
    #[error("it is cut off or damaged")]
    Damaged,
    #[error("could not encrypt it")]
    Seal(#[from] EncryptError),
    #[error("could not encrypt it")]
    Io(#[from] io::Error),
}

/// A passphrase read from a file, without its line ending.
pub fn passphrase(file: &str) -> Result<SecretString, SealError> {
    let line = file.trim_end_matches(['\r', '\n']);
    if line.trim().is_empty() {
        return Err(SealError::EmptyPassphrase);
    }
    Ok(SecretString::from(line.to_owned()))
}

pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(TITLE) || bytes.starts_with(ARMOR)
}

/// Encrypts `bytes`.
pub fn seal(bytes: &[u8], whom: &SealFor) -> Result<Vec<u8>, SealError> {
    let recipients: Vec<Box<dyn age::Recipient>> = match whom {
        SealFor::Passphrase(passphrase) => {
            let mut recipient = scrypt::Recipient::new(passphrase.clone());
            recipient.set_work_factor(WORK);
            vec![Box::new(recipient)]
        }
        SealFor::Recipients(names) => {
            let mut recipients: Vec<Box<dyn age::Recipient>> = Vec::new();
            for name in names {
                let recipient = x25519::Recipient::from_str(name.trim())
                    .map_err(|_| SealError::NotARecipient(name.clone()))?;
                recipients.push(Box::new(recipient));
            }
            recipients
        }
    };
    let encryptor = age::Encryptor::with_recipients(recipients.iter().map(|one| &**one))?;
    let mut sealed = Vec::with_capacity(bytes.len() + bytes.len() / 1000 + 1000);
    let mut writer = encryptor.wrap_output(&mut sealed)?;
    writer.write_all(bytes)?;
    writer.finish()?;
    Ok(sealed)
}

/// Decrypts `bytes`. All of the content is authenticated before this returns.
pub fn open(bytes: &[u8], key: Option<&Key>) -> Result<Vec<u8>, SealError> {
    if bytes.starts_with(ARMOR) {
        return Err(SealError::Armored);
    }
    let damaged = |_| SealError::Damaged;
    let decryptor = age::Decryptor::new_buffered(bytes).map_err(damaged)?;
    let identities: Vec<Box<dyn age::Identity>> = match (key, decryptor.is_scrypt()) {
        (None, _) => return Err(SealError::KeyNeeded),
        (Some(Key::Passphrase(_)), false) => return Err(SealError::IdentityNeeded),
        (Some(Key::Identities(_)), true) => return Err(SealError::PassphraseNeeded),
        (Some(Key::Passphrase(passphrase)), true) => {
            let mut identity = scrypt::Identity::new(passphrase.clone());
            identity.set_max_work_factor(MOST_WORK);
            vec![Box::new(identity)]
        }
        (Some(Key::Identities(text)), false) => identities(text)?,
    };
    let opened = decryptor.decrypt(identities.iter().map(|one| &**one));
    let mut reader = opened.map_err(|error| match error {
        DecryptError::NoMatchingKeys
        | DecryptError::KeyDecryptionFailed
        | DecryptError::DecryptionFailed => SealError::WrongKey,
        _ => SealError::Damaged,
    })?;
    let mut opened = Vec::with_capacity(bytes.len());
    reader.read_to_end(&mut opened).map_err(|_| SealError::Damaged)?;
    Ok(opened)
}

fn identities(text: &SecretString) -> Result<Vec<Box<dyn age::Identity>>, SealError> {
    use age::secrecy::ExposeSecret as _;
    let lines = text.expose_secret().lines().map(str::trim);
    let identities = lines.filter_map(|line| x25519::Identity::from_str(line).ok());
    let identities: Vec<Box<dyn age::Identity>> =
        identities.map(|one| Box::new(one) as Box<dyn age::Identity>).collect();
    if identities.is_empty() { Err(SealError::NoIdentity) } else { Ok(identities) }
}

forklore_core::diagnostics!(SealError {
    Self::NotARecipient(text) => ("not-a-recipient", text: text.as_str()),
    Self::EmptyPassphrase => ("empty-passphrase"),
    Self::NoIdentity => ("no-identity"),
    Self::KeyNeeded => ("key-needed"),
    Self::PassphraseNeeded => ("passphrase-needed"),
    Self::IdentityNeeded => ("identity-needed"),
    Self::WrongKey => ("wrong-key"),
    Self::Armored => ("armored"),
    Self::Damaged => ("sealed-damaged"),
    Self::Seal(_) | Self::Io(_) => ("not-sealed"),
});

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> (SealFor, Key) {
        let identity = x25519::Identity::generate();
        let whom = SealFor::Recipients(vec![identity.to_public().to_string()]);
        (whom, Key::Identities(identity.to_string()))
    }

    #[test]
    fn only_its_key_opens_it_and_only_undamaged() {
        let (whom, key) = key();
        let text = b"Anna never came back.".repeat(9000);
        let sealed = seal(&text, &whom).unwrap();
        assert!(is_sealed(&sealed));
        assert_eq!(open(&sealed, Some(&key)).unwrap(), text);
        assert!(matches!(open(&sealed, None), Err(SealError::KeyNeeded)));
        assert!(matches!(open(&sealed, Some(&self::key().1)), Err(SealError::WrongKey)));
        for at in (0..sealed.len()).step_by(997).chain(sealed.len() - 40..sealed.len()) {
            let mut damaged = sealed.clone();
            damaged[at] ^= 4;
            assert!(open(&damaged, Some(&key)).is_err(), "{at}");
            assert!(open(&sealed[..at], Some(&key)).is_err(), "{at}");
        }
        let recipients = SealFor::Recipients(vec!["age1nobody".to_owned()]);
        assert!(matches!(seal(&text, &recipients), Err(SealError::NotARecipient(_))));
        let nobody = SealFor::Recipients(Vec::new());
        assert!(matches!(seal(&text, &nobody), Err(SealError::Seal(_))));
    }

    #[test]
    fn a_passphrase_is_the_line_without_its_end() {
        use age::secrecy::ExposeSecret as _;
        assert_eq!(passphrase(" two words \r\n").unwrap().expose_secret(), " two words ");
        assert!(matches!(passphrase("\n"), Err(SealError::EmptyPassphrase)));
    }
}
