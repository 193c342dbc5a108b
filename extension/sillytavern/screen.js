/**
 * SillyTavern's screen: notices, popups, mount points, slash commands, translations.
 *
 * It knows SillyTavern and nothing of Forklore. Whatever is shown comes in as text or as an element; text never becomes
 * markup.
 */
import { eventSource, event_types } from '/script.js';
import * as groupChats from '/scripts/group-chats.js';
import { getCurrentLocale } from '/scripts/i18n.js';
import { press } from './press.js';
/** @import { Argument, ChatToOpen, Command, ForkKind, GuardedCommand, ListedChat, MenuItem, MessageMark, NamedValues, PopupOptions, ToastContent, ToastKind, ToastOptions } from '../types.js' */

const stContext = () => globalThis.SillyTavern.getContext();

// ---------------------------------------------------------------------------------------------- translations

/** The translation that SillyTavern has loaded under this key, or the text itself. @param {string} text @param {string} key */
export function translate(text, key) {
    return stContext().translate(text, key);
}

/** SillyTavern's language. */
export const locale = () => getCurrentLocale();

/** A date and time in the format of SillyTavern's language. @param {number} milliseconds */
export function sayDate(milliseconds) {
    return new Intl.DateTimeFormat(getCurrentLocale(), { dateStyle: 'medium', timeStyle: 'short' }).format(milliseconds);
}

// --------------------------------------------------------------------------------------------------- notices

const BUTTON_SECONDS = 20;
const LONG_TEXT_SECONDS = 8;
const LONG_TEXT = 120;

/** Closes each notice that a dialog of ours must not stand below. @type {Set<() => void>} */
const notices = new Set();

/**
 * A notice at the top of the page.
 * @param {ToastKind} kind @param {ToastContent} content text, or lines of text and elements @param {ToastOptions} [options]
 */
export function toast(kind, content, options = {}) {
    const dialog = options.isState && [...document.querySelectorAll('dialog.popup[open]')].findLast((open) => !open.querySelector('#loader'));
    if (!dialog) {
        return showToast(kind, content, options);
    }
    let isWanted = true;
    /** @type {{close: () => void} | null} */
    let shown = null;
    dialog.addEventListener('close', () => { shown = isWanted ? toast(kind, content, options) : null; }, { once: true });
    return {
        close: () => {
            isWanted = false;
            shown?.close();
        },
    };
}

/** @param {ToastKind} kind @param {ToastContent} content @param {ToastOptions} options */
function showToast(kind, content, { title = '', buttons = [], sticky = false, seconds: wanted, closeLabel = '' }) {
    const lines = [content].flat().map((line) => line instanceof Node ? line : element('div', line));
    const body = element('div', ...lines);
    body.className = 'forklore_toast';
    const isKept = sticky || buttons.length > 0;
    const seconds = wanted ?? (buttons.length ? BUTTON_SECONDS : body.textContent.length > LONG_TEXT ? LONG_TEXT_SECONDS : null);

    // toastr only escapes strings, and fails on anything else, so its escaping is turned off and it only gets nodes.
    const shown = toastr[kind](body, title ? document.createTextNode(title) : undefined, {
        escapeHtml: false,
        // A notice with buttons is not dismissed by a click beside them, but with its close button.
        tapToDismiss: !isKept,
        closeButton: isKept,
        ...(sticky ? { timeOut: 0, extendedTimeOut: 0 } : seconds ? { timeOut: seconds * 1000 } : {}),
    });
    const close = () => {
        notices.delete(close);
        toastr.clear(shown, { force: true });
    };
    if (!sticky && kind !== 'error') {
        notices.add(close);
    }
    shown?.find('.toast-close-button').attr('aria-label', closeLabel || null);
    if (buttons.length) {
        body.append(toastButtons(buttons, close));
    }
    return { close };
}

function toastButtons(/** @type {NonNullable<ToastOptions['buttons']>} */ buttons, /** @type {() => void} */ close) {
    const row = element('div', ...buttons.map(({ text, run }) => {
        const button = element('button', text);
        button.type = 'button';
        button.className = 'menu_button';
        button.addEventListener('click', (event) => {
            event.stopPropagation();
            close();
            run();
        });
        leaveEnterToTheBrowser(button);
        return button;
    }));
    row.className = 'forklore_toast_buttons';
    return row;
}

/** Shows a note above what SillyTavern's Clean-Up lists, or none. @param {Node | null} note */
export function noteInCleanUp(note) {
    document.querySelectorAll('.dataMaidDialog').forEach((dialog) => {
        dialog.querySelector('.forklore_clean_up')?.remove();
        if (note) {
            const line = element('small', note);
            line.className = 'forklore_clean_up';
            dialog.querySelector('.dataMaidPlaceholder')?.before(line);
        }
    });
}

/**
 * Shows a notice while something is in progress, if it takes long enough to be noticed.
 * @template T
 * @param {Promise<T>} promise
 * @param {string} text
 * @returns {Promise<T>}
 */
export async function during(promise, text) {
    /** @type {{close: () => void} | undefined} */
    let notice;
    const timer = setTimeout(() => {
        notice = toast('info', text, { sticky: true });
    }, 500);
    try {
        return await promise;
    } finally {
        clearTimeout(timer);
        notice?.close();
    }
}

// ---------------------------------------------------------------------------------------------------- popups

const CUSTOM_RESULT = 1001;

/**
 * A popup around an element.
 * @template [Value=never]
 * @param {HTMLElement | ((close: (value: Value | null) => void) => HTMLElement)} content an element, or a function that makes
 *        it and is given a function to close the popup with a value
 * @param {PopupOptions<Value>} [options]
 * @returns {Promise<Value | 'ok' | null>} `'ok'`, a button's value, the value it was closed with, or null if it was dismissed
 */
export async function popup(content, { wide = false, large = false, okText = null, cancelText = null, buttons = [], focus = 'ok', mayClose, look } = {}) {
    const { Popup, POPUP_TYPE, POPUP_RESULT } = stContext();
    /** @type {{value: Value | null} | undefined} */
    let closedWith;
    let shown = /** @type {ST.Popup | null} */ (null);
    const close = (/** @type {Value | null} */ value) => {
        closedWith = { value };
        shown?.completeCancelled();
    };
    const inside = typeof content === 'function' ? content(close) : content;
    const valueOf = (/** @type {ST.Popup['result'] | string | boolean} */ result) => closedWith ? closedWith.value
        : typeof result === 'number' && result >= CUSTOM_RESULT ? buttons[result - CUSTOM_RESULT]?.value ?? null
            : result === POPUP_RESULT.AFFIRMATIVE ? 'ok' : null;

    shown = new Popup(inside, POPUP_TYPE.TEXT, '', {
        wide,
        large,
        okButton: okText ?? false,
        cancelButton: cancelText ?? false,
        allowVerticalScrolling: true,
        leftAlign: true,
        defaultResult: focus === 'ok' && okText ? POPUP_RESULT.AFFIRMATIVE : POPUP_RESULT.NEGATIVE,
        customButtons: buttons.map(({ text, icon, title }, index) => ({ text, icon, tooltip: title, result: CUSTOM_RESULT + index })),
        onClosing: ({ result }) => {
            const value = valueOf(result);
            return value === null || (mayClose?.(value) ?? true);
        },
    });
    shown.dlg.classList.add('forklore_popup');
    nameByHeading(shown.dlg, inside);
    if (look) {
        shown.dlg.classList.add(look);
    }
    const controls = shown.dlg.querySelectorAll('.popup-button-custom');
    buttons.forEach(({ disabled }, index) => disabled && disable(controls[index]));
    notices.forEach((close) => close());
    return valueOf(await shown.show());
}

/** Asks for confirmation. Enter means no unless `focus` is 'ok'. @param {HTMLElement} content @param {PopupOptions<never>} options */
export async function confirm(content, { okText, cancelText, focus = 'cancel' }) {
    return await popup(content, { okText, cancelText, focus }) === 'ok';
}

/**
 * Asks for a line of text.
 * @param {HTMLElement} content @param {{value?: string, okText: string, cancelText: string, placeholder?: string}} options
 * @returns {Promise<string|null>} null if it was dismissed
 */
export async function ask(content, { value = '', okText, cancelText, placeholder = '' }) {
    const { Popup, POPUP_TYPE } = stContext();
    const shown = new Popup(content, POPUP_TYPE.INPUT, value, { okButton: okText, cancelButton: cancelText, placeholder, leftAlign: true });
    shown.dlg.classList.add('forklore_popup');
    nameByHeading(shown.dlg, content);
    notices.forEach((close) => close());
    const answer = await shown.show();
    return typeof answer === 'string' ? answer : null;
}

function nameByHeading(/** @type {HTMLElement} */ dialog, /** @type {HTMLElement} */ content) {
    const title = content.querySelector('h3');
    if (title) {
        dialog.setAttribute('aria-label', title.textContent);
    }
}

function disable(/** @type {Element | undefined} */ control) {
    control?.classList.add('disabled');
    control?.setAttribute('aria-disabled', 'true');
}

// ---------------------------------------------------------------------------------------------- mount points

/** Adds our settings to those of the other extensions. @param {HTMLElement} panel */
export function mountPanel(panel) {
    const place = document.getElementById('extensions_settings2') ?? document.getElementById('extensions_settings');
    place?.append(panel);
}

/** Adds a line to SillyTavern's lorebook editor, below the name of the book. @param {HTMLElement} line */
export function mountInEditor(line) {
    document.getElementById('world_editor_select')?.parentElement?.after(line);
}

/** Adds an item to the wand menu. @param {MenuItem} item */
export function addWandItem({ id, icon, text, run }) {
    const sign = element('div');
    sign.className = `fa-fw fa-solid ${icon} extensionsMenuExtensionButton`;
    sign.setAttribute('aria-hidden', 'true');
    const item = element('div', sign, element('span', text));
    item.id = id;
    item.className = 'list-group-item flex-container flexGap5 interactable';
    item.tabIndex = 0;
    item.setAttribute('role', 'listitem');
    item.addEventListener('click', () => run());
    const container = element('div', item);
    container.className = 'extension_container';
    document.getElementById('extensionsMenu')?.append(container);
}

/** A dot on items of the wand menu, or none. @param {string[]} ids @param {string} why in words; empty for none */
export function markWandItems(ids, why) {
    for (const id of ids) {
        const item = document.getElementById(id);
        item?.classList.toggle('forklore_alarm', why !== '');
        item?.setAttribute('title', why);
    }
}

/** Adds an item to the chat menu, after those for other chats. @param {MenuItem} item */
export function addOption({ id, icon, text, run }) {
    const sign = element('i');
    sign.className = `fa-lg fa-solid ${icon}`;
    sign.setAttribute('aria-hidden', 'true');
    const item = element('a', sign, element('span', text));
    item.id = id;
    item.className = 'interactable';
    item.tabIndex = 0;
    item.addEventListener('click', () => run());
    document.getElementById('option_convert_to_group')?.after(item);
}

/**
 * Adds a button to the actions of every message, including those already shown.
 * @param {{name: string, icon: string, title: string, run: (message: number) => void}} action
 */
export function addMessageAction({ name, icon, title, run }) {
    const places = document.querySelectorAll('#message_template .extraMesButtons, #chat .mes .extraMesButtons');
    places.forEach((place) => {
        const action = element('div');
        action.className = `mes_button ${name} fa-solid ${icon} interactable`;
        action.title = title;
        action.tabIndex = 0;
        action.setAttribute('role', 'button');
        place.prepend(action);
    });
    document.addEventListener('click', (event) => {
        const message = messageOf(clicked(event, `.${name}`));
        if (message !== null) {
            run(message);
        }
    });
}

/**
 * Adds marks to some messages: buttons in their headers, to the left of SillyTavern's own, so that nothing moves. They are
 * drawn again whenever SillyTavern draws or renumbers messages.
 * @param {{name: string, icon: string, marks: () => Map<number, MessageMark>, run: (message: number) => void}} how `marks`: by message
 * @returns {() => void} draws them after they have changed
 */
export function addMessageMarks({ name, icon, marks, run }) {
    const draw = () => {
        const wanted = marks();
        document.querySelectorAll('#chat .mes').forEach((message) => {
            const mark = wanted.get(messageOf(message) ?? -1);
            const shown = message.querySelector(`.${name}`);
            if (shown?.getAttribute('aria-label') === mark?.title) {
                return;
            }
            shown?.remove();
            if (mark) {
                message.querySelector('.mes_buttons')?.prepend(markElement({ name, icon, ...mark }));
            }
        });
    };
    // SillyTavern adds the messages of a chat one by one.
    let isDue = false;
    const drawSoon = () => {
        if (!isDue) {
            isDue = true;
            requestAnimationFrame(() => {
                isDue = false;
                draw();
            });
        }
    };
    const chat = document.getElementById('chat');
    if (chat) {
        new MutationObserver(drawSoon).observe(chat, { childList: true });
        new MutationObserver(drawSoon).observe(chat, { subtree: true, attributeFilter: ['mesid'] });
    }
    document.addEventListener('click', (event) => {
        const message = messageOf(clicked(event, `.${name}`));
        if (message !== null) {
            run(message);
        }
    });
    return draw;
}

function markElement(/** @type {MessageMark & {name: string, icon: string}} */ { name, icon, text, title }) {
    const sign = element('i');
    sign.className = `fa-solid ${icon}`;
    sign.setAttribute('aria-hidden', 'true');
    const mark = element('div', sign, ...(text ? [element('span', text)] : []));
    mark.className = `mes_button forklore_mark_button ${name} interactable`;
    mark.title = title;
    mark.tabIndex = 0;
    mark.setAttribute('role', 'button');
    mark.setAttribute('aria-label', title);
    return mark;
}

/** Scrolls to a message of the open chat, like SillyTavern's own command, which also draws it if it is not drawn yet. @param {number} message */
export async function showMessage(message) {
    await stContext().SlashCommandParser.commands['chat-jump']?.callback?.({}, String(message));
}

/**
 * The element of this kind that was clicked, or that has what was clicked. The document itself has no `closest`.
 * @param {Event} event @param {string} selector
 */
function clicked(event, selector) {
    return /** @type {Element | null} */ (event.target)?.closest?.(selector) ?? null;
}

/**
 * SillyTavern's own controls that start a fork. Shift+click on the flag creates a new checkpoint.
 * @type {Array<{selector: string, kind: ForkKind, needsShift?: boolean, isLast?: boolean}>}
 */
const FORK_CONTROLS = [
    { selector: '.mes_create_bookmark', kind: 'checkpoint' },
    { selector: '.mes_bookmark', kind: 'checkpoint', needsShift: true },
    { selector: '.mes_create_branch', kind: 'branch' },
    { selector: '#option_new_bookmark', kind: 'checkpoint', isLast: true },
];

/**
 * Handles clicks on SillyTavern's checkpoint and branch buttons before SillyTavern does.
 * @param {(action: {kind: ForkKind, message: number, again: () => Promise<void> | null, showWork: (isWorking: boolean) => void}) => boolean} listener
 *        returns `true` to keep the click from SillyTavern; `again()` passes it on later, and waits until SillyTavern is done, or returns `null` if the control is gone; `showWork` is seen on the control
 */
export function onAction(listener) {
    let isRepeated = false;
    window.addEventListener('click', (event) => {
        if (isRepeated) {
            return;
        }
        const control = FORK_CONTROLS.find(({ selector, needsShift }) =>
            clicked(event, selector) && (!needsShift || event.shiftKey));
        const target = control && clicked(event, control.selector);
        const message = !control || !target ? null : control.isLast ? stContext().chat.length - 1 : messageOf(target);
        if (!control || !target || message === null || message < 0) {
            return;
        }
        const again = () => {
            if (!target.isConnected) {
                return null;
            }
            isRepeated = true;
            try {
                return press(target, control.selector, event.shiftKey);
            } finally {
                isRepeated = false;
            }
        };
        const showWork = (/** @type {boolean} */ isWorking) => void target.classList.toggle('fa-fade', isWorking);
        if (listener({ kind: control.kind, message, again, showWork }) === true) {
            event.stopImmediatePropagation();
            event.preventDefault();
        }
    }, { capture: true });
}

function messageOf(/** @type {Element | null} */ control) {
    const number = Number.parseInt(control?.closest('#chat .mes')?.getAttribute('mesid') ?? '', 10);
    return Number.isInteger(number) ? number : null;
}

/**
 * Whenever SillyTavern has drawn its list of a character's or group's chats.
 * @param {(chats: ListedChat[]) => void} listener
 */
export function onChatList(listener) {
    const list = document.getElementById('select_chat_div');
    if (!list) {
        return;
    }
    new MutationObserver(() => {
        const drawn = [...list.querySelectorAll('.select_chat_block_wrapper:not([data-forklore])')];
        drawn.forEach((block) => block.setAttribute('data-forklore', ''));
        if (drawn.length) {
            listener(drawn.map((block) => ({
                name: block.querySelector('.select_chat_block')?.getAttribute('file_name') ?? '',
                mark: (sign) => block.querySelector('.select_chat_block_filename')?.before(sign),
                moveUp: () => list.prepend(block),
            })));
        }
    }).observe(list, { childList: true });
}

/**
 * Opens a chat of any character or group.
 * @param {ChatToOpen} where
 * @returns {Promise<boolean>} whether it was found
 */
export async function openChat({ owner, chat }) {
    const { characters, groups, groupId, openGroupChat, selectCharacterById, openCharacterChat } = stContext();
    const group = groups.find(({ id }) => id === owner) ?? groups.find(({ name, chats }) => name === owner && chats?.includes(chat));
    if (group) {
        if (group.id !== groupId) {
            await groupChats.openGroupById?.(group.id);
        }
        await openGroupChat(group.id, chat);
        return true;
    }
    const byAvatar = characters.findIndex(({ avatar }) => avatar === owner || avatar === `${owner}.png`);
    const index = byAvatar >= 0 ? byAvatar : characters.findIndex(({ name }) => name === owner);
    if (index < 0) {
        return false;
    }
    await selectCharacterById(index);
    await openCharacterChat(chat);
    return true;
}

// -------------------------------------------------------------------------------------------- slash commands

export function addCommands(/** @type {Command[]} */ commands) {
    const { SlashCommandParser, SlashCommand, SlashCommandArgument, SlashCommandNamedArgument } = stContext();
    for (const { name, help, exampleTitle, examples, returns, named, unnamed, run } of commands) {
        SlashCommandParser.addCommandObject(SlashCommand.fromProps({
            name,
            returns,
            helpString: helpMarkup(help, exampleTitle, examples),
            namedArgumentList: named.map((argument) => SlashCommandNamedArgument.fromProps(argumentProps(argument))),
            unnamedArgumentList: unnamed.map((argument) => SlashCommandArgument.fromProps(argumentProps(argument))),
            callback: async (given, text) => String(await run(/** @type {NamedValues} */ (given), typeof text === 'string' ? text : '') ?? ''),
        }));
    }
}

/** Makes some of SillyTavern's own commands ask first whether they may run; otherwise they return an empty string. @param {GuardedCommand[]} commands */
export function guardCommands(commands) {
    const { SlashCommandParser } = stContext();
    const isThere = (/** @type {GuardedCommand} */ { name }) => Boolean(SlashCommandParser.commands[name]);
    const guard = (/** @type {GuardedCommand} */ { name, mayRun }) => {
        const command = SlashCommandParser.commands[name];
        const run = command?.callback;
        if (run) {
            command.callback = function (named, unnamed) {
                return mayRun(named, unnamed) ? run.call(this, named, unnamed) : '';
            };
        }
    };
    commands.filter(isThere).forEach(guard);
    // It adds some of them only after it has waited for every extension, and ours may be ready before another one.
    const later = commands.filter((command) => !isThere(command));
    eventSource.once(event_types.APP_READY, () => later.forEach(guard));
}

function argumentProps(/** @type {Argument} */ { name = '', description, type, values, byDefault, isRequired = false }) {
    const { ARGUMENT_TYPE } = stContext();
    const types = { string: ARGUMENT_TYPE.STRING, number: ARGUMENT_TYPE.NUMBER, bool: ARGUMENT_TYPE.BOOLEAN, message: ARGUMENT_TYPE.NUMBER };
    return {
        name,
        description,
        typeList: [types[type]],
        isRequired,
        defaultValue: byDefault,
        enumList: values ?? [],
        forceEnum: Boolean(values),
        enumProvider: type === 'message' ? messagesToChoose : null,
    };
}

function messagesToChoose() {
    const { chat, SlashCommandEnumValue } = stContext();
    return chat.map(({ name, mes }, index) => new SlashCommandEnumValue(String(index), escaped(`${name}: ${mes}`), 'number', '💬'));
}

// SillyTavern treats the help of commands and the descriptions of enum values as markup, so here, and only here, text
// is escaped.

function helpMarkup(/** @type {string} */ help, /** @type {string} */ exampleTitle, /** @type {Command['examples']} */ examples) {
    const items = examples.map(({ code, text }) =>
        `<li><pre><code class="language-stscript">${escaped(code)}</code></pre>${escaped(text)}</li>`);
    return `<div>${escaped(help)}</div><div><strong>${escaped(exampleTitle)}</strong><ul>${items.join('')}</ul></div>`;
}

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\'': '&#39;' };

function escaped(/** @type {string} */ text) {
    return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

// --------------------------------------------------------------------------------------------------- helpers

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {...(Node | string)} children
 */
function element(tag, ...children) {
    const result = document.createElement(tag);
    result.append(...children);
    return result;
}

function leaveEnterToTheBrowser(/** @type {HTMLButtonElement} */ button) {
    // SillyTavern's key handler clicks everything that looks like one of its buttons; a real button would be clicked
    // twice.
    button.addEventListener('keydown', (event) => event.key === 'Enter' && event.stopPropagation());
}
