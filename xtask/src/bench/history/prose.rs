//! Generates text that compresses about as well as English: common words are frequent, and parts of
//! speech follow each other in a plausible order.

use fastrand::Rng;

const DETERMINERS: &str =
    "the a her his their this my your that some every no another each its our";
const PREPOSITIONS: &str = "of in to with on at from by into over under behind against through across \
    beyond without near between along beneath around toward inside past";
const CONJUNCTIONS: &str = "and but so while because until when though before as if where or since";
const PRONOUNS: &str = "she he they it I you we nobody someone everyone Mara Tobin Iselle Corvin Anneke \
    Bram Odalys Renske Halloran Piet Sunniva Jorik Wend Fennimore Aldous Katrien";
const ADVERBS: &str = "slowly again still never almost quietly always already barely suddenly perhaps \
    carefully softly once finally only together gently twice hardly gladly elsewhere somehow soon \
    tonight tomorrow badly plainly rarely likewise overhead downstairs abroad";
const ADJECTIVES: &str = "old small dark cold long wet quiet grey empty strange warm narrow heavy broken \
    pale young low tired late bright salt-stained hollow crooked sharp thin patient distant loose bitter \
    soft dull green foreign rusted polished clever silver muddy private faded wooden gentle stubborn \
    nervous sleepless borrowed painted careless honest flooded northern windless amber tarred ragged \
    idle lukewarm moonlit forgotten feverish courteous brittle scalded unlit velvet";
const NOUNS: &str = "harbour door hand night water lamp street house voice rain letter window ship table \
    morning stone face light word room fire map story child captain winter boat city bridge road coat \
    knife ledger market bell sea wall key glass shoulder tower bread rope candle market clerk storm \
    garden silence stair kitchen paper name tide lantern widow brother soldier chapel ferry coin net \
    cellar roof gull mirror song fever mill orchard cart bargain rumour oath barrel cloak chimney gate \
    island lighthouse merchant needle oar pilot quay rudder sailmaker tavern uncle vinegar wharf yard \
    anchor basket cousin drawer envelope fountain guild hammer inkwell jug kettle ladder magistrate \
    notebook officer pocket quarrel ribbon saddle thimble umbrella valley weather apprentice balcony \
    cathedral dockhand estuary foundry granary herring innkeeper judge keel lock midwife neighbour \
    organ priest question river secret treaty undertaker violin watchman archive beacon compass daughter \
    evidence fisherman grain harvest invitation jacket knot lesson memory nephew omen parcel reason \
    signal tongue verdict wager accident bottle ceiling debt errand fault ghost hour insult journey";
const VERBS: &str = "was had said knew took looked turned held heard left asked kept found waited came \
    walked watched stood wanted carried opened remembered saw felt gave spoke believed closed counted \
    burned laughed nodded answered crossed lifted read reached set sold followed forgot hid lost moved \
    owed paid pulled promised refused rowed sang shook slept smiled stopped swore touched understood \
    whispered wondered wrote argued begged climbed denied drank entered feared gathered hesitated \
    imagined judged knelt lied mended noticed offered poured quarrelled repeated searched traded \
    unlocked vanished wept admitted borrowed confessed dreamed escaped folded grieved hauled insisted \
    jumped lingered measured named obeyed pretended recalled signed trembled unfolded ventured warned";

#[derive(Clone, Copy)]
enum Part {
    Determiner,
    Preposition,
    Conjunction,
    Pronoun,
    Adverb,
    Adjective,
    Noun,
    Verb,
}

/// Generates prose. The same seed gives the same text.
pub(crate) struct Writer {
    random: Rng,
    words: [Vec<&'static str>; 8],
}

impl Writer {
    pub(crate) fn new(seed: u64) -> Self {
        let lists =
            [DETERMINERS, PREPOSITIONS, CONJUNCTIONS, PRONOUNS, ADVERBS, ADJECTIVES, NOUNS, VERBS];
        let words = lists.map(|list| list.split_whitespace().collect());
        Self { random: Rng::with_seed(seed), words }
    }

    pub(crate) fn random(&mut self) -> &mut Rng {
        &mut self.random
    }

    /// Draws a word. Common words come first in each list, and half of the draws fall into the
    /// first quarter, as in English, where a hundred words make up half of all text.
    fn word(&mut self, part: Part) -> &'static str {
        let words = &self.words[part as usize];
        let place = self.random.f64() * self.random.f64().sqrt();
        words[(place * words.len() as f64) as usize % words.len()]
    }

    /// Returns at least `bytes` bytes of sentences.
    pub(crate) fn prose(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 120);
        while text.len() < bytes {
            if !text.is_empty() {
                text.push_str(if self.random.u8(..6) == 0 { "\n\n" } else { " " });
            }
            self.sentence(&mut text);
        }
        text
    }

    fn sentence(&mut self, text: &mut String) {
        let is_speech = self.random.u8(..5) == 0;
        if is_speech {
            text.push('"');
        }
        let start = text.len();
        let clauses = 1 + self.random.usize(..3);
        for clause in 0..clauses {
            if clause > 0 {
                text.push_str(if self.random.bool() { ", " } else { " " });
                self.add(text, Part::Conjunction);
            }
            self.clause(text);
        }
        if let Some(first) = text.get_mut(start..start + 1) {
            first.make_ascii_uppercase();
        }
        text.push_str([".", ".", ".", "?", "!", "..."][self.random.usize(..6)]);
        if is_speech {
            text.push('"');
        }
    }

    fn clause(&mut self, text: &mut String) {
        if self.random.bool() {
            self.add(text, Part::Pronoun);
        } else {
            self.thing(text);
        }
        if self.random.u8(..4) == 0 {
            self.add(text, Part::Adverb);
        }
        self.add(text, Part::Verb);
        if self.random.u8(..3) > 0 {
            self.thing(text);
        }
        for _ in 0..self.random.u8(..3) {
            self.add(text, Part::Preposition);
            self.thing(text);
        }
    }

    fn thing(&mut self, text: &mut String) {
        self.add(text, Part::Determiner);
        if self.random.u8(..5) < 2 {
            self.add(text, Part::Adjective);
        }
        self.add(text, Part::Noun);
        // Things that word lists lack: dates, sums, place names.
        if self.random.u8(..30) == 0 {
            let number = self.random.u32(2..4_000).to_string();
            text.push(' ');
            text.push_str(&number);
        }
        if self.random.u8(..5) == 0 {
            text.push_str(" of ");
            self.place(text);
        }
    }

    fn place(&mut self, text: &mut String) {
        let start = text.len();
        for _ in 0..2 + self.random.u8(..2) {
            for letters in ["bdfghklmnprstvwz", "aeiou", "lmnrst"] {
                let letter = letters.as_bytes()[self.random.usize(..letters.len())];
                text.push(char::from(letter));
            }
        }
        text[start..=start].make_ascii_uppercase();
    }

    fn add(&mut self, text: &mut String, part: Part) {
        let word = self.word(part);
        if !text.is_empty() && !text.ends_with(['"', ' ', '\n']) {
            text.push(' ');
        }
        text.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn deflated(text: &str) -> f64 {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap().len() as f64 / text.len() as f64
    }

    /// English novels deflate to about 0.52 for two kilobytes, and about 0.38 for long texts.
    #[test]
    fn it_compresses_as_english_does() {
        for seed in 0..8 {
            let mut writer = Writer::new(seed);
            let short = deflated(&writer.prose(2_000));
            let long = deflated(&writer.prose(200_000));
            assert!((0.42..0.58).contains(&short), "{short}");
            assert!((0.32..0.44).contains(&long), "{long}");
        }
    }
}
