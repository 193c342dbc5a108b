/** A screen that shows nothing and remembers everything, with just enough of a document to build elements. */

class FakeNode {
    constructor(tag, text = '') {
        this.tagName = tag;
        this.text = text;
        this.children = [];
        this.attributes = {};
        this.listeners = {};
        this.dataset = {};
        this.className = '';
    }

    append(...children) {
        this.children.push(...children.map(child => child instanceof FakeNode ? child : new FakeNode('#text', String(child))));
    }

    replaceChildren(...children) {
        this.children = [];
        this.append(...children);
    }

    querySelector() {
        return null;
    }

    querySelectorAll() {
        return [];
    }

    contains() {
        return false;
    }

    hasChildNodes() {
        return this.children.length > 0;
    }

    setAttribute(name, value) {
        this.attributes[name] = value;
    }

    addEventListener(event, listener) {
        (this.listeners[event] ??= []).push(listener);
    }

    dispatch(event, value = {}) {
        this.listeners[event]?.forEach(listener => listener({ target: this, ...value }));
    }

    get textContent() {
        return this.text + this.children.map(child => child.textContent).join('');
    }

    set textContent(text) {
        this.replaceChildren(text);
    }

    /** All matching descendants. */
    all(fits) {
        return this.children.flatMap(child => [...(fits(child) ? [child] : []), ...child.all(fits)]);
    }

    /** The first descendant with this text. */
    saying(text) {
        const found = this.all(node => node.tagName !== '#text' && node.textContent === text);
        if (!found.length) {
            throw new Error(`nothing says ${text} in: ${this.textContent}`);
        }
        return found.at(-1);
    }

    click() {
        this.dispatch('click');
    }
}

export function useFakeDocument() {
    globalThis.document = { createElement: tag => new FakeNode(tag) };
}

/** @param {Array<any>} answers the answers to the popups, in order; a function is called with the popup */
export function fakeScreen(answers = []) {
    const popups = [];
    const toasts = [];
    const mounted = {};
    const popup = async (content, options) => {
        let closedWith;
        const body = typeof content === 'function' ? content((value) => { closedWith = { value }; }) : content;
        popups.push({ text: body.textContent, body, options });
        const answer = answers.shift() ?? null;
        const given = typeof answer === 'function' ? await answer(body, options) : answer;
        return closedWith ? closedWith.value : given;
    };
    return {
        popups,
        toasts,
        mounted,
        locale: () => 'en',
        translate: english => english,
        toast: (kind, content, options = {}) => {
            const lines = [content].flat().map(line => line.textContent ?? line);
            toasts.push({ kind, lines, options });
            return { close: () => toasts.push({ kind: 'closed' }) };
        },
        during: promise => promise,
        popup,
        confirm: async (content, options) => await popup(content, options) === 'ok',
        ask: popup,
        mountInEditor: (line) => { mounted.line = line; },
        mountPanel: (panel) => { mounted.panel = panel; },
        onChatList: () => {},
        addWandItem: (item) => { mounted.wand ??= item; },
        markWandItems: (ids, why) => { mounted.alarm = why; },
        noteInCleanUp: (note) => { mounted.note = note; },
        addOption: (item) => { mounted.option = item; },
        sayDate: milliseconds => new Date(milliseconds).toISOString(),
        addMessageAction: (action) => { mounted.action = action; },
        addMessageMarks: (mark) => {
            mounted[mark.name] = mark;
            return () => { mounted[mark.name].drawn = mark.marks(); };
        },
        addCommands: (commands) => { mounted.commands = commands; },
        guardCommands: (commands) => { mounted.guarded = commands; },
        openChat: async (where) => { mounted.opened = where; },
    };
}

/** Waits until everything that was started has finished. */
export function settled() {
    return new Promise(resolve => setTimeout(resolve, 5));
}
