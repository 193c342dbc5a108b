// Random stories through the page's journal: runs one, queries it, and judges every answer.

import { damage, DAMAGES, LOSSES, OF_RECORDS } from './damage.mjs';
import { describe, judge, situationsOf } from './judge.mjs';
import { Random } from './random.mjs';
import { Story } from './story.mjs';
import { metadataText } from './values.mjs';

const FIELD = 'forklore';

/**
 * Runs the story of a seed, and queries it.
 * @param {import('./product.mjs').Product} product @param {import('./tally.mjs').Tally} tally
 */
export async function tellAndAsk(seed, product, tally) {
    const random = new Random(seed);
    const story = new Story(random, { recorderFor: (page) => product.recorderFor(page) });
    const { world } = story;
    const errorsBefore = product.errors.length;
    const asking = { seed, story, random, product, tally };
    await story.run(4 + random.below(22));
    if (story.hasGaps && random.chance(0.4)) {
        world.pages.forEach((page) => askPage(asking, page));
    }
    await story.settle();
    world.pages.forEach((page) => askPage(asking, page));
    if (random.chance(0.5)) {
        // The query comes from a page that has another chat open.
        for (const page of [...world.pages]) {
            if (story.hasGaps) {
                page.saveChat();
            } else {
                page.saveAll();
                await story.settle();
            }
            page.close();
        }
        if (story.hasGaps && random.chance(0.5)) {
            // Two kinds of damage together could forge what neither can alone.
            const kind = random.pick(DAMAGES);
            story.isDamaged = damage(world, random, kind);
            if (LOSSES.includes(kind) && random.chance(0.3)) {
                damage(world, random, random.pick(LOSSES));
            }
        }
        askFiles(asking);
        if (random.chance(0.6)) {
            await goOn(asking);
        }
    }
    tally.stories++;
    if (product.errors.length > errorsBefore) {
        tally.false.push(`ERROR: seed ${seed}: the product reported ${product.errors.at(-1)?.stack}\n  ${world.words.join('\n  ')}`);
    }
}

/** A page opens the file as it is, and the story continues. */
async function goOn({ story, random, ...asking }) {
    story.openPage();
    await story.breathe();
    for (let more = 1 + random.below(3); more > 0; more--) {
        await story.turn();
        await story.breathe();
    }
    await story.settle();
    story.world.pages.forEach((page) => askPage({ story, random, ...asking }, page));
}

/** Some messages, and always the last one. */
function chosen(random, count) {
    const all = Array.from({ length: count }, (_, m) => m);
    return all.filter((m) => m === count - 1 || count < 7 || random.chance(6 / count));
}

function askPage(asking, page) {
    const { world } = asking.story;
    if (page.chat.length === 0) {
        return;
    }
    page.recorder?.sync();
    const { bookName, bookText } = page.held();
    const tokens = world.toldApart(page.tokens());
    for (const m of chosen(asking.random, tokens.length)) {
        const answer = asking.product.ask({ metadata: page.metadata, messages: page.chat, bookName, bookText, m, isOpen: true });
        settleAnswer(asking, answer, {
            ledger: world.ledger, recaps: world.recaps, tokens, m, asked: m, place: (k) => k, isFiles: false, lastHasRecord: false,
            live: { bookName, bookText, metadata: metadataText(page.metadata) },
        });
    }
}

function askFiles(asking) {
    const { world } = asking.story;
    const { metadata, messages } = world.server.readChat();
    if (messages.length === 0) {
        return;
    }
    const bookName = metadata.world_info || null;
    const bookText = bookName ? world.server.books.get(bookName) : undefined;
    const tokens = world.toldApart(messages.map(({ token }) => token));
    const isTouched = OF_RECORDS.some((kind) => world.storyTags.has(`damage: ${kind}`));
    for (const m of chosen(asking.random, tokens.length)) {
        const answer = asking.product.ask({ metadata, messages: messages.map(({ value }) => value), bookName, bookText, m });
        settleAnswer(asking, answer, {
            ledger: world.ledger, recaps: world.recaps, tokens, m, asked: m, place: (k) => k, isFiles: true,
            lastHasRecord: !isTouched && !world.copies.has(messages.at(-1).token) && messages.at(-1).value[FIELD] !== undefined,
            live: { bookName, bookText, metadata: metadataText(metadata) },
        });
    }
}

function settleAnswer({ seed, story, tally }, answer, question) {
    const { world } = story;
    const situations = situationsOf(question, world);
    tally.add(situations, answer);
    const isBeforeTheJournal = question.ledger.crossing(question.tokens, question.m)?.held === null;
    if (!story.hasGaps && !story.isDamaged && !isBeforeTheJournal) {
        tally.addPlain(answer, `seed ${seed} message ${question.m} of ${question.tokens.length} (${[...situations].join(', ')})`);
    }
    judge(question, answer).forEach((found) => tally.false.push(describe({ seed, world, question, found })));
}
