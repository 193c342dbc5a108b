/** What is in the trash, and what can be done with it. */
import { shortNames } from '../names.js';
import { attempting } from '../widgets/attempt.js';
import { button, heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, fill, freshId } from '../widgets/dom.js';
import { say, sayNames, saySize } from '../words.js';
/** @import { Actions, AppEvents, NameToSave, Parts, SayDate, TavernScreen, TrashedItem, Why } from '../types.js' */
/** @typedef {{putBack: (token: string) => Promise<unknown>, saved: (names: string[]) => void, failed: (error: unknown) => void}} TrashActions */

const NAMES_SHOWN = 3;

/** @type {Partial<Record<Why['code'], string>>} */
const ICONS = {
    timeline: 'fa-comments',
    split: 'fa-link-slash',
    repair: 'fa-screwdriver-wrench',
    rename: 'fa-pencil',
    unreadable: 'fa-circle-question',
};

/** Each item in words. @param {TrashedItem[]} items @param {SayDate} sayDate */
export function trashView(items, sayDate) {
    const short = shortNames(items.flatMap(({ of, why }) => [of?.name ?? [], why.code === 'rename' ? String(why.from) : []].flat()));
    return {
        rows: items.map((item) => {
            const title = titleOf(item);
            const when = Date.parse(item.when);
            return {
                token: item.token,
                icon: ICONS[item.why.code] ?? 'fa-book',
                title,
                books: item.chat !== null && item.books.length ? say('trash.with', { books: sayNames(item.books, NAMES_SHOWN), count: item.books.length }) : '',
                why: [sayWhy(item.why, short), item.of && item.of.name !== title ? say('trash.from', { chat: short(item.of.name) }) : ''].filter(Boolean).join(' · '),
                about: [Number.isNaN(when) ? '' : sayDate(when), saySize(item.bytes)].filter(Boolean).join(' · '),
                canPutBack: item.why.code !== 'unreadable',
                canSave: item.books.length > 0 || item.chat !== null,
            };
        }),
        size: saySize(items.reduce((sum, { bytes }) => sum + bytes, 0)),
    };
}

/** @typedef {ReturnType<typeof trashView>['rows'][number]} Row */

/** @param {TrashedItem} item */
function titleOf({ books, chat, of, token }) {
    const [first] = books;
    return chat ?? (books.length > 1 ? sayNames(books, NAMES_SHOWN) : first ?? of?.name ?? token.slice(token.lastIndexOf('/') + 1));
}

/** @param {Why} why @param {(name: string) => string} short */
function sayWhy(why, short) {
    switch (why.code) {
        case 'text': return String(why.text);
        case 'repair': return say(why.source === 'detach' ? 'trash.why.detach' : 'trash.why.repair');
        case 'rename': return say('trash.why.rename', { from: short(String(why.from)) });
        case 'merge': return say('trash.why.merge', { from: short(String(why.from)) });
        default: return say(`trash.why.${why.code}`, why);
    }
}

/** @param {Parts} parts @param {TrashActions} actions */
export function showTrash({ app, screen }, { putBack, saved, failed }) {
    const attempt = attempting({ failed });
    const list = element('div', { class: 'forklore_trash' }, paragraph(icon('fa-spinner', 'fa-spin'), ' ', say('trash.reading')));
    const status = element('div', { class: 'forklore_buttons', role: 'status' });
    const foot = element('div', { class: 'forklore_trash' });

    const refresh = async () => {
        const { rows, size } = trashView(await app.trashList(), screen.sayDate);
        const { trashDays: days, trashLimit: limit } = app.settings;
        fill(list, rows.length ? element('ul', { class: 'forklore_list' }, rows.map(rowElement)) : paragraph(say('trash.empty')));
        fill(foot,
            paragraph(say('list.sentences', { first: say('trash.total', { size }), then: days ? say('trash.limits', { days, limit }) : say('trash.limits.none') })),
            rows.length > 1 ? element('div', { class: 'forklore_buttons' },
                button(say('trash.clear'), { icon: 'fa-trash-can', run: () => drop(rows, say('trash.clear.ask', { count: rows.length })) })) : null);
    };
    /** The button that was pressed is gone then. */
    const refreshAndFocus = async () => {
        await refresh();
        list.querySelector('button')?.focus();
    };
    const drop = attempt(async (/** @type {Row[]} */ rows, /** @type {string} */ question) => {
        if (await askDrop(screen, question)) {
            for (const { token } of rows) {
                await app.dropFromTrash(token);
            }
            await refreshAndFocus();
        }
    });
    const save = attempt(async (/** @type {Row} */ { token }) => {
        const typed = await askNames(screen, await app.namesToSave(token));
        if (typed) {
            saved(await app.saveFromTrash(token, typed));
        }
    });
    const back = attempt(async (/** @type {Row} */ { token }) => {
        await putBack(token);
        await refreshAndFocus();
    });
    const rowElement = (/** @type {Row} */ row) => element('li', { class: 'forklore_item forklore_trashed' },
        icon(row.icon),
        element('div', { class: 'forklore_item_text' },
            element('div', {}, nameOf(row.title)),
            [row.books, row.why, row.about].filter(Boolean).map((text) => element('div', {}, element('small', {}, text))),
            element('div', { class: 'forklore_buttons' },
                row.canPutBack ? button(say('trash.back'), { icon: 'fa-rotate-left', label: say('trash.back.label', { name: row.title }), run: () => back(row) }) : null,
                row.canSave ? button(say('trash.save'), { icon: 'fa-file-export', label: say('trash.save.label', { name: row.title }), run: () => save(row) }) : null,
                button(say('trash.drop'), { icon: 'fa-trash-can', label: say('trash.drop.label', { name: row.title }), run: () => drop([row], say('trash.drop.ask', { name: row.title })) }))));

    /** SillyTavern reads all chats for this, which takes long if there are many. @param {{isAsked: boolean}} how */
    const look = async (how) => {
        fill(status, element('small', {}, say('trash.looking')));
        const found = await app.findInTrash(how).catch(() => null);
        fill(status, found === null
            ? button(say('trash.look'), { icon: 'fa-magnifying-glass', title: say('trash.look.hint'), run: () => look({ isAsked: true }) })
            : found ? element('small', {}, say('trash.found', { count: found })) : null);
        if (found) {
            await refresh();
        }
    };
    void attempt(async () => {
        await refresh();
        await look({ isAsked: false });
    })();
    return screen.popup(element('div', { class: 'forklore_dialog' }, heading(say('trash.title')), list, status, foot, element('small', {}, say('trash.clean-up'))),
        { wide: true, okText: say('button.close') });
}

/** What SillyTavern's Clean-Up does not list. @param {AppEvents['unlisted']} files @param {Pick<Actions, 'showTrash'>} actions */
export function cleanUpNote({ count, bytes }, { showTrash }) {
    return element('span', {}, say('trash.unlisted', { count, size: saySize(bytes) }), ' ', button(say('do.trash'), { run: () => void showTrash() }));
}

/** @param {TavernScreen} screen @param {string} question */
function askDrop(screen, question) {
    return screen.confirm(element('div', { class: 'forklore_dialog' },
        heading(question),
        paragraph(say('trash.drop.means'))), { okText: say('trash.drop'), cancelText: say('button.cancel') });
}

/** @param {TavernScreen} screen @param {NameToSave[]} names @returns {Promise<string[] | null>} */
async function askNames(screen, names) {
    const fields = names.map(({ isChat, name, free }) => {
        const id = freshId('name');
        const input = element('input', { id, type: 'text', class: 'text_pole', value: free });
        const label = element('label', { for: id, class: 'forklore_label' }, say(isChat ? 'trash.save.chat' : 'trash.save.book', { name }));
        return { input, line: element('div', {}, label, input) };
    });
    const answer = await screen.popup(element('div', { class: 'forklore_dialog' },
        heading(say('trash.save.title')),
        fields.map(({ line }) => line),
        element('small', {}, say('trash.save.hint'))), { okText: say('trash.save.ok'), cancelText: say('button.cancel') });
    return answer === 'ok' ? fields.map(({ input }) => input.value) : null;
}
