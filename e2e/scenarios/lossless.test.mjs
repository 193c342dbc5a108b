// Nothing that is written meanwhile is lost, and nothing is half done: edits that wait to be saved, saves and replies
// under way, a tab that closes at any step, a second tab, a core that fails.

import assert from 'node:assert/strict';

import { withSettings } from '../harness/forklore.mjs';
import { assertForked, assertOwnLore, assertSameBook, lookAround, withoutJournal } from '../harness/forks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';
import { bookWrites, holdRequest } from '../harness/wire.mjs';

const scenario = withSettings(stage());

// ---- Edits of other books that wait to be saved ----

/** SillyTavern waits a second before it saves a book, in one timer for all books. Each forks with the edit waiting. */
const forksWhileWaiting = [
    {
        name: 'createBranch',
        fork: (page, edit, message) => page.raw.evaluate(async ({ edit, message }) => {
            const { createBranch } = await import('/scripts/bookmarks.js');
            SillyTavern.getContext().saveWorldInfo(edit.name, edit.book);
            return createBranch(message);
        }, { edit, message }),
    },
    {
        name: '/checkpoint-create',
        fork: (page, edit, message) => page.raw.evaluate(async ({ edit, message }) => {
            const { saveWorldInfo, executeSlashCommandsWithOptions } = SillyTavern.getContext();
            saveWorldInfo(edit.name, edit.book);
            return (await executeSlashCommandsWithOptions(`/checkpoint-create mesId=${message}`)).pipe;
        }, { edit, message }),
    },
    {
        name: 'the checkpoint button',
        fork: async (page, edit, message) => {
            await page.messageAction(message, '.mes_create_bookmark');
            await page.dialog().locator('.popup-input').waitFor();
            await editUnsaved(page, edit);
            await page.answer();
            return until('the flag of the checkpoint', () =>
                page.raw.locator(`.mes[mesid="${message}"]`).getAttribute('bookmark_link'));
        },
    },
];

const ROUNDS = 25;

for (const part of [1, 2, 3, 4]) {
    scenario(`pending edits of other books survive a fork, ${ROUNDS} rounds, ${part} of 4`, {
        group: part === 4,
        gzip: part === 3,
        settings: { whenInexact: 'nearest' },
    }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps(), messages: 40 });
        const others = [1, 2].map((number) => `Other ${number} of ${tale.chat}`);
        others.forEach((name) => story.writeBook(name, loreWithGaps()));
        await page.open(tale);
        const bookText = files.book(tale.book).text;
        const writes = bookWrites(page);
        let [rounds, message] = [0, 39];

        for (let tries = 0; rounds < ROUNDS; tries += 1) {
            assert.ok(tries < 39, `only in ${rounds} rounds the edit was still waiting when the child's book was written`);
            const edit = { name: others[tries % 2], book: edited(loreWithGaps(), `${part}.${tries}`) };
            const way = forksWhileWaiting[tries % forksWhileWaiting.length];
            writes.length = 0;

            const child = await way.fork(page, edit, message);

            await files.bookWhen(edit.name, (book) => book.entries[0].content === edit.book.entries[0].content);
            assert.deepEqual(files.book(edit.name).value, edit.book, `the edit made before ${way.name}`);
            const own = files.chat(tale, child).metadata.world_info;
            assert.notEqual(own, tale.book);
            assertSameBook(files.book(own).value, loreWithGaps());
            await until('the save of the edit on the wire', () => writes.includes(edit.name));
            rounds += writes.indexOf(own) < writes.indexOf(edit.name) ? 1 : 0;
            message -= 1;
            await page.clearToasts();
        }
        assert.equal(files.book(tale.book).text, bookText, "the bytes of the parent's book");
    });
}

function edited(book, text) {
    book.entries[0].content = text;
    return book;
}

/** As SillyTavern's own editor and other extensions do it: saved a second later, unless something comes between. */
function editUnsaved(page, edit) {
    return page.raw.evaluate(({ name, book }) => void SillyTavern.getContext().saveWorldInfo(name, book), edit);
}
