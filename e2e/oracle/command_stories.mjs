// Random stories on disk, queried with the real command.

import { Folder, forkedClaims, noBookClaim, shownClaim, withoutTimed } from './command.mjs';
import { damage, DAMAGES, OF_RECORDS } from './damage.mjs';
import { describe, judge, situationsOf } from './judge.mjs';
import { bookKey } from './ledger.mjs';
import { claim } from './product.mjs';
import { Random } from './random.mjs';
import { Story } from './story.mjs';
import { metadataText } from './values.mjs';

const FIELD = 'forklore';
const CHAT = 'Ada/Main';
/** The command can read a header after a byte order mark, but SillyTavern cannot: it is undefined whose numbers count. */
const ON_DISK = DAMAGES.filter((kind) => kind !== 'byte order mark');

/**
 * Runs the story of a seed, writes its files and queries the command.
 * @param {import('./product.mjs').Product} product @param {import('./tally.mjs').Tally} tally
 */
export async function tellAndRun(seed, product, tally) {
    const random = new Random(seed);
    const story = new Story(random, { recorderFor: (page) => product.recorderFor(page), extension: !random.chance(0.1), isRealTime: true });
    const { world } = story;
    const folder = new Folder();
    try {
        const hasHistory = random.chance(0.3);
        story.begin();
        await story.breathe();
        for (let parts = hasHistory ? 3 : 1; parts > 0; parts--) {
            await story.go(3 + random.below(hasHistory ? 6 : 18));
            if (hasHistory) {
                folder.write(world.server);
                await folder.run('record');
                world.say('the history records the files');
                world.storyTags.add('history recorded now and then');
            }
        }
        await close(story, random);
        if (story.hasGaps && random.chance(0.6) && damage(world, random, random.pick(ON_DISK))) {
            story.isDamaged = true;
        }
        folder.write(world.server);
        await askCommand({ seed, story, random, folder, tally });
    } finally {
        folder.remove();
    }
    tally.stories++;
}

/** Pages are closed, with or without a last save, or still have requests in progress. */
async function close(story, random) {
    if (!story.hasGaps || random.chance(0.6)) {
        await story.settle();
        story.world.pages.forEach((page) => page.saveAll());
        await story.settle();
    }
    [...story.world.pages].forEach((page) => page.close());
}

async function askCommand(asking) {
    const { random, folder, story } = asking;
    const { world } = story;
    const count = world.server.tokens().length;
    if (count === 0) {
        return;
    }
    const some = [...new Set([count - 1, random.below(count), random.below(count)])];
    for (const m of some) {
        await show(asking, m);
    }
    const before = folder.bytes();
    const m = random.chance(0.3) ? count - 1 : random.below(count);
    const work = random.weighted({ branch: 4, checkpoint: 2, restore: story.hasGaps ? 1 : 2 });
    const isDone = work === 'restore' ? await restore(asking, m) : await fork(asking, work, m);
    if (isDone) {
        const undone = await folder.run('undo');
        const after = folder.bytes();
        const differing = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
        if (undone.code !== 0 || differing.length) {
            asking.tally.false.push(`UNDO: seed ${asking.seed}: after ${work} --at ${m} and undo (${undone.code}) these differ: ${differing.join(', ')}\n${undone.text}`);
        }
        asking.tally.undone = (asking.tally.undone ?? 0) + 1;
    }
}

async function show(asking, m) {
    const run = await asking.folder.run('show', CHAT, '--at', String(m));
    if (!run.isDone) {
        refused(asking, 'show', m, run);
    }
    const book = run.isDone ? shownClaim(run) : noBookClaim(run, m);
    if (book) {
        settle(asking, m, { book, metadata: { kind: 'none', k: null, source: null, content: '' } }, { isBookOnly: true });
    }
}

async function fork(asking, work, m) {
    const { folder, random, tally, seed } = asking;
    const allow = random.pick(['live', 'live', 'exact']);
    const run = await folder.run(work, CHAT, '--at', String(m), '--allow', allow, ...(work === 'checkpoint' ? ['--closed'] : []));
    if (!run.isDone) {
        refused(asking, work, m, run);
        return false;
    }
    const claims = forkedClaims(folder, run);
    if (allow === 'exact' && claims.book.kind !== 'none' && claims.book.kind !== 'exact') {
        tally.false.push(`ALLOWED: seed ${seed}: ${work} --at ${m} --allow exact gave a book that is ${claims.book.kind}`);
    }
    settle(asking, m, claims, { metadataView: withoutTimed });
    return true;
}

async function restore(asking, m) {
    const { folder } = asking;
    const name = asking.story.world.server.readHeader().metadata.world_info;
    const run = await folder.run('restore', CHAT, '--at', String(m), '--closed');
    if (!run.isDone) {
        refused(asking, 'restore', m, run);
        return false;
    }
    const known = run.answer.timelines[0]?.known;
    const bound = folder.readHeader('Main').world_info;
    if (known && name && bound === name) {
        const book = folder.readBook(name);
        // It restores the content of that time into today's book, whatever the book was called then.
        const anyName = (text) => text.slice(text.indexOf('\n'));
        settle(asking, m, {
            book: claim(known, anyName(bookKey(name, JSON.stringify(book)))),
            metadata: { kind: 'none', k: null, source: null, content: '' },
        }, { isBookOnly: true, bookView: anyName });
    }
    return true;
}

function refused({ tally }, work, m, run) {
    const message = run.answer?.error ? `${run.answer.error.message}: ${run.answer.error.causes?.[0] ?? ''}` : run.text.slice(0, 300);
    tally.refusals ??= new Map();
    const words = `${work}: ${message.replace(/"[^"]*"/g, '"…"').replace(/\d+/g, 'N')}`;
    tally.refusals.set(words, (tally.refusals.get(words) ?? 0) + 1);
    if (!run.answer) {
        tally.false.push(`NO ANSWER: ${work} --at ${m}: ${run.text}`);
    }
}

function settle({ seed, story, tally }, m, answer, rest) {
    const { world } = story;
    const { server, ledger } = world;
    const { metadata, messages } = server.readChat();
    // Unreadable lines were messages, too: an unreadable line means that the message before it was not the last.
    const all = server.chat.lines.map(({ token }) => token).filter((token) => token !== null);
    const place = (k) => all.indexOf(messages[k]?.token);
    const bookName = metadata.world_info || null;
    const isTouched = OF_RECORDS.some((kind) => world.storyTags.has(`damage: ${kind}`));
    const question = {
        ledger, recaps: world.recaps, tokens: all, m: place(m), asked: m, place, isFiles: true, ...rest,
        lastHasRecord: !isTouched && !world.copies.has(messages.at(-1).token) && messages.at(-1).value[FIELD] !== undefined,
        live: { bookName, bookText: bookName ? server.books.get(bookName) : undefined, metadata: metadataText(metadata) },
    };
    const situations = situationsOf(question, world);
    tally.add(situations, answer);
    const crossing = ledger.crossing(question.tokens, question.m);
    const then = crossing ? crossing.held : question.live;
    if (!story.hasGaps && !story.isDamaged && story.extension && then) {
        // A fork without a book, where none was bound, is correct.
        const hasRightlyNone = answer.book.kind === 'none' && !then.bookName;
        const counted = { book: hasRightlyNone ? { kind: 'exact' } : answer.book, metadata: rest.isBookOnly ? { kind: 'exact' } : answer.metadata };
        tally.addPlain(counted, `seed ${seed} message ${m} of ${messages.length} (${[...situations].join(', ')})`);
    }
    judge(question, answer).forEach((found) => tally.false.push(describe({ seed, world, question, found })));
}
