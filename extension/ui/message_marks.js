/** Marks at the messages of the chat: where timelines fork off, and where the lore changed. */
import { sayMessage } from './messages.js';
import { shortNames } from './names.js';
import { attempting } from './widgets/attempt.js';
import { button, heading } from './widgets/controls.js';
import { element } from './widgets/dom.js';
import { say } from './words.js';
/** @import { Parts, Toasts } from './types.js' */

/** @param {Parts & {toasts: Toasts, showLore: (message: number) => unknown}} parts */
export function mountMarks({ app, screen, toasts, showLore }) {
    const attempt = attempting(toasts);

    const showForks = attempt(async (/** @type {number} */ message) => {
        const names = await app.forksAt(message);
        const open = app.open();
        if (!names.length || !open) {
            return;
        }
        const short = shortNames([open.name, ...names]);
        const chosen = await screen.popup((/** @type {(name: string) => void} */ close) => element('div', { class: 'forklore_dialog' },
            heading(say('mark.list', { message: sayMessage(message, app.messageAt(message)) })),
            element('div', { class: 'forklore_forks' }, names.map((name) => button(short(name), {
                icon: 'fa-arrow-up-right-from-square', title: name, label: say('verify.open', { chat: name }), run: () => close(name),
            })))), { okText: say('button.close') });
        if (chosen && chosen !== 'ok') {
            await app.timelines.open(chosen);
        }
    });

    const redraw = [
        screen.addMessageMarks({
            name: 'forklore_mark_forks',
            icon: 'fa-code-branch',
            marks: () => new Map([...app.marks.forks].map(([message, { length: count }]) => [message, { text: String(count), title: say('mark.forks', { count }) }])),
            run: showForks,
        }),
        screen.addMessageMarks({
            name: 'forklore_mark_lore',
            icon: 'fa-book-atlas',
            marks: () => new Map([...app.marks.lore].map((message) => [message, { text: '', title: say('mark.lore') }])),
            run: showLore,
        }),
    ];
    app.on('marks', () => redraw.forEach((draw) => draw()));
}
